"""What is proposed for a repository by its files, and templates with the commands of it."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from pipelines.lines.starters.catalogue import STARTERS
from pipelines.lines.starters.commands import (
    StationCommands,
    report_artifact_of_command_or_none,
    template_with_commands,
)
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.document.line import read_line
from pipelines.work.spec.ecosystems import Proposal, RepositoryFiles, proposed_environment
from pipelines.work.spec.versions import version_fits

JUNIT = "--reporter=default --reporter=junit --outputFile=tests.xml"


def package(scripts: dict[str, str] | None = None, *packages: str) -> str:
    return json.dumps({"scripts": scripts or {}, "devDependencies": dict.fromkeys(packages, "1")})


def of(found: dict[str, str]) -> Proposal:
    return proposed_environment(RepositoryFiles(frozenset(found), found))


NODE = package({}, "vitest", "eslint")
FIXES = package({"test": "vitest --dir src", "lint": "eslint --fix"}, "vitest")
SEVERAL = package({"test": "tsc && vitest", "lint": "biome ci"}, "vitest")
LINTED = package(
    {"test": "pnpm lint && vitest run --typecheck", "lint": "eslint . && prettier -c src"}, "vitest"
)
NONE = package({"test": 'echo "no test specified"'})
PYTHON = "[tool.ruff]\n[tool.pytest.ini_options]"


@pytest.mark.parametrize(
    ("found", "prepare", "lint", "tests"),
    [
        ({"pnpm-lock.yaml": "", "package.json": NODE},
         "pnpm install --frozen-lockfile", "pnpm exec eslint .", f"pnpm exec vitest run {JUNIT}"),
        ({"package-lock.json": "", "package.json": FIXES},
         "npm ci", "", f"npm exec --no -- vitest run --dir src {JUNIT}"),
        ({"package-lock.json": "", "package.json": SEVERAL}, "npm ci", "npm run lint", "npm test"),
        ({"pnpm-lock.yaml": "", "package.json": LINTED}, "pnpm install --frozen-lockfile", "pnpm run lint",
         f"pnpm exec vitest run --typecheck {JUNIT}"),
        ({"yarn.lock": "", "package.json": NONE}, "yarn install --frozen-lockfile", "", ""),
        ({"package.json": "[" * 9_999}, "npm install --no-package-lock", "", ""),
        ({"uv.lock": "", "pyproject.toml": PYTHON}, "uv sync --frozen",
         ".venv/bin/python -m ruff check --no-cache --exit-zero --output-format=sarif --output-file=lint.sarif .",
         ".venv/bin/python -B -m pytest -q -p no:cacheprovider --junit-xml=tests.xml"),
        ({"go.sum": "", "go.mod": ""}, "go mod vendor", "go vet ./...", "go test ./..."),
        ({"Makefile": "lint:\n\ttrue\ntest := no\n"}, "", "make lint", ""),
        ({"README": "x"}, "", "", ""),
    ],
)  # fmt: skip
def test_what_is_proposed(found: dict[str, str], prepare: str, lint: str, tests: str) -> None:
    made = of(found)
    assert (made.prepare, made.lint, made.tests) == (prepare, lint, tests)


def test_python_alone_is_told_by_its_kind_of_file() -> None:
    assert of({"shop.py": "x = 1"}).by == ("*.py",)
    assert of({"README": "x"}).by == ()


PYTEST = ".venv/bin/python -B -m pytest -q -p no:cacheprovider --junit-xml=tests.xml"
EXTRA = """[project]
name = "shop"
urls.Source = "https://code.example.com/shop"
optional-dependencies.tests = ["freezegun"]
optional-dependencies.docs = ["sphinx"]
[dependency-groups]
dev = ["coverage"]
"""
POETRY = """[tool.poetry]
name = "shop"
[tool.poetry.group.dev.dependencies]
freezegun = "^1"
"""
TOX_LINT = """[testenv]
deps = pytest-cov
[testenv:lint]
deps =
    flake8-bugbear
    black
commands =
    flake8 {toxinidir}/src/shop/ tests
    isort --check-only src
"""
TOX_BARE = """[testenv:flake8]
deps =
    flake8
    flake8-pyproject
    pep8-naming >= 0.14, < 1
commands = flake8 {posargs}
"""
TOX_RUFF = "[testenv:lint]\ncommands =\n    ruff check src\n"
TOX = """[testenv]
deps =
    freezegun
    -r tests/needs.txt
    hypothesis >= 6.148.0
    mock ; python_version >= "3.6"
    py38: toml
    {[base]deps}
