"""What docs/deploy ships: manifests by the schemas of Kubernetes, and every word of compose, units and image that
Gateline itself reads. Nothing is started; docs/deploy/README.md says what was."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dj_database_url
import kubernetes_validate
import pytest
from django.core.management import get_commands, load_command_class
from ruamel.yaml import YAML

from config.secret_files import NAMES, SUFFIX
from pipelines.work.program.options import parsed_options
from tests.fixtures.site import ROOT

DEPLOY = ROOT / "docs/deploy"
KUBERNETES = DEPLOY / "kubernetes"
RELEASE = "1.37.0"
OPERATING = (ROOT / "docs/operating.md").read_text() + (ROOT / "docs/runners.md").read_text()
# Of other programs, or of the images' own
# Of other programs: NPM_CONFIG_USERCONFIG is for npm while the image is built
FOREIGN = {"XDG_STATE_HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "NPM_CONFIG_USERCONFIG"}


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in YAML(typ="safe").load_all(path.read_text()) if document]


MANIFESTS = [
    (path.name, document)
    for path in sorted(KUBERNETES.glob("*.yaml"))
    if path.name != "kustomization.yaml"
    for document in documents(path)
]


def checkable(document: dict[str, Any]) -> dict[str, Any] | None:
    """The document, or what Kubernetes itself knows of one of KEDA's kinds."""
    if document["apiVersion"].startswith("keda.sh/"):
        if document["kind"] != "ScaledJob":
            return None
        spec = document["spec"]["jobTargetRef"]
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": document["metadata"], "spec": spec}
    return document


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for _, document in MANIFESTS:
        resource = checkable(document)
        if resource is not None and "template" in resource.get("spec", {}):
            yield document["metadata"]["name"], resource["spec"]["template"]


@pytest.mark.parametrize(("name", "document"), MANIFESTS)
def test_a_manifest_is_one_by_the_schema(name: str, document: dict[str, Any]) -> None:
    if (resource := checkable(document)) is not None:
        kubernetes_validate.validate(resource, RELEASE, strict=True)


