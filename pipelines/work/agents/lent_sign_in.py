"""A sign-in while it is lent to one visit: what the program renews in its copy is hidden from then on, and carried back
to where it was lent from, so that the next visit is signed in, too.

Whatever a station runs can write that copy. So only a renewal is carried back: the same document with other tokens and
times, of the same account as far as it says, over what nobody else has renewed meanwhile."""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pipelines.routing.document.agents import Preset
from pipelines.work.agents.sign_in import (
    LARGEST,
    is_token,
    lend_sign_in_files,
    remove_lent_sign_in,
    tokens_in_file,
)
from pipelines.work.results.files import FileRefused, open_plain_file

WHOSE: Final = re.compile(r"account|organi[sz]ation|user|e-?mail|tenant|client", re.IGNORECASE)
"""Names of what says whose it is: that no renewal changes."""
CLAIMS: Final = ("iss", "sub", "email")
_carrying: Final = threading.Lock()


@dataclass
class LentSignIn:
    """Copy of a sign-in for one visit. `folder`: where the user of this machine has it; `home`: the HOME of the
    visit, into which it is copied."""

    preset: Preset
    folder: Path
    home: Path
    _lent: dict[str, bytes] = field(default_factory=dict, repr=False)
    _tokens: dict[str, None] = field(default_factory=dict, repr=False)
    _stamps: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    def lend(self) -> None:
        """:raises NotSignedIn: it is not there any more"""
        self._lent = lend_sign_in_files(self.preset, self.folder, self.home)
        for data in self._lent.values():
            self._tokens |= dict.fromkeys(tokens_in_file(data))

    def tokens(self) -> tuple[str, ...]:
        """Return the tokens that nothing may show: those that were lent, and those that have replaced them
        since."""
        for name in self._lent:
            path = self._path_in_home(name)
            try:
                info = (self.home / path).lstat()
                stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
                # Read only when it changed: the tokens are asked for again and again.
                if self._stamps.get(name) != stamp:
                    self._tokens |= dict.fromkeys(tokens_in_file(self._bytes_left_in_home(name)))
                    self._stamps[name] = stamp
            except (OSError, FileRefused):
                continue
        return tuple(self._tokens)

    def remove_lent_sign_in(self) -> str:
        """Remove the copy, after what was renewed in it was carried back. What the log says of it, "" for nothing."""
        # First: by these tokens `remove_lent_sign_in` finds what else holds a part of them.
        known, message = self.tokens(), ""
        try:
            message = self._carry_renewal_back_and_return_message()
        finally:
            remove_lent_sign_in(self.preset, self.home, known)
        return message

    def _carry_renewal_back_and_return_message(self) -> str:
        done = message = ""
        for name, before in self._lent.items():
            try:
                after = self._bytes_left_in_home(name)
            except (OSError, FileRefused):
                continue
            if after == before:
                continue
            # A station must not leave an account of its own in the user's folder
            if not is_renewal(before, after):
                message = "left something else in place of its sign-in, which was dropped."
            elif not _try_to_replace_unchanged(self.folder / name, before, after):
                message = "renewed its sign-in, which was renewed on this machine meanwhile, too: that one was kept."
            else:
                done = "renewed its sign-in. The next visit gets the new one."
        return f"{self.preset.name} {message or done}" if message or done else ""

    def _path_in_home(self, name: str) -> str:
        assert self.preset.sign_in is not None
        return f"{self.preset.sign_in.folder}/{name}"

    def _bytes_left_in_home(self, name: str) -> bytes:
        """:raises FileRefused: it is no plain file, or lies behind a link"""
        with open_plain_file(self.home, self._path_in_home(name)) as file:
            return file.read(LARGEST + 1)


def is_renewal(before: bytes, after: bytes) -> bool:
    """Return whether this is the same sign-in with other tokens and times."""
    if len(after) > LARGEST:
        return False
    try:
        return _is_renewed_value("", json.loads(before), json.loads(after))
    except (ValueError, RecursionError):
        return False


def _is_renewed_value(name: str, before: Any, after: Any) -> bool:
    if before == after and type(before) is type(after):
        return True
    if WHOSE.search(name):
        return False
    if isinstance(before, dict) and isinstance(after, dict):
        more = (value for key, value in after.items() if key not in before)
        renewed = (
            key in after and _is_renewed_value(key, value, after[key]) for key, value in before.items()
        )
        # A new key with a text could say something else than whose it was.
        return all(renewed) and not any(isinstance(value, dict | list | str) for value in more)
    if isinstance(before, str) and isinstance(after, str):
        return (
            is_token(before)
            and is_token(after)
            and _owner_claims_or_none(before) == _owner_claims_or_none(after)
        )
    # Times change with every renewal.
    numbers = (isinstance(value, int | float) and not isinstance(value, bool) for value in (before, after))
    return all(numbers)


def _owner_claims_or_none(token: str) -> Mapping[str, Any] | None:
    """Return a token's claims about its owner, if it can be read (RFC 7519). Nobody vouches for them here."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        # Such a token leaves out the padding.
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    return {name: claims.get(name) for name in CLAIMS} if isinstance(claims, dict) else None


def _try_to_replace_unchanged(place: Path, before: bytes, after: bytes) -> bool:
    """False where it is not what was lent any more. A reader sees the one or the other, whole."""
    with _carrying:
        # Where it is a link, what it leads to is replaced, not the link.
        real = place.resolve()
        try:
            if real.read_bytes() != before:
                return False
            # In the same folder: only within a file system is a rename one step.
            handle, made = tempfile.mkstemp(dir=real.parent, prefix=".gateline-")
        except OSError:
            return False
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(after)
                file.flush()
                # On the disk before it counts: a crash leaves one whole sign-in.
                os.fsync(handle)
            os.chmod(made, real.stat().st_mode & 0o777)
            os.replace(made, real)
        except OSError:
            with suppress(OSError):
                os.unlink(made)
            return False
    return True
