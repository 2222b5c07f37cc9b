"""The files of a folder `.agentics` as one document of an assembly line (A1…A31)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pipelines.formats.foreign.alp.reader import UNUSED
from pipelines.formats.foreign.folder_archive import folder_error
from pipelines.formats.foreign.import_notes import Json
from pipelines.routing.basics.problems import DocumentError, Problem
from pipelines.routing.basics.wording import Wording as _


class CombinedFiles(NamedTuple):
    """Document made of the files of a folder. `places`: {path in the document: file that this part is from};
    `unread`: files that are no part of it, as losses."""

    document: Json
    places: dict[str, str]
    unread: list[Problem]


HEAD, STATION = "assembly-line.json", "/station.json"
PARTS: Final = {"transitions.json": "transitionRules", "gates.json": "gates", "init.json": "init"}
"""Files beside the head, and what they are in it."""


def combine_files(files: Mapping[str, Any]) -> CombinedFiles:
    """Make one document of the parsed files of a folder: `assembly-line.json`, `transitions.json`, `gates.json`,
    `init.json` and `stations/NN-name/station.json` with `prompt.md` and `system.md` beside it, in the order of the
    folders' names. Raises DocumentError."""
    # A testbench may hold files of the same names, which are no part of the line.
    own = [path for path in files if "/testbench/" not in f"/{path}"]
    heads = [path for path in own if path.rpartition("/")[2] == HEAD]
    if len(heads) > 1:
        names = ", ".join(sorted(heads))[:200]
        raise folder_error(
            _("these are several lines, of which one is imported at a time: %(names)s", names=names)
        )
    head_path = heads[0] if heads else ""
    head = _object_of_file(files, head_path) if head_path else {}
    stations, places = _stations_and_places(files, sorted(path for path in own if path.endswith(STATION)))
    path_by_name = {path.rpartition("/")[2]: path for path in own}
    repeated_parts = {"stations": "the folder stations"} if stations and head.get("stations") else {}
    for name, key in PARTS.items():
        if name in path_by_name:
            repeated_parts |= {key: name} if head.get(key) else {}
            head[key] = files[path_by_name[name]]
            places[key] = path_by_name[name]
    # Behind all others: whatever is of no other file.
    places |= {"": head_path} if head_path else {}
    root = head_path.removesuffix(HEAD)
    unread = [
        Problem(f"{head_path}: {key}", _("is not read, as %(name)s says it, too", name=name))
        for key, name in repeated_parts.items()
    ]
    document = {**head, "stations": stations or head.get("stations", [])}
    return CombinedFiles(document, places, unread + _unread_files(files, root, set(places.values())))


def _stations_and_places(files: Mapping[str, Any], paths: list[str]) -> tuple[list[Json], dict[str, str]]:
    """The stations of these files, and {path in the document: file that this part is from}."""
    stations, places = [], {}
    for index, path in enumerate(paths):
        folder = path.removesuffix("station.json")
        # A station that says no id has the name of its folder.
        station = {"id": folder.rstrip("/").rpartition("/")[2], **_object_of_file(files, path)}
        for name in ("prompt", "system"):
            if isinstance(files.get(f"{folder}{name}.md"), str):
                station[name] = files[f"{folder}{name}.md"]
                places[f"stations[{index}].{name}"] = f"{folder}{name}.md"
        stations.append(station)
        # Behind its prompts: of several places that fit a path the first is taken.
        places[f"stations[{index}]"] = path
    return stations, places


def _object_of_file(files: Mapping[str, Any], path: str) -> Json:
    if not isinstance(files[path], Mapping):
        raise DocumentError([Problem(path, "has to be an object")])
    return dict(files[path])


def _unread_files(files: Iterable[str], root: str, read: Container[str]) -> list[Problem]:
    """Files below `root` that are no part of the line, those of a folder once."""
    parts = [
        path.removeprefix(root).partition("/") for path in files if path.startswith(root) and path not in read
    ]
    names = dict.fromkeys(name + slash for name, slash, _rest in parts if name != "README.md")
    other = "it is no part of a line, and is not read"
    return [Problem(root + name, UNUSED.get(re.sub(r"\.json$|/$", "", name), other)) for name in names]