def test_a_wrong_word_in_a_manifest_is_found() -> None:
    deployment = next(document for name, document in MANIFESTS if name == "web.yaml")
    deployment = {**deployment, "spec": {**deployment["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
        kubernetes_validate.validate(deployment, RELEASE, strict=True)


def test_each_manifest_is_listed_or_said_to_be_apart() -> None:
    [kustomization] = documents(KUBERNETES / "kustomization.yaml")
    assert {name for name, _ in MANIFESTS} - {*kustomization["resources"]} == {"runners.yaml"}
    assert all((KUBERNETES / name).is_file() for name in kustomization["resources"])
    generated = kustomization["secretGenerator"][0]["files"]
    assert {Path(name).name for name in generated} == names_of_secrets() - {"postgres-password"}


@pytest.mark.parametrize(("name", "pod"), list(pods()))
def test_a_pod_is_no_root_and_writes_to_volumes_alone(name: str, pod: dict[str, Any]) -> None:
    spec, label = pod["spec"], pod["metadata"]["labels"]["gateline"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] == 10001
    for container in spec["containers"]:
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] and security["capabilities"] == {"drop": ["ALL"]}
        assert not security["allowPrivilegeEscalation"] and container["resources"]["limits"]["memory"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]}
    # Each is bounded by a policy
    policies = [
        document["spec"]["podSelector"] for _, document in MANIFESTS if document["kind"] == "NetworkPolicy"
    ]
    chosen = [
        value
        for policy in policies
        for rule in policy.get("matchExpressions", ())
        for value in rule["values"]
    ]
    assert label in chosen
    drain = re.search(r"'--drain', '(\d+)'", str(spec["containers"][0].get("args")))
    assert drain is None or spec["terminationGracePeriodSeconds"] > int(drain[1])


def test_budgets_and_the_service_choose_pods_that_are_there() -> None:
    labels = [pod["metadata"]["labels"] for _, pod in pods()]
    selectors = [
        document["spec"]["selector"].get("matchLabels", document["spec"]["selector"])
        for _, document in MANIFESTS
        if document["kind"] in ("PodDisruptionBudget", "Service", "Deployment")
    ]
    assert len(selectors) == 5 and all(selector in labels for selector in selectors)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Where it stands, and the words for manage.py."""
    for name, service in documents(DEPLOY / "compose.yaml")[0]["services"].items():
        if service["image"].startswith("${GATELINE_IMAGE"):
            yield f"compose.yaml {name}", service["command"]
    for name, pod in pods():
        container = pod["spec"]["containers"][0]
        if "command" not in container:
            yield name, container["args"]
    for unit in sorted((DEPLOY / "systemd").glob("*.service")):
        if words := re.search(r"^ExecStart=/opt/gateline/bin/gateline-server (.+)$", unit.read_text(), re.M):
            yield unit.name, words[1].split()


@pytest.mark.parametrize(("place", "words"), list(commands()))
def test_a_command_is_taken_with_its_options(place: str, words: list[str]) -> None:
    command = load_command_class(get_commands()[words[0]], words[0])
    command.create_parser("manage.py", words[0]).parse_args(words[1:])


def test_the_runners_have_options_that_are_there(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("gl_token")
    [runner] = [pod for name, pod in pods() if name == "gateline-runner"]
    unit = (DEPLOY / "systemd/gateline-runner.service").read_text()
    words = re.search(r"^ExecStart=\S+ runner (.+)$", unit, re.M)
    assert words
    for given in (runner["spec"]["containers"][0]["args"], words[1].split()):
        file = given.index("--token-file") + 1
        changed = [*given[:file], str(token), *given[file + 1 :]]
        assert parsed_options(changed, {"GATELINE_URL": "https://gateline.example.com"}).token == "gl_token"


def test_each_variable_is_one_that_operating_names() -> None:
    compose, [settings] = documents(DEPLOY / "compose.yaml")[0], documents(KUBERNETES / "settings.yaml")
    named = {*compose["x-gateline"]["environment"], *settings["data"]}
    files = [*(DEPLOY / "systemd").glob("*.service"), DEPLOY / "Containerfile"]
    for text in (file.read_text() for file in files):
        lines = re.findall(r"^(?:Environment=|ENV |    )(.+=.+)$", text, re.M)
        named |= {name for line in lines for name in re.findall(r"\b([A-Z][A-Z_]+)=", line)}
    assert "GATELINE_WORKSPACES" in named and "SECRET_KEY_FILE" in named
    for name in named - FOREIGN:
        assert f"`{name.removesuffix(SUFFIX)}" in OPERATING or f"`, `{name}`" in OPERATING, name
        assert not name.endswith(SUFFIX) or name.removesuffix(SUFFIX) in NAMES


def names_of_secrets() -> set[str]:
    return {*documents(DEPLOY / "compose.yaml")[0]["secrets"]}


def test_the_secrets_are_made_once_each_and_fit(tmp_path: Path) -> None:
    script = shutil.copy(DEPLOY / "make-secrets", tmp_path)
    subprocess.run([script], check=True)
    secrets = {path.name: path.read_text().strip() for path in (tmp_path / "secrets").iterdir()}
    assert secrets.keys() == names_of_secrets() and len({*secrets.values()}) == len(secrets)
    for name in ("encryption-keys", "receipt-key"):
        assert len(base64.urlsafe_b64decode(secrets[name])) == 32
    database = dj_database_url.parse(secrets["database-url"])
    assert (database["PASSWORD"], database["HOST"]) == (secrets["postgres-password"], "postgres")
    subprocess.run([script], check=True)
    assert secrets == {path.name: path.read_text().strip() for path in (tmp_path / "secrets").iterdir()}


def test_the_image_has_what_the_wheel_has() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (?!--)(.+) \S+$", text, re.M) for word in line.split()]
    assert all((ROOT / name).exists() for name in copied)
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {*wheel["only-include"]} <= {*copied}
    # Nothing of it runs as root
    assert text.rindex("USER 10001:10001") > text.rindex("\nRUN ")
