"""Helpers that the writers of all systems share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.import_notes import ImportNotes, key_slug

Json = dict[str, Any]
ESCAPED: Final = '{{"{{"}}'
"""How a reader keeps two braces that are no place of a template."""


def stored_extra(part: Mapping[str, Any], *but: str) -> Json:
    """Return the stored `extra` of the original, without what is written from the line itself."""
    stored = part.get("extra")
    return {key: value for key, value in stored.items() if key not in but} if isinstance(stored, dict) else {}


def original_name(part: Mapping[str, Any]) -> str:
    """Return the name of the part in the original, if its key is still that name's; else its key."""
    identifier = stored_extra(part).get("id")
    return (
        identifier
        if isinstance(identifier, str) and key_slug(identifier, part["key"]) == part["key"]
        else str(part["key"])
    )


def system_and_prompt(work: Mapping[str, Any]) -> tuple[str, str]:
    """System instruction and prompt of any kind of work."""
    prompt = work.get("prompt") or work.get("instructions") or work.get("message") or ""
    return unescaped_template(str(work.get("system") or "")), unescaped_template(str(prompt))


def unescaped_template(text: str) -> str:
    return text.replace(ESCAPED, "{{")


def system_and_prompt_split(prompt: str, system: Any) -> tuple[str, str]:
    """Split instructions that a reader put together of both: each by itself; all in the prompt where they
    were changed."""
    if isinstance(system, str) and system:
        rendered = unescaped_template(ImportNotes().escaped_template("", system))
        if prompt == rendered:
            return system, ""
        if prompt.startswith(f"{rendered}\n\n"):
            return system, prompt[len(rendered) + 2 :]
    return "", prompt


def stations_in_order(line: Mapping[str, Any]) -> list[Json]:
    """Its stations, the one first at which a task starts."""
    stations = list(line["stations"])
    start = line.get("start")
    return sorted(stations, key=lambda station: station["key"] != start) if start else stations


def document_with_keys_of_line(read: Json, line: Json) -> Json:
    """Return `read` with the keys of `line` in place of its own, paired by position: the other system may spell
    keys differently."""
    names: dict[str, str] = {}
    for part in ("stations", "ends", "gates"):
        ours = stations_in_order(line) if part == "stations" else line.get(part) or []
        theirs = read.get(part) or []
        own_keys, other_keys = [member["key"] for member in ours], [member["key"] for member in theirs]
        # Nothing to rename, or nothing by which the parts could be paired.
        if set(own_keys) == set(other_keys) or len(ours) != len(theirs):
            continue
        if part != "stations":
            own_keys, other_keys = (
                [own_key for own_key in own_keys if own_key not in other_keys],
                [other_key for other_key in other_keys if other_key not in own_keys],
            )
        names |= dict(zip(other_keys, own_keys, strict=True))
    made: Json = _rename_keys(read, names)
    own = {station["key"]: station.get("rules", []) for station in line["stations"]}
    for station in made["stations"]:
        ours, theirs = own.get(station["key"], []), station.get("rules", [])
        if len(ours) == len(theirs):
            station["rules"] = [
                {**other, "id": own_rule["id"]} for own_rule, other in zip(ours, theirs, strict=True)
            ]
    return made


PLACES: Final = ("to", "gate", "gates", "wait_for", "from", "start", "key", "stage", "origin")
"""Fields that name a part of the line."""


def _rename_keys(node: Any, names: Mapping[str, str], field: str = "") -> Any:
    if isinstance(node, dict):
        # What other programs keep is theirs, whatever its fields are called.
        return {
            key: value if key == "extra" else _rename_keys(value, names, key) for key, value in node.items()
        }
    if isinstance(node, list):
        return [_rename_keys(item, names, field) for item in node]
    return names.get(node, node) if isinstance(node, str) and field in PLACES else node
