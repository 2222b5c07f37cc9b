"""Coding agents and tools of repositories that the machine of a worker has: their programs on the path of stations,
and what they say of their version. Pages show it before a task is started; what counts is what the program
does then."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pipelines.routing.document.agents import TABLE, Preset
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.ecosystems import PROGRAMS

SECONDS: Final = 10.0
"""That a program may take to say its version."""
LONGEST: Final = 80
VERSIONED: Final = {**dict.fromkeys(("node", "pnpm", "yarn", "python3"), "--version"), "go": "version"}
"""Tools of which repositories ask for a version, and how they say theirs."""
REGISTRIES: Final = {
    "npm": ("config", "get", "registry"),
    "pnpm": ("config", "get", "registry"),
    "yarn": ("config", "get", "registry"),
    "go": ("env", "GOPROXY", "GOSUMDB"),
    "python3": ("-m", "pip", "install", "--help"),
}
"""How package managers say where they take packages from: with the settings that they have in a station."""
# Pip names it in its help alone, behind `--index-url <url>`, as its default
INDEX: Final = re.compile(r"--index-url <url>.*?\(default\s+(\S+?)\)", re.DOTALL)
# The host of an address, without a user; or a line that is a name alone, as GOSUMDB says it
HOST: Final = re.compile(r"https?://(?:[^/@\s,|]*@)?([\w.-]+(?::\d+)?)|^([\w-]+(?:\.[\w-]+)+)$", re.MULTILINE)
MOST_HOSTS: Final = 5
# The index that pip has without settings, and where the files lie that it names
FILES_OF_PIP: Final = (
    "-c",
    "from pip._internal.models.index import PyPI; print(PyPI.netloc, PyPI.file_storage_domain)",
)
VERSION: Final = re.compile(r"\d+(?:\.\d+)+[\w.+-]{0,40}")
# COLUMNS: pip breaks its help by the width, also in the middle of an address
OFFLINE: Final = {"COREPACK_ENABLE_NETWORK": "0", "GOTOOLCHAIN": "local", "COLUMNS": "200"}
"""To say its version no program fetches another one."""


def installed_agents_on_path(path: Sequence[str]) -> dict[str, tuple[str, float]]:
    """{key of a preset: (its program, when that changed)} of those that are there. Ours are part of the worker."""
    return _find_programs({preset.key: preset.argv[0] for preset in TABLE if not preset.fixed}, path)


def installed_tools_on_path(path: Sequence[str]) -> dict[str, tuple[str, float]]:
    """{name: (its program, when that changed)} of those that lint, test or prepare repositories and are there."""
    return _find_programs({name: name for name in PROGRAMS}, path)


def _find_programs(names: Mapping[str, str], path: Sequence[str]) -> dict[str, tuple[str, float]]:
    places = {key: shutil.which(name, path=os.pathsep.join(path)) for key, name in names.items()}
    return {key: (place, os.stat(place).st_mtime) for key, place in places.items() if place}


def versions_of_tools(places: Mapping[str, tuple[str, float]], path: Sequence[str]) -> dict[str, str]:
    """{name: its version}, "" of tools that say none, and of those of which no repository asks for one. In a thread."""
    lines = {
        name: _first_output_line([places[name][0], word], path, {})
        for name, word in VERSIONED.items()
        if name in places
    }
    numbers = {name: VERSION.search(line) for name, line in lines.items()}
    return {name: number[0] if (number := numbers.get(name)) else "" for name in places}


def registry_hosts_by_program(
    places: Mapping[str, tuple[str, float]], path: Sequence[str]
) -> dict[str, list[str]]:
    """Return the hosts from which each of these package managers takes packages, as it says itself. In a thread."""
    hosts = {
        name: _hosts_in_text(_program_output_or_empty([places[name][0], *words], path, {}))
        for name, words in REGISTRIES.items()
        if name in places
    }
    if registries := hosts.get("python3"):
        index, _blank, file_host = _program_output_or_empty(
            [places["python3"][0], *FILES_OF_PIP], path, {}
        ).partition(" ")
        # Of any other index only its pages say where its files are
        registries += [file_host] if index in registries and file_host and file_host not in registries else []
    return {name: registries for name, registries in hosts.items() if registries}


def _hosts_in_text(text: str) -> list[str]:
    if index := INDEX.search(text):
        text = index[1]
    return list(dict.fromkeys(host.lower() for match in HOST.findall(text) for host in match if host))[
        :MOST_HOSTS
    ]


def describe_agents(
    locations: Mapping[str, tuple[str, float]], path: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """{key of a preset: {path, version, seconds}}. `version`: its first line, "" where it says none. In a thread."""
    presets = {preset.key: preset for preset in TABLE}
    return {key: _describe_agent(presets[key], place, path) for key, (place, _changed) in locations.items()}


def _describe_agent(preset: Preset, place: str, path: Sequence[str]) -> dict[str, Any]:
    began = time.monotonic()
    version = _first_output_line([place, "--version"], path, dict(preset.settings))[:LONGEST]
    return {"path": str(Path(place)), "version": version, "seconds": round(time.monotonic() - began, 1)}


def _first_output_line(argv: Sequence[str], path: Sequence[str], more: Mapping[str, str]) -> str:
    return escaped_for_storage(_program_output_or_empty(argv, path, more).partition("\n")[0])


def _program_output_or_empty(argv: Sequence[str], path: Sequence[str], more: Mapping[str, str]) -> str:
    """Return what a program prints. It gets no more of this process than where programs are: nothing that it could
    tell anybody."""
    with tempfile.TemporaryDirectory(prefix="gateline-version-", ignore_cleanup_errors=True) as home:
        # Programs of any origin are asked for their version: none may call home, or find a sign-in
        env = {"PATH": os.pathsep.join(path), "HOME": home, **OFFLINE, **more}
        try:
            done = subprocess.run(
                argv,
                cwd=home,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    return done.stdout.decode("utf-8", "replace").strip()
