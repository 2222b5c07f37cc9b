"""What `make release` builds, and the documents that say how."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from config.setup.main import TARGETS
from config.setup.steps import SetupError
from gateline import __version__
from proof.release import wheels
from tests.fixtures.site import ROOT
from tests.ops.processes import clean_environment

CONSOLE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from gateline_server.config.console import main; main()"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheels.build(ROOT, tmp_path_factory.mktemp("server"))


@pytest.mark.git
def test_the_wheel_of_the_server_has_each_file_of_the_product_and_no_other(server: Path) -> None:
    expected = wheels.server_files()
    assert {"gateline_server/manage.py", "gateline_server/config/wiring/record.json"} <= expected
    assert wheels.differences(server, expected) == []


@pytest.mark.git
def test_a_file_that_is_missing_or_added_is_named(server: Path) -> None:
    expected = wheels.server_files()
    added = "gateline_server/docs/releasing.md"
    assert wheels.differences(server, expected - {added} | {"gateline_server/lost.py"}) == [
        f"{server.name} lacks gateline_server/lost.py.",
        f"{server.name} has {added}, which is no file of the product.",
    ]


def test_the_wheel_of_the_server_has_all_that_the_built_pages_ask_for(server: Path) -> None:
    built = ROOT / "static" / "dist"
    manifest = json.loads((built / "manifest.json").read_text())
    parts = {"manifest.json", "server/drawing.mjs"} | {entry["file"] for entry in manifest.values()}
    parts |= {sheet for entry in manifest.values() for sheet in entry.get("css", [])}
    with zipfile.ZipFile(server) as archive:
        assert {f"{wheels.BUILT_PAGES}{name}" for name in parts} <= set(archive.namelist())


@pytest.mark.git
def test_the_wheel_of_the_command_line_has_its_files_and_no_other(tmp_path: Path) -> None:
    client = wheels.build(ROOT / "gateline", tmp_path)
    assert "gateline/main.py" in wheels.client_files()
    assert wheels.differences(client, wheels.client_files()) == []


def test_the_command_of_the_wheel_is_manage_py_with_a_state_folder_of_the_user(
    server: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(server) as archive:
        archive.extractall(tmp_path / "packages")
    script = "from config.embedded import layout; print(layout.state_folder())"
    (tmp_path / "packages" / "gateline_server" / "manage.py").write_text(script)

    def home(**more: str) -> str:
        environment = clean_environment(HOME=str(tmp_path), **{"XDG_DATA_HOME": "", **more})
        command = [sys.executable, "-c", CONSOLE, str(tmp_path / "packages"), "check"]
        return subprocess.check_output(command, env=environment, cwd=tmp_path, text=True).strip()

    assert home() == str(tmp_path / ".local" / "share" / "gateline")
    assert home(XDG_DATA_HOME=str(tmp_path / "data")) == str(tmp_path / "data" / "gateline")
    assert home(GATELINE_HOME=str(tmp_path / "state")) == str(tmp_path / "state")


def test_both_wheels_have_one_version_and_the_changelog_its_notes() -> None:
    wheels.check_versions()
    notes = wheels.release_notes()
    assert notes.startswith(f"# Gateline {__version__}\n") and "**Lines**" in notes


def test_a_version_without_notes_is_not_released(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.0.9\n\n- Old.\n")
    monkeypatch.setattr(wheels, "ROOT", tmp_path)
    with pytest.raises(SetupError, match=f"no section “## {re.escape(__version__)}”"):
        wheels.release_notes()


def test_the_workflow_of_the_docs_calls_what_is_there() -> None:
    text = (ROOT / "docs" / "releasing.md").read_text()
    workflow = YAML(typ="safe").load(re.search(r"```yaml\n(.+?)```", text, re.DOTALL)[1])
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert commands == [".ci/run", "make release"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK) and "release" in TARGETS
    assert workflow["jobs"]["release"]["needs"] == "check"


def test_each_room_has_somebody_who_answers_for_it_and_tests_that_guard_it() -> None:
    table = (
        (ROOT / "CONTRIBUTING.md").read_text().partition("## Who answers for what")[2].partition("\n## ")[0]
    )
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    rooms = {name for row in rows for name in re.findall(r"`([^`]+)`", row[1])}
    heart = {
        f"pipelines/{path.name}" for path in (ROOT / "pipelines").iterdir() if (path / "__init__.py").exists()
    }
    # What has no choice of its own follows the models and pages it belongs to.
    heart -= {"pipelines/admin", "pipelines/migrations", "pipelines/templatetags"}
    assert rooms == heart | {"config", "gateline", "reviews", "templates", "static", "proof"}
    for row in rows:
        guards = re.findall(r"`([^`]+)`", row[4])
        assert guards and all((ROOT / guard).exists() for guard in guards), row[1]


@pytest.mark.wide
def test_a_release_is_installed_and_run_from_its_wheels_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "proof.release", "--uncommitted", "--folder", str(tmp_path / "release")]
    subprocess.run(command, cwd=ROOT, env=clean_environment(), check=True)
    assert {path.name for path in (tmp_path / "release").iterdir()} == {
        f"gateline-{__version__}-py3-none-any.whl",
        f"gateline_server-{__version__}-py3-none-any.whl",
        "notes.md",
        "requirements.lock",
    }
