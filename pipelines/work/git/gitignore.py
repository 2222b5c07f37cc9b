"""Reader of `.gitignore` without trust: every file of it bounded, and matched in time that grows with the
length of the name, never with the stars of a pattern."""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from dulwich.ignore import read_ignore_patterns
from dulwich.wildmatch import MalformedPattern, translate, translate_bracket_expression

from pipelines.work.git.refusals import GitRefused
from pipelines.work.results.files import FileRefused, open_plain_file

MOST_BYTES, MOST_TOGETHER = 64 * 1024, 256 * 1024
"""Of one file, and of all of a work tree: one that is larger ignores nothing."""
LONGEST = 1024
"""A longer pattern ignores nothing."""
MOST_SECONDS = 120.0
ANY_FOLDERS = b"**"


class WildName:
    """Name of a pattern: pieces between its stars, each of which matches a text of one length."""

    def __init__(self, text: bytes) -> None:
        pieces, lengths = [b""], [0]
        at = 0
        while at < len(text):
            start, at = at, at + 1
            if text[start:at] == b"*":
                pieces.append(b"")
                lengths.append(0)
                continue
            if text[start:at] == b"[":
                at, _class = translate_bracket_expression(text, at)
            elif text[start:at] == b"\\":
                at = min(at + 1, len(text))
            pieces[-1] += translate(text[start:at])
            lengths[-1] += 1
        self._first, *self._others = [re.compile(piece, re.DOTALL) for piece in pieces]
        self._lengths = lengths

    def matches(self, name: bytes) -> bool:
        if not self._others:
            return bool(self._first.fullmatch(name))
        if not self._first.match(name):
            return False
        # The last piece stands at the end; each between is taken as early as it comes.
        end, at = len(name) - self._lengths[-1], self._lengths[0]
        for piece in self._others[:-1]:
            match = piece.search(name, at, end)
            if not match:
                return False
            at = match.end()
        return at <= end and bool(self._others[-1].match(name, end))


class IgnoreRule:
    """Rule of one line. `ignores`: whether its names are ignored, or included after all.

    :raises MalformedPattern: it names nothing
    """

    def __init__(self, text: bytes) -> None:
        self.ignores = not text.startswith(b"!")
        text = text.removeprefix(b"!")
        self._only_folders = text.endswith(b"/")
        text = text.rstrip(b"/")
        if not text or len(text) > LONGEST:
            raise MalformedPattern(text)
        parts = text.removeprefix(b"/").split(b"/")
        # A pattern without a slash counts at any depth.
        if b"/" not in text:
            parts = [ANY_FOLDERS, *parts]
        if parts[-1] == ANY_FOLDERS:  # what is inside, not the folder itself
            parts.append(b"*")
        self._runs: list[list[WildName]] = [[]]
        for part in parts:
            if part == ANY_FOLDERS:
                self._runs.append([])
            else:
                self._runs[-1].append(WildName(part))

    def matches(self, names: Sequence[bytes], folder: bool) -> bool:
        if self._only_folders and not folder:
            return False
        first, *others = self._runs
        if not others:
            return len(first) == len(names) and _do_parts_match_at(first, names, 0)
        if not _do_parts_match_at(first, names, 0):
            return False
        last = others.pop()
        end, at = len(names) - len(last), len(first)
        for run in others:
            while at + len(run) <= end and not _do_parts_match_at(run, names, at):
                at += 1
            at += len(run)
        return at <= end and _do_parts_match_at(last, names, end)


def _do_parts_match_at(parts: Sequence[WildName], names: Sequence[bytes], at: int) -> bool:
    return at + len(parts) <= len(names) and all(
        part.matches(names[at + index]) for index, part in enumerate(parts)
    )


def ignore_rules(text: bytes) -> list[IgnoreRule]:
    """The last of them first: the first that matches decides."""
    rules: list[IgnoreRule] = []
    for line in read_ignore_patterns(io.BytesIO(text)):
        try:
            rules.insert(0, IgnoreRule(line))
        except MalformedPattern:
            continue
    return rules


class IgnoreFiles:
    """The `.gitignore` files of a work tree, none of them through a link."""

    def __init__(self, workspace: Path) -> None:
        self._workspace, self._room = workspace, MOST_TOGETHER
        self._rules: dict[tuple[bytes, ...], list[IgnoreRule]] = {}
        self._folders: dict[tuple[bytes, ...], bool] = {(): False}
        self._until = time.monotonic() + MOST_SECONDS

    def is_ignored(self, path: str) -> bool:
        """Return whether a file or link is ignored. :raises GitRefused: the patterns take too long"""
        names = tuple(os.fsencode(path).split(b"/"))
        for depth in range(1, len(names)):
            folder = names[:depth]
            if folder not in self._folders:
                self._folders[folder] = self._is_match(folder, True)
            # What lies in an ignored folder cannot be included again, as with git.
            if self._folders[folder]:
                return True
        return self._is_match(names, False)

    def _is_match(self, names: tuple[bytes, ...], folder: bool) -> bool:
        """The deepest file that has something to say decides."""
        for depth in range(len(names) - 1, -1, -1):
            for rule in self._rules_of_folder(names[:depth]):
                if time.monotonic() > self._until:
                    raise GitRefused("The patterns in .gitignore take too long. Use fewer and simpler ones.")
                if rule.matches(names[depth:], folder):
                    return rule.ignores
        return False

    def _rules_of_folder(self, folder: tuple[bytes, ...]) -> list[IgnoreRule]:
        if folder not in self._rules:
            self._rules[folder] = ignore_rules(
                self._text_of_ignore_file(os.fsdecode(b"/".join((*folder, b".gitignore"))))
            )
        return self._rules[folder]

    def _text_of_ignore_file(self, path: str) -> bytes:
        try:
            with open_plain_file(self._workspace, path) as file:
                text = file.read(MOST_BYTES + 1)
        except (FileRefused, OSError):
            return b""
        if len(text) > min(MOST_BYTES, self._room):
            return b""
        self._room -= len(text)
        return text
