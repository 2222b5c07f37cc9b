"""Ecosystems of repositories: what a repository is made of, by the files on its top, and what is proposed for
it: how its environment is made, and which commands lint and test it. Nothing of it is run for that, and
people correct each proposal before it counts.

One more ecosystem is one more row of TABLE.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

from pipelines.routing.basics.command_text import command_text
from pipelines.work.spec import python_packages, versions

MOST_HOSTS = 5
ADDRESS = re.compile(r"https://([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d+)?)/")
# Lines of a lock file that say where a package comes from
OF_PACKAGES = re.compile(r"resolved|registry|tarball|\burl\s*=|source", re.IGNORECASE)
# What makes a script more than one program and its words
SHELL = re.compile(r"[;&|<>$`(){}*?~#\\]|^\w+=")
LINTS = re.compile(r"(?:npm run|pnpm(?: run)?|yarn(?: run)?) lint")
# In the test script that `npm init` writes
NO_TESTS = "no test specified"


@dataclass(frozen=True)
class RepositoryFiles:
    """`names`: on top, folders with “/”; `texts` {name: content} of READ."""

    names: frozenset[str]
    texts: Mapping[str, str]

    def text_of_file(self, name: str) -> str:
        return self.texts.get(name, "")

    @property
    def package_json(self) -> Mapping[str, Any]:
        try:
            document = json.loads(self.text_of_file("package.json"))
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def scripts_of_package(self) -> Mapping[str, str]:
        return _text_entries(self.package_json.get("scripts"))

    @property
    def packages_of_project(self) -> set[str]:
        both = (_text_entries(self.package_json.get(key)) for key in ("dependencies", "devDependencies"))
        return {name for section in both for name in section}

    def has_make_target(self, target: str) -> bool:
        pattern = rf"^{re.escape(target)}\s*:(?!=)"
        return bool(re.search(pattern, self.text_of_file("Makefile"), re.MULTILINE))


BY_NPM = ("pnpm", "yarn")
"""Package managers that are packages of npm themselves, and bring packages of npm."""
CORRECTED = ("lint", "tests", "audit")
"""Commands of a proposal in whose place a repository keeps what people typed."""


@dataclass(frozen=True)
class Proposal:
    """Commands as people type them; "" where nothing is known. `hosts`: those that its lock file names. `update` of its
    dependencies; `version` writes VERSION, and `publish` publishes it. `by`: the files by which it was known;
    `commit`: at which. `required`: as in `versions.required_versions`."""

    ecosystem: str = ""
    prepare: str = ""
    lock: str = ""
    hosts: tuple[str, ...] = ()
    lint: str = ""
    tests: str = ""
    audit: str = ""
    update: str = ""
    version: str = ""
    publish: str = ""
    by: tuple[str, ...] = ()
    commit: str = ""
    required: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def programs(self) -> list[str]:
        """Name the programs on the path with which preparing, linting and testing begin."""
        commands = (self.prepare, self.lint, self.tests, self.audit)
        return sorted(
            {program for command in commands if (program := program_name_in_command_or_empty(command))}
        )

    @property
    def borrows_python(self) -> bool:
        """Return whether its tests run with the Python of the runner, and the packages that happen to be there."""
        return not self.prepare and program_name_in_command_or_empty(self.tests) == "python3"

    @property
    def installer(self) -> str:
        """The program that brings the packages; "" where none has to."""
        return program_name_in_command_or_empty(self.prepare) if self.prepare else ""

    def with_hosts(self, registries: Iterable[Mapping[str, Sequence[str]]]) -> Proposal:
        """Add the hosts that its package manager names on the runners: {program: hosts} of each. One that is missing
        there takes packages from where npm does, if its packages are those of npm."""
        kin = "npm" if self.installer in BY_NPM else ""
        more = (
            host for registry in registries for host in registry.get(self.installer) or registry.get(kin, ())
        )
        return replace(self, hosts=tuple(dict.fromkeys([*self.hosts, *more]))) if self.installer else self

    def with_typed_commands(self, typed: Mapping[str, str]) -> Proposal:
        """Take what people typed in place of the commands that were proposed."""
        commands: dict[str, Any] = {name: typed[name] for name in CORRECTED if name in typed}
        return replace(self, **commands)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> Proposal:
        fields: Any = {key: plain[key] for key in cls.__dataclass_fields__ if key in plain}
        for key, value in fields.items():
            fields[key] = tuple(value) if isinstance(value, list) else value
        return cls(**fields)


def program_name_in_command_or_empty(command: str) -> str:
    """Name the program on the path with which a command begins; "" where it lies in the repository."""
    words = shlex.split(command)
    # `env NAME=value` stands before the program
    while words and (words[0] == "env" or "=" in words[0]):
        words.pop(0)
    if words[:2] == ["sh", "-c"]:
        return program_name_in_command_or_empty(words[2])
    return words[0] if words and "/" not in words[0] else ""


Commands = Callable[[RepositoryFiles, str], tuple[str, str]]
"""(lint, tests) of a repository; the second argument is the row's `run`."""


