"""Packages that a Python project is tested and linted with, as its files name them: arguments of `pip install`."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini")
"""Files that say what to install, besides lists of requirements."""
FOR_TESTS = r"(?:tests?|testing|dev|develop|development)"
GROUP = re.compile(FOR_TESTS, re.IGNORECASE)
REQUIREMENTS = re.compile(
    rf"requirements(?:[-_.]{FOR_TESTS})?\.txt|{FOR_TESTS}[-_.]requirements\.txt", re.IGNORECASE
)
# A key of `extras_require` in setup.py, which nobody runs to read it
EXTRA = re.compile(rf"""["']({FOR_TESTS})["']\s*[\]:]""")
SIMPLE = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w,-]+\])?")
VERSIONED = re.compile(rf"{SIMPLE.pattern}(?:[<>=!~]=?=?[\w.*+!-]+(?:,[<>=!~]=?=?[\w.*+!-]+)*)?")
MARKER = re.compile(r"[\w.\s<>=!~'\"()]*")


@dataclass(frozen=True)
class LinterCall:
    words: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()


def requirement_lists(names: Iterable[str]) -> list[str]:
    """Name the lists of requirements on top, what the project itself needs first."""
    return sorted(
        (name for name in names if REQUIREMENTS.fullmatch(name)), key=lambda name: (len(name), name)
    )


def pip_install_arguments(
    names: Collection[str], texts: Mapping[str, str], tools: Iterable[str]
) -> list[str]:
    """Return the arguments of `pip install`: the project with its extras, groups and lists for tests, and `tools`."""
    project, setup, tox = (
        _parsed_pyproject(texts),
        _parsed_ini(texts, "setup.cfg"),
        _parsed_ini(texts, "tox.ini"),
    )
    groups = list(filter(GROUP.fullmatch, _nested_table(project, "dependency-groups")))
    extras = list(filter(GROUP.fullmatch, _nested_table(project, "project", "optional-dependencies")))
    if setup.has_section("options.extras_require"):
        extras += filter(GROUP.fullmatch, setup.options("options.extras_require"))
    if "extras_require" in texts.get("setup.py", ""):
        extras += EXTRA.findall(texts["setup.py"])
    lists, packages = requirement_lists(names), list[str]()
    for line in tox.get("testenv", "deps", fallback="").splitlines():
        # `-r tests/requirements.txt` as it is; conditions and substitutions of tox are left out
        path = re.fullmatch(r"\s*-r\s*([\w./-]+)\s*", line)
        lists += [path[1]] if path else []
        name, semicolon, marker = line.partition(";")
        package = re.sub(r"\s+", "", name)
        # Such as `; python_version >= "3.9"`, which pip reads
        known = VERSIONED.fullmatch(package) and MARKER.fullmatch(marker)
        packages += [f"{package}{semicolon}{marker.rstrip()}"] if known else []
    poetry = _nested_table(project, "tool", "poetry", "group")
    for group in filter(GROUP.fullmatch, poetry):
        packages += filter(SIMPLE.fullmatch, _nested_table(poetry, group, "dependencies"))
    is_package = bool(
        "setup.py" in names
        or {"project", "build-system"} & project.keys()
        or setup.has_section("metadata")
        or _nested_table(project, "tool", "poetry")
    )
    if is_package and (groups or extras or packages or len(lists) > 1):
        # What a package needs it says itself: beside that, such a list is often of its author's whole desk
        lists = [name for name in lists if name.lower() != "requirements.txt"]
    chosen = f".[{','.join(dict.fromkeys(extras))}]" if extras else "."
    return [
        *(["-e", chosen] if is_package else []),
        *(word for name in dict.fromkeys(lists) for word in ("-r", name)),
        *(word for name in groups for word in ("--group", name)),
        *dict.fromkeys([*packages, *tools]),
    ]


def linter_call_in_tox_settings(linter: str, texts: Mapping[str, str]) -> LinterCall:
    """Return how tox calls a linter of the repository: the words after its name, and the packages beside it."""
    tox = _parsed_ini(texts, "tox.ini")
    for section in tox.sections():
        for line in tox.get(section, "commands", fallback="", raw=True).splitlines():
            line = re.sub(r"\{(?:toxinidir|tox_root)\}/?|\{posargs:?([^{}]*)\}", r"\1", line)
            call = re.fullmatch(rf"\s*(?:python3? -m )?{linter}((?:\s+[\w./=,:-]+)*)\s*", line)
            if call:
                deps = tox.get(section, "deps", fallback="", raw=True).splitlines()
                packages = (re.sub(r"\s+", "", dep) for dep in deps)
                plugins = [name for name in packages if name.startswith((f"{linter}-", "pep8-naming"))]
                return LinterCall(tuple(call[1].split()), tuple(filter(VERSIONED.fullmatch, plugins)))
    return LinterCall()


def _parsed_pyproject(texts: Mapping[str, str]) -> dict[str, Any]:
    try:
        return tomllib.loads(texts.get("pyproject.toml", ""))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _parsed_ini(texts: Mapping[str, str], name: str) -> configparser.ConfigParser:
    """Return what can be read of it."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(texts.get(name, ""))
    except configparser.Error:
        return configparser.ConfigParser()
    return parser


def _nested_table(document: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    table: Any = document
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}
