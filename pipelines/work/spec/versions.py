"""Versions of tools that a repository asks for, compared with those that are installed. Nothing is run for that, and
what cannot be compared will do."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

NUMBER: Final = re.compile(r"\d+(?:\.\d+)*")
# >=3.12, ~= 1.4, ==3.11.*
_CLAUSE: Final = re.compile(r"(===?|>=|<=|!=|~=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?\s*")
# pnpm@9.1.0, before the digest that may follow
_MANAGER: Final = re.compile(r"(pnpm|yarn)@(\d{1,9}(?:\.[^+\s]{0,60})?)")
_GO: Final = re.compile(r"^go (\d+\.\d+(?:\.\d+)?)\s*$", re.MULTILINE)
_PYTHON: Final = re.compile(r"^\s*requires-python\s*=\s*[\"']([^\"']{1,80})[\"']", re.MULTILINE)
# The lower end of an alternative: 22.13.0 in `^22.13.0`, 14 in `14 - 20`, none in `<21`
_LOWEST: Final = re.compile(r"\s*(?:>=|[\^~=>])?\s*v?(\d{1,6}(?:\.\d{1,6})*)")
COMPARE: Final = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
Parts = tuple[int, ...]


def required_versions(texts: Mapping[str, str], package: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """{program: (the file that asks, the version: of a package manager one that counts by its first number, since it is
    used as it is there; else with signs as in `>=3.12,<4`)}."""
    required_by_program, package_manager = {}, package.get("packageManager")
    if of_node := max(_lowest_node_versions(package, texts.get("package-lock.json", "")), default=None):
        version, place = of_node
        required_by_program["node"] = (place, f">={'.'.join(map(str, version))}")
    if isinstance(package_manager, str) and (manager := _MANAGER.match(package_manager)):
        required_by_program[manager[1]] = ("package.json", manager[2])
    if of_go := _GO.search(texts.get("go.mod", "")):
        required_by_program["go"] = ("go.mod", f">={of_go[1]}")
    if of_python := _PYTHON.search(texts.get("pyproject.toml", "")):
        required_by_program["python3"] = ("pyproject.toml", of_python[1].replace(" ", ""))
    # After pyproject.toml, which names a range: this one is what people here run
    if pinned := NUMBER.fullmatch(texts.get(".python-version", "").strip()):
        required_by_program["python3"] = (".python-version", f"=={pinned[0]}.*")
    return required_by_program


def _lowest_node_versions(package: Mapping[str, Any], lock: str) -> Iterator[tuple[Parts, str]]:
    """Yield the lowest version of Node that each package takes, and the place that says so."""
    try:
        document = json.loads(lock or "{}")
    except (ValueError, RecursionError):
        document = None
    packages = document.get("packages") if isinstance(document, dict) else None
    # The entry without a name is the repository itself
    places = [("package.json", package), *(packages.items() if isinstance(packages, dict) else ())]
    for place, entry in places:
        engines = entry.get("engines") if isinstance(entry, dict) and not entry.get("optional") else None
        node_range = engines.get("node") if isinstance(engines, dict) and place else None
        ends = (
            [_LOWEST.match(option) for option in node_range.split("||")]
            if isinstance(node_range, str)
            else []
        )
        if ends and all(ends):
            name = str(place).rpartition("node_modules/")[2]
            where = name if place == "package.json" else f"{name} in package-lock.json"
            yield min(_version_parts(end[1]) for end in ends if end), where


def version_fits(installed: str, required_version: str) -> bool:
    """True if a version that is installed will do."""
    number = NUMBER.match(installed)
    if number is None or required_version[:1].isdigit():
        return number is None or _version_parts(number[0])[0] == int(required_version.partition(".")[0])
    clauses = _CLAUSE.findall(required_version)
    return all(
        _comparison_holds(_version_parts(number[0]), sign, _version_parts(value), bool(star))
        for sign, value, star in clauses
    )


def _comparison_holds(number: Parts, sign: str, value: Parts, star: bool) -> bool:
    number = _padded_parts(number, value)
    # ~=1.4.2 is >=1.4.2 and ==1.4.*
    if sign == "~=":
        return number >= value and number[: len(value) - 1] == value[:-1]
    if star or sign in ("==", "===", "!="):
        same = number[: len(value)] == value if star else _padded_parts(value, number) == number
        return same != (sign == "!=")
    return COMPARE[sign](number, _padded_parts(value, number))


def _version_parts(text: str) -> Parts:
    return tuple(int(part) for part in text.split("."))


def _padded_parts(parts: Parts, other: Parts) -> Parts:
    return (*parts, *(0 for _ in other[len(parts) :]))