@dataclass(frozen=True)
class Ecosystem:
    """`marks`: files that are all there. `lock` "": it has none. `run`: how a program among its packages is called.
    `update`, `version`, `publish`: as in the proposal."""

    name: str
    marks: tuple[str, ...]
    prepare: str
    lock: str
    run: str
    commands: Commands
    update: str = ""
    version: str = ""
    publish: str = ""


def _node_lint_and_test_commands(files: RepositoryFiles, run: str) -> tuple[str, str]:
    manager = run.partition(" ")[0]
    return _node_lint_command(files, run, manager), _node_test_command_or_empty(files, run, manager)


def _node_lint_command(files: RepositoryFiles, run: str, manager: str) -> str:
    script = files.scripts_of_package.get("lint", "")
    # A script that changes the files is no check
    if script and not re.search(r"--(fix|write|apply)\b", script):
        return f"{manager} run lint"
    known = {"eslint": "eslint .", "@biomejs/biome": "biome ci .", "prettier": "prettier --check ."}
    return next(
        (f"{run} {call}" for package, call in known.items() if package in files.packages_of_project), ""
    )


def _node_test_command_or_empty(files: RepositoryFiles, run: str, manager: str) -> str:
    """Return the test command, with a report where the program writes one by itself, and the script calls
    that program alone."""
    # `pnpm lint && vitest run`: the station Lint runs the first by itself
    calls = [call.strip() for call in files.scripts_of_package.get("test", "").split("&&")]
    script = " && ".join(call for call in calls if not LINTS.fullmatch(call))
    # A script with pipes or `&&` is more than one call: nothing can be added to it
    words = [] if SHELL.search(script) else script.split()
    if "vitest" in files.packages_of_project and (not script or words[:1] == ["vitest"]):
        rest = [word for word in words[1:] if word not in ("run", "watch", "--watch")]
        return shlex.join(
            [
                *run.split(),
                "vitest",
                "run",
                *rest,
                "--reporter=default",
                "--reporter=junit",
                "--outputFile=tests.xml",
            ]
        )
    if "jest-junit" in files.packages_of_project and (not script or words[:1] == ["jest"]):
        return shlex.join(
            [*run.split(), "jest", *words[1:], "--ci", "--reporters=default", "--reporters=jest-junit"]
        )
    if script and NO_TESTS not in script:
        return f"{manager} test"
    return f"{run} jest --ci" if "jest" in files.packages_of_project else ""


def _python_lint_and_test_commands(files: RepositoryFiles, run: str) -> tuple[str, str]:
    """`run` is the interpreter."""
    linter = _python_linter_or_empty(files)
    words = python_packages.linter_call_in_tox_settings(linter, files.texts).words if linter else ()
    lint = ""
    if linter == "flake8":
        # Where no paths are named, what Prepare installs would be linted, too
        excluded = ["--extend-exclude=.venv"] if run == VENV else []
        lint = shlex.join([run, "-m", "flake8", *FLAKE8_REPORT, *(words or excluded)])
    if linter == "ruff":
        paths = [word for word in words[1:] if not word.startswith("-")] if words[:1] == ("check",) else []
        call = RUFF.removesuffix(".") + shlex.join(paths or ["."])
        lint = call if run == "python3" else f"{run} -m {call}"
    # -B and no cache: of the tests only the report is left in the checkout
    tests = f"{run} -B -m pytest -q -p no:cacheprovider --junit-xml=tests.xml" if _has_tests(files) else ""
    # pytest does not take this one for a file of tests by itself
    alone = tests and "test.py" in files.names and not {"tests/", "test/"} & files.names
    return lint, f"{tests} test.py" if alone else tests


def _python_linter_or_empty(files: RepositoryFiles) -> str:
    """Name the linter that the repository sets up; "" where it sets up none."""
    lists = python_packages.requirement_lists(files.names)
    text = "\n".join(files.text_of_file(name) for name in (*python_packages.MANIFESTS, *lists, PRE_COMMIT))
    if {"ruff.toml", ".ruff.toml"} & files.names or re.search(r"\bruff\b", text):
        return "ruff"
    return "flake8" if ".flake8" in files.names or re.search(r"\bflake8\b", text) else ""


