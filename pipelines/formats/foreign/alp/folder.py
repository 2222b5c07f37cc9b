"""The files of a folder `.agentics` as one document of an assembly line (A1…A31)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from pipelines.formats.foreign.alp.reader import UNUSED, to_object
from pipelines.formats.foreign.import_notes import Json
from pipelines.routing.basics.problems import Problem


class CombinedFiles(NamedTuple):
    """Document made of the files of a folder. `places`: {path in the document: file that this part is from};
    `unread`: files that are no part of it, as losses."""

    document: Json
    places: dict[str, str]
    unread: list[Problem]


def combine_files(files: Mapping[str, Any]) -> CombinedFiles:
    """Make one document of the parsed files of a folder: `assembly-line.json`, `transitions.json`, `gates.json`,
    `init.json` and `stations/NN-name/station.json` with `prompt.md` and `system.md` beside it, in the order of the
    folders' names."""
    # A testbench may hold files of the same names, which are no part of the line.
    path_by_name = {path.rpartition("/")[2]: path for path in files if "/testbench/" not in f"/{path}"}
    head_path = path_by_name.get("assembly-line.json", "")
    head = to_object(files.get(head_path))
    stations, places = [], {}
    for index, path in enumerate(
        sorted(candidate for candidate in files if candidate.endswith("/station.json"))
    ):
        folder = path.removesuffix("station.json")
        # A station that says no id has the name of its folder.
        station = {"id": folder.rstrip("/").rpartition("/")[2], **to_object(files[path])}
        for name in ("prompt", "system"):
            if isinstance(files.get(f"{folder}{name}.md"), str):
                station[name] = files[f"{folder}{name}.md"]
                places[f"stations[{index}].{name}"] = f"{folder}{name}.md"
        stations.append(station)
        # Behind its prompts: of several places that fit a path the first is taken.
        places[f"stations[{index}]"] = path
    for name, key in (
        ("transitions.json", "transitionRules"),
        ("gates.json", "gates"),
        ("init.json", "init"),
    ):
        if name in path_by_name:
            head[key] = files[path_by_name[name]]
            places[key] = path_by_name[name]
    # Behind all others: whatever is of no other file.
    places |= {"": head_path} if head_path else {}
    root = head_path.removesuffix("assembly-line.json")
    return CombinedFiles(
        {**head, "stations": stations}, places, _unread_files(files, root, set(places.values()))
    )


def _unread_files(files: Iterable[str], root: str, read: Container[str]) -> list[Problem]:
    """Files below `root` that are no part of the line, those of a folder once."""
    parts = [
        path.removeprefix(root).partition("/") for path in files if path.startswith(root) and path not in read
    ]
    names = dict.fromkeys(name + slash for name, slash, _rest in parts if name != "README.md")
    other = "it is no part of a line, and is not read"
    return [Problem(root + name, UNUSED.get(re.sub(r"\.json$|/$", "", name), other)) for name in names]