"""
SETUP_PY = "setup(extras_require={'test': ['x'], \"docs\": []})"
LINES = "--exit-zero --format=default --output-file=lint.txt"
SETUP_CFG = "[metadata]\nname = shop\n[options.extras_require]\ntesting = x\n[flake8]\n"


@pytest.mark.parametrize(
    ("found", "packages", "lint", "tests"),
    [
        ({"pyproject.toml": EXTRA, "tests/": ""}, "-e '.[tests]' --group dev pytest", "ruff", PYTEST),
        ({"pyproject.toml": POETRY, ".pre-commit-config.yaml": "id: ruff"}, "-e . freezegun ruff", "-m ruff", ""),
        ({"setup.py": SETUP_PY, ".flake8": "", "dev.requirements.txt": "", "test.py": ""},
         "-e '.[test]' -r dev.requirements.txt flake8 pytest", f"-m flake8 {LINES}", f"{PYTEST} test.py"),
        ({"setup.cfg": SETUP_CFG}, "-e '.[testing]' flake8", f"-m flake8 {LINES} --extend-exclude=.venv", ""),
        # As tox lints, with its plugins; the list of a package is beside it what its author works with.
        ({"setup.py": "", ".flake8": "", "tox.ini": TOX_LINT, "requirements.txt": ""},
         "-e . pytest-cov flake8 flake8-bugbear pytest", f"-m flake8 {LINES} src/shop/ tests", PYTEST),
        # Called without words: its plug-ins decide what it finds all the same.
        ({"setup.py": "", "tox.ini": TOX_BARE}, "-e . flake8 flake8-pyproject 'pep8-naming>=0.14,<1'",
         f"-m flake8 {LINES} --extend-exclude=.venv", ""),
        ({"setup.py": "", "ruff.toml": "", "tox.ini": TOX_RUFF, "requirements.txt": ""},
         "-e . -r requirements.txt ruff", "-m ruff check --no-cache --exit-zero --output-format=sarif "
         "--output-file=lint.sarif src", ""),
        ({"setup.py": "", "tox.ini": TOX},
         "-e . -r tests/needs.txt freezegun 'hypothesis>=6.148.0' 'mock; python_version >= \"3.6\"'", "ruff", ""),
        ({"requirements.txt": "", "requirements-dev.txt": "", "shop.py": ""},
         "-r requirements.txt -r requirements-dev.txt", "ruff", ""),
        ({"pyproject.toml": "[", "setup.cfg": "="}, "", "ruff", ""),
        ({"pyproject.toml": "[tool.ruff]"}, "ruff", "-m ruff", ""),
    ],
)  # fmt: skip
def test_python_without_a_lock_gets_an_environment_that_its_commands_use(
    found: dict[str, str], packages: str, lint: str, tests: str
) -> None:
    made = of(found)
    script = shlex.split(made.prepare)[-1] if made.prepare else ""
    steps = script.split(" && ")
    assert steps[-1].partition(".venv/bin/python -m pip install ")[2] == packages
    assert bool(script) == (steps[0] == "python3 -m venv .venv")
    assert ("'pip>=25.1'" in script) == ("--group" in packages)
    assert "'\"'\"'" not in made.prepare, "quotes within quotes are read by people, too"
    assert made.lint.startswith(f".venv/bin/python {lint}" if "-m" in lint else lint)
    assert (made.tests, made.hosts) == (tests, ())
    lists = re.findall(r"-r (\S+)", packages)
    assert made.lock == (lists[0] if lists else next(iter(found)) if script else ""), (
        "what is installed decides"
    )


def test_tests_without_an_environment_run_with_the_python_of_the_runner() -> None:
    assert of({"app.py": "", "test_app.py": ""}).borrows_python
    assert not of({"app.py": ""}).borrows_python and not of({"setup.py": "", "tests/": ""}).borrows_python


def test_a_new_environment_is_proposed_with_the_index_of_pip() -> None:
    made = of({"setup.py": "", "tests/": ""}).with_hosts([{"python3": ["packages.example.com"]}])
    assert made.hosts == ("packages.example.com",)


@pytest.mark.parametrize(
    ("found", "update", "version", "publish"),
    [
        ({"package-lock.json": "", "package.json": NODE}, "npm update --package-lock-only",
         "npm version {{input.version}} --no-git-tag-version", "npm publish"),
        ({"pnpm-lock.yaml": "", "package.json": '{"private": true}'}, "pnpm update --lockfile-only",
         "npm version {{input.version}} --no-git-tag-version", ""),
        ({"uv.lock": ""}, "uv lock --upgrade", "uv version --frozen {{input.version}}",
         "sh -c 'uv build && uv publish'"),
        ({"Cargo.lock": "", "Makefile": "update:\n\ttrue\nprepare-release:\n\ttrue\n"}, "make update",
         "make prepare-release VERSION={{input.version}}", "env CARGO_HOME=.cargo-home cargo publish"),
        ({"go.mod": ""}, "", "", ""),
    ],
)  # fmt: skip
def test_how_it_is_updated_and_released(
    found: dict[str, str], update: str, version: str, publish: str
) -> None:
    made = of(found)
    assert (made.update, made.version, made.publish) == (update, version, publish)


def test_hosts_are_those_that_the_lock_file_names() -> None:
    package = "https://" + "packages.example.com/a"
    lock = (
        f'{{"resolved": "{package}"}}\n{{"homepage": "https://example.org/"}}\n"url": "https://fund.example/"'
    )
    assert of({"package-lock.json": lock}).hosts == ("packages.example.com",)


@pytest.mark.parametrize(
    ("found", "hosts"),
    [
        ({"pnpm-lock.yaml": "", "package.json": "{}"}, ()),
        ({"pnpm-lock.yaml": "", ".npmrc": "registry=https://packages.example.com/npm"}, ("packages.example.com",)),
        ({"Cargo.lock": 'source = "registry+https://code.example.com/team/index"'}, ()),
        ({"go.mod": ""}, ()),
    ],
)  # fmt: skip
def test_hosts_are_none_where_no_file_names_where_packages_are(
    found: dict[str, str], hosts: tuple[str, ...]
) -> None:
    assert of(found).hosts == hosts


@pytest.mark.parametrize(
    ("installed", "asked", "will_do"),
    [
        ("3.11.4", ">=3.10,<3.12", True), ("3.12", ">=3.10,<3.12", False), ("3.11.4", "~=3.11", True),
        ("4.0", "~=3.11", False), ("3.11.4", "==3.11.*", True), ("3.1", "==3.11.*", False),
        ("3.11", "==3.11.0", True), ("3.11.1", "!=3.11.1", False), ("1.22.1", ">=1.22", True),
        ("1.9", ">=1.20", False), ("10.14.0", "10.14.0-0", True), ("9.15.9", "10.14.0-0", False), ("", ">=9", True),
    ],
)  # fmt: skip
def test_versions_are_compared_as_numbers(installed: str, asked: str, will_do: bool) -> None:
    assert version_fits(installed, asked) is will_do


def test_each_template_can_be_published_with_any_commands() -> None:
    some = (
        "make lint",
        "pnpm exec vitest run --reporter=junit --outputFile=t.xml",
        "make audit",
        "pnpm update",
        "npm version {{input.version}}",
        "npm publish",
    )
    for starter in (each for each in STARTERS if each.line.workspace):
        for kept in (0, 63, *(1 << at for at in range(6)), *(63 ^ 1 << at for at in range(6))):
            typed = [each if kept >> at & 1 else "" for at, each in enumerate(some)]
            line = read_line(template_with_commands(starter.text, StationCommands.from_typed_texts(*typed)))
            graver = [each.message for each in lint_line(line) if each.severity in ("error", "warning")]
            assert not graver, (starter.key, typed, graver)


def test_without_tests_a_line_still_asks_nobody_about_no_change() -> None:
    text = next(starter.text for starter in STARTERS if starter.key == "fix-lint-findings")
    document = template_with_commands(text, StationCommands.from_typed_texts("eslint .", ""))
    decides = document["stations"][2]
    assert (decides["name"], decides["work"]) == ("Anything changed?", {"kind": "noop"})
    assert [rule["to"] for rule in decides["rules"]] == ["findings-left", "nothing-to-merge", "merge"]


def test_what_lint_left_is_read_by_its_report_else_by_whether_it_passed_else_not_at_all() -> None:
    text = next(starter.text for starter in STARTERS if starter.key == "fix-lint-findings")

    def deciding(lint_command: str) -> tuple[list[str], list[str]]:
        document = template_with_commands(text, StationCommands.from_typed_texts(lint_command, "npm test"))
        rules = next(station for station in document["stations"] if station["key"] == "tests")["rules"]
        read = [condition["fact"] for condition in rules[0]["when"]["all"] if "fact" in condition]
        return [f"{fact['path']} {fact['op']}" for fact in read], [end["key"] for end in document["ends"]]

    fixed, ends = "stations.fix.git.files_changed equals", ["merged", "findings-left", "nothing-to-merge"]
    report = "ruff check --output-format=sarif --output-file=lint.sarif ."
    assert deciding("flake8 --output-file=lint.txt src") == deciding(report), "its lines are counted, too"
    assert deciding(report) == ([fixed, "stations.lint.findings.total gt"], ends)
    assert deciding("npm run lint") == ([fixed, "stations.lint.git.files_changed missing"], ends)
    assert deciding("") == ([fixed], ["merged", "nothing-to-merge"])


def test_a_report_is_known_by_the_arguments() -> None:
    assert report_artifact_of_command_or_none(["jest", "--reporters=jest-junit"]) == {
        "path": "junit.xml",
        "kind": "junit",
    }
    assert report_artifact_of_command_or_none(["eslint", "."]) is None