def _has_tests(files: RepositoryFiles) -> bool:
    has_modules = any(re.fullmatch(r"test(_.*)?\.py|.*_test\.py", name) for name in files.names)
    texts = (files.text_of_file(name) for name in (*python_packages.MANIFESTS, "requirements.txt"))
    return has_modules or bool(
        {"tests/", "test/", "pytest.ini", "conftest.py"} & files.names
        or any("pytest" in text for text in texts)
    )


def _row_with_own_environment(files: RepositoryFiles, row: Ecosystem) -> Ecosystem:
    """The row of a project without a lock, with an environment of its own: its packages, and those of its tests."""
    lists = python_packages.requirement_lists(files.names)
    marks = tuple(name for name in (*python_packages.MANIFESTS, *lists) if name in files.names)
    linter = _python_linter_or_empty(files)
    # Where none is set up it is linted by the ruff on the path of stations
    plugins = python_packages.linter_call_in_tox_settings(linter, files.texts).plugins if linter else ()
    tools = [*([linter] if linter else []), *plugins, *(["pytest"] if _has_tests(files) else [])]
    arguments = python_packages.pip_install_arguments(files.names, files.texts, tools) if marks else []
    if not arguments:
        return row
    install = [shlex.join([VENV, "-m", "pip", "install", *arguments])]
    if "--group" in arguments:
        # The one that a new environment has may be older than groups
        install.insert(0, f"{VENV} -m pip install 'pip>=25.1'")
    script = " && ".join(["python3 -m venv .venv", *install])
    # A list that is installed changes what the environment holds, also where another file marks the project
    lists = [word for option, word in pairwise(arguments) if option == "-r"]
    lock = (lists or marks)[0]
    return replace(row, marks=marks, prepare=command_text(["sh", "-c", script]), lock=lock, run=VENV)


def _cargo_lint_and_test_commands(files: RepositoryFiles, run: str) -> tuple[str, str]:
    return f"{run} clippy --offline -- -D warnings", f"{run} test --offline"


def _go_lint_and_test_commands(files: RepositoryFiles, run: str) -> tuple[str, str]:
    return f"{run} vet ./...", f"{run} test ./..."


def _no_commands(files: RepositoryFiles, run: str) -> tuple[str, str]:
    return "", ""  # its targets count for every ecosystem


VERSION = "{{input.version}}"
"""What somebody who starts a task of *Release* fills in."""
MAKE = {
    "update": "make update",
    "version": f"make prepare-release VERSION={VERSION}",
    "publish": f"make publish VERSION={VERSION}",
}
NPM_VERSION = f"npm version {VERSION} --no-git-tag-version"
VENV = ".venv/bin/python"
IN_PROJECT = "env POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install --no-interaction"
CARGO = "env CARGO_HOME=.cargo-home cargo"

MAKE_ALONE = Ecosystem("make", ("Makefile",), "", "", "make", _no_commands)
# The first row whose marks are there counts: those with a lock file come before those without
TABLE: tuple[Ecosystem, ...] = (
    Ecosystem("pnpm", ("pnpm-lock.yaml",), "pnpm install --frozen-lockfile", "pnpm-lock.yaml", "pnpm exec",
              _node_lint_and_test_commands, "pnpm update --lockfile-only", NPM_VERSION, "pnpm publish --no-git-checks"),
    Ecosystem("Yarn", ("yarn.lock", ".yarnrc.yml"), "yarn install --immutable", "yarn.lock", "yarn run",
              _node_lint_and_test_commands,
              "yarn up -R '**' --mode=update-lockfile", f"yarn version {VERSION}", "yarn npm publish"),
    Ecosystem("Yarn", ("yarn.lock",), "yarn install --frozen-lockfile", "yarn.lock", "yarn run",
              _node_lint_and_test_commands,
              "yarn upgrade", NPM_VERSION, "npm publish"),
    Ecosystem("npm", ("package-lock.json",), "npm ci", "package-lock.json", "npm exec --no --",
              _node_lint_and_test_commands,
              "npm update --package-lock-only", NPM_VERSION, "npm publish"),
    Ecosystem("npm", ("package.json",), "npm install --no-package-lock", "package.json", "npm exec --no --",
              _node_lint_and_test_commands, "", NPM_VERSION, "npm publish"),
    Ecosystem("uv", ("uv.lock",), "uv sync --frozen", "uv.lock", VENV, _python_lint_and_test_commands,
              "uv lock --upgrade", f"uv version --frozen {VERSION}", "sh -c 'uv build && uv publish'"),
    Ecosystem("Poetry", ("poetry.lock",), IN_PROJECT, "poetry.lock", VENV, _python_lint_and_test_commands,
              "poetry update --lock --no-interaction", f"poetry version {VERSION}",
              "poetry publish --build --no-interaction"),
    Ecosystem("pip", ("requirements.txt",), "", "", "python3", _python_lint_and_test_commands),
    *(Ecosystem("Python", (name,), "", "", "python3", _python_lint_and_test_commands)
      for name in python_packages.MANIFESTS[:3]),
    Ecosystem("Cargo", ("Cargo.lock",), f"{CARGO} fetch --locked", "Cargo.lock", CARGO, _cargo_lint_and_test_commands,
              f"{CARGO} update", "", f"{CARGO} publish"),
    Ecosystem("Cargo", ("Cargo.toml",), "", "", "cargo", _cargo_lint_and_test_commands, "", "", "cargo publish"),
    Ecosystem("Go", ("go.sum",), "go mod vendor", "go.sum", "go", _go_lint_and_test_commands,
              "sh -c 'go get -u ./... && go mod tidy'"),
    Ecosystem("Go", ("go.mod",), "", "", "go", _go_lint_and_test_commands),
    MAKE_ALONE,
)  # fmt: skip
PYTHON = Ecosystem("Python", (), "", "", "python3", _python_lint_and_test_commands)
"""A repository that has files of Python and says nothing of itself."""
RUFF = "ruff check --no-cache --exit-zero --output-format=sarif --output-file=lint.sarif ."
"""By its own rules where no linter is set up, as *Fix lint findings* does."""
FLAKE8_REPORT = ("--exit-zero", "--format=default", "--output-file=lint.txt")
"""What it finds is counted and shown, and does not fail the station, as with ruff."""
PRE_COMMIT = ".pre-commit-config.yaml"
READ = frozenset({mark for row in TABLE for mark in row.marks}) | {
    ".npmrc",
    ".python-version",
    PRE_COMMIT,
    *python_packages.MANIFESTS,
}
PROGRAMS = [*Proposal(lint=RUFF).programs, "node"] + sorted(
    {
        program
        for row in TABLE
        for command in (row.prepare, row.run)
        if (program := program_name_in_command_or_empty(command))
    }
)
"""A worker says which of these are on the path of stations."""


