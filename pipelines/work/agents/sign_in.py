"""The sign-in of whoever runs this worker, lent to the stations of an agent: copied into the HOME of a visit before its
program starts, and taken out of it afterwards (`lent_sign_in`). It never leaves the machine (docs/agents.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pipelines.routing.basics.values import texts_of_values
from pipelines.routing.document.agents import PRESETS, AgentSignIn, Preset
from pipelines.work.results.secrets import SecretFinder
from pipelines.work.workspace_folder.folders import remove_folder

SHORTEST: Final = 20
"""Characters of a text in a sign-in that no log shows: tokens are longer, words are shorter."""
LARGEST: Final = 1024 * 1024


class NotSignedIn(Exception):
    """There is no sign-in of this agent on this machine; the message says what is missing."""


def sign_in_folders(
    words: Iterable[str], environment: Mapping[str, str], home: Path | None = None
) -> dict[str, Path]:
    """{agent: its folder}, of `claude` or `claude=/folder`. :raises NotSignedIn"""
    by_key = {}
    for word in words:
        key, _equals, path_text = word.partition("=")
        preset = PRESETS.get(key)
        if preset is None or preset.sign_in is None:
            known = ", ".join(candidate.key for candidate in PRESETS.values() if candidate.sign_in)
            raise NotSignedIn(
                f"“{key}” is no agent that somebody can be signed in with here. These are: {known}."
            )
        usual = default_sign_in_folder(preset.sign_in, environment, home)
        folder = Path(path_text).expanduser() if path_text else usual
        check_signed_in(preset, folder)
        by_key[key] = folder.resolve()
    return by_key


def default_sign_in_folder(
    way: AgentSignIn, environment: Mapping[str, str], home: Path | None = None
) -> Path:
    configured = environment.get(way.variable, "") if way.variable else ""
    return Path(configured) if configured else (home or Path.home()) / way.folder


def check_signed_in(preset: Preset, folder: Path) -> None:
    """:raises NotSignedIn"""
    assert preset.sign_in is not None
    file = folder / preset.sign_in.files[0]
    try:
        size = len(_read_limited(file))
    except OSError as error:
        raise NotSignedIn(
            f"{preset.name} is not signed in here: {file} cannot be read ({error.strerror}). "
            f"Sign in with {preset.argv[0]} as this user, or name the folder: {preset.key}=FOLDER."
        ) from error
    if not 0 < size <= LARGEST:
        raise NotSignedIn(f"{preset.name} is not signed in here: {file} holds no sign-in.")


def sign_in_tokens(preset: Preset, folder: Path) -> tuple[str, ...]:
    """Return the tokens that no log, no file and no outcome may show: every longer text of the files."""
    assert preset.sign_in is not None
    unique_tokens: dict[str, None] = {}
    for name in preset.sign_in.files:
        try:
            unique_tokens |= dict.fromkeys(tokens_in_file(_read_limited(folder / name)))
        except OSError:
            continue
    return tuple(unique_tokens)


def tokens_in_file(data: bytes) -> tuple[str, ...]:
    """Return the tokens of one file, as far as it can be read."""
    try:
        return tuple(text for text in texts_of_values(json.loads(data)) if is_token(text))
    except (ValueError, RecursionError):
        return ()


def lend_sign_in_files(preset: Preset, folder: Path, home: Path) -> dict[str, bytes]:
    """Copy the files into the HOME of a visit. What an earlier visit left in their place is not followed. What was
    lent, by the names of the files.

    :raises NotSignedIn: they are not there any more"""
    assert preset.sign_in is not None
    check_signed_in(preset, folder)
    copied = {}
    for name in preset.sign_in.files:
        try:
            data = copied[name] = _read_limited(folder / name)
        # The first file is there (`check_signed_in`); the others need not be.
        except FileNotFoundError:
            continue
        write_private_file(home, f"{preset.sign_in.folder}/{name}", data)
    return copied


def write_private_file(home: Path, path: str, data: bytes) -> None:
    """A file that only its owner reads, below a HOME in which a station may have left anything."""
    place, *folders = home, *Path(path).parts[:-1]
    for part in folders:
        place = place / part
        # Through a link of an earlier visit the sign-in would leave this HOME.
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(mode=0o700, exist_ok=True)
    place = place / Path(path).name
    _remove_path(place)
    # Fails if something has come there since, or if it is a link.
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def remove_lent_sign_in(preset: Preset, home: Path, lent: Sequence[str]) -> None:
    """Remove the files, and every other file of this HOME that holds a part of them."""
    assert preset.sign_in is not None
    place = home / preset.sign_in.folder
    # A station may have put a link there, to have another folder read
    renewed = sign_in_tokens(preset, place) if not place.is_symlink() else ()
    for name in preset.sign_in.files:
        _remove_path(place / name)
    finder = SecretFinder((*lent, *renewed))
    try:
        for path in list(_relative_file_paths(home)):
            if finder.holds(home, path):
                _remove_path(home / path)
    except RecursionError:
        # Nested deeper than anybody looks: then nothing of it stays
        remove_folder(home)
        home.mkdir(mode=0o700)


def _relative_file_paths(home: Path) -> Iterator[str]:
    for folder, _folders, names in os.walk(home):
        for name in names:
            yield str((Path(folder) / name).relative_to(home))


def _remove_path(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)


def _read_limited(path: Path) -> bytes:
    with path.open("rb") as file:
        # The one byte more tells that it is too large.
        return file.read(LARGEST + 1)


def is_token(text: str) -> bool:
    return len(text) >= SHORTEST and not any(char.isspace() for char in text) and "://" not in text