def proposed_environment(files: RepositoryFiles, commit: str = "") -> Proposal:
    """Return the proposal of the first row whose marks are there. To lint and test, a target of the Makefile
    counts only where the ecosystem knows nothing; to update and release it comes first, since what a
    release takes is only known there."""
    row = next((row for row in TABLE if files.names.issuperset(row.marks)), None)
    if row in (None, MAKE_ALONE) and any(name.endswith(".py") for name in files.names):
        row = PYTHON
    if row is None:
        return Proposal(commit=commit)
    if row.commands is _python_lint_and_test_commands and not row.prepare:
        row = _row_with_own_environment(files, row)
    lint, tests = row.commands(files, row.run)
    made = {
        target: f"make {target}" if files.has_make_target(target) else ""
        for target in ("lint", "test", "audit")
    }
    by = dict.fromkeys(
        [*row.marks, *(["package.json"] if row.commands is _node_lint_and_test_commands else [])]
    )
    # Of a Python project without a lock the addresses are those of its own pages
    hosts = (
        _package_hosts(files, row.lock) if row.prepare and row.lock not in python_packages.MANIFESTS else ()
    )
    return Proposal(
        row.name,
        row.prepare,
        row.lock,
        hosts,
        lint or made["lint"] or (RUFF if row.commands is _python_lint_and_test_commands else ""),
        tests or made["test"],
        made["audit"],
        **_release_commands(files, row),
        by=tuple(name for name in by if name in files.names) or ("*.py",),
        commit=commit,
        required=versions.required_versions(files.texts, files.package_json),
    )


def _release_commands(files: RepositoryFiles, row: Ecosystem) -> dict[str, str]:
    usual = {"update": row.update, "version": row.version, "publish": row.publish}
    # npm publishes no package that says so
    if files.package_json.get("private") is True:
        usual["publish"] = ""
    return {
        name: call if files.has_make_target(call.split()[1]) else usual[name] for name, call in MAKE.items()
    }


def _package_hosts(files: RepositoryFiles, lock: str) -> tuple[str, ...]:
    """Return the hosts of the packages, where the lock file or the settings of npm name them."""
    lines = [
        line
        for name in (".npmrc", lock)
        for line in files.text_of_file(name).splitlines()
        # Cargo's `registry+https://…` is the address of an index, not of packages
        if OF_PACKAGES.search(line) and "registry+" not in line
    ]
    hosts = [match.group(1).lower() for line in lines for match in ADDRESS.finditer(line)]
    counted = {host: hosts.count(host) for host in dict.fromkeys(hosts)}
    return tuple(sorted(counted, key=lambda host: -counted[host])[:MOST_HOSTS])


def _text_entries(section: Any) -> dict[str, str]:
    return (
        {str(key): value for key, value in section.items() if isinstance(value, str)}
        if isinstance(section, dict)
        else {}
    )
