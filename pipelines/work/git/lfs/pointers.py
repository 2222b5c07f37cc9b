"""Pointers of Git LFS (version 1 of its specification), and the attributes that say which files have one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, ObjectID
from dulwich.wildmatch import MalformedPattern

from pipelines.work.git.gitignore import IgnoreRule
from pipelines.work.git.refusals import GitRefused
from pipelines.work.results.files import FileRefused, open_plain_file

VERSION = b"version https://git-lfs.github.com/spec/v1\n"
MOST_POINTER = 1024
"""Bytes: what is longer is no pointer, but a file that begins like one."""
POINTER = re.compile(re.escape(VERSION) + rb"oid sha256:([0-9a-f]{64})\nsize (0|[1-9][0-9]{0,15})\n?")
ATTRIBUTES = ".gitattributes"
MOST_ATTRIBUTES, MOST_TOGETHER = 256 * 1024, 1024 * 1024
"""Bytes of one file of attributes, and of all of a tree."""
FILTER = re.compile(rb"(?:[-!]?filter|filter=(?P<name>\S*))")
LFS = b"lfs"
QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"(?=\s)')
ESCAPED = re.compile(rb"\\(.)")
TreeFile = tuple[int, ObjectID]
"""(mode, id)"""


@dataclass(frozen=True)
class Pointer:
    """`oid`: the SHA-256 of the content."""

    oid: str
    size: int

    @property
    def text(self) -> bytes:
        return VERSION + f"oid sha256:{self.oid}\nsize {self.size}\n".encode()


def parsed_pointer_or_none(data: bytes) -> Pointer | None:
    if len(data) >= MOST_POINTER or not data.startswith(VERSION):
        return None
    match = POINTER.fullmatch(data)
    return Pointer(match[1].decode(), int(match[2])) if match else None


class LfsAttributes:
    """The files of a tree that Git LFS keeps. `read` gives the text of a file of attributes by its path."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read, self._room = read, MOST_TOGETHER
        self._rules: dict[tuple[bytes, ...], list[tuple[IgnoreRule, bool]]] = {}

    def is_kept_by_lfs(self, path: str) -> bool:
        """Return whether the filter of a file is that of LFS. :raises GitRefused: the attributes are too long"""
        # Git names files by bytes, which may be no UTF-8
        names = tuple(path.encode(errors="surrogateescape").split(b"/"))
        # The deepest file that has something to say decides, and in it the last line.
        for depth in range(len(names) - 1, -1, -1):
            for rule, is_lfs in self._rules_of_folder(names[:depth]):
                if rule.matches(names[depth:], False):
                    return is_lfs
        return False

    def _rules_of_folder(self, folder: tuple[bytes, ...]) -> list[tuple[IgnoreRule, bool]]:
        if folder not in self._rules:
            path = b"/".join((*folder, ATTRIBUTES.encode())).decode(errors="surrogateescape")
            text = self._read(path)
            # Each folder of a tree may have such a file
            self._room -= len(text)
            if len(text) > MOST_ATTRIBUTES or self._room < 0:
                raise GitRefused(f"{path} is too long to be read. Use fewer lines.")
            self._rules[folder] = list(lfs_filter_rules(text))
        return self._rules[folder]


def lfs_filter_rules(text: bytes) -> Iterator[tuple[IgnoreRule, bool]]:
    """The lines that say a filter, the last of them first: its pattern, and whether the filter is that of LFS."""
    for line in reversed(text.splitlines()):
        line = line.strip()
        # Git forbids negative patterns here, and by [attr] begins a macro
        if line.startswith((b"#", b"!", b"[")) or b"filter" not in line:
            continue
        pattern, attributes = _pattern_and_attributes_of_line(line)
        # The last one of a line counts
        filters = [match for word in attributes if (match := FILTER.fullmatch(word))]
        # A pattern of folders is of no file
        if not filters or pattern.endswith(b"/"):
            continue
        try:
            yield IgnoreRule(pattern), filters[-1]["name"] == LFS
        # Git matches nothing by such a line either
        except MalformedPattern:
            continue


def _pattern_and_attributes_of_line(line: bytes) -> tuple[bytes, list[bytes]]:
    # A pattern with blanks is quoted, as the attributes come after the first one
    if quoted := QUOTED.match(line):
        return ESCAPED.sub(rb"\1", quoted[1]), line[quoted.end() :].split()
    pattern, *attributes = line.split()
    return pattern, attributes


def lfs_attributes_of_tree(store: BaseObjectStore, files: Mapping[str, TreeFile]) -> LfsAttributes:
    def attributes_file_bytes(path: str) -> bytes:
        leaf = files.get(path)
        # Git follows no link to attributes
        blob = store[leaf[1]] if leaf and S_ISREG(leaf[0]) else None
        return blob.data if isinstance(blob, Blob) else b""

    return LfsAttributes(attributes_file_bytes)


def lfs_attributes_of_workspace(workspace: Path) -> LfsAttributes:
    def attributes_file_bytes(path: str) -> bytes:
        try:
            with open_plain_file(workspace, path) as file:
                # The byte more shows that it is too long
                return file.read(MOST_ATTRIBUTES + 1)
        except (FileRefused, OSError):
            return b""

    return LfsAttributes(attributes_file_bytes)


def lfs_pointers_by_path(store: BaseObjectStore, files: Mapping[str, TreeFile]) -> dict[str, Pointer]:
    """{path: pointer} of the files of a tree that LFS keeps. One that was committed as it is stays as it is.

    :raises GitRefused: a pointer is of another version"""
    # Most repositories have none, and need no look at each file
    if not any(path.rpartition("/")[2] == ATTRIBUTES for path in files):
        return {}
    attributes = lfs_attributes_of_tree(store, files)
    pointers = {}
    for path, (mode, sha) in files.items():
        if (
            S_ISREG(mode)
            and attributes.is_kept_by_lfs(path)
            and (pointer := blob_pointer_or_none(store, sha, path))
        ):
            pointers[path] = pointer
    return pointers


def blob_pointer_or_none(store: BaseObjectStore, sha: ObjectID, path: str) -> Pointer | None:
    blob = store[sha]
    if not isinstance(blob, Blob) or blob.raw_length() >= MOST_POINTER:
        return None
    pointer = parsed_pointer_or_none(blob.data)
    # Taken for a plain file, its text would pass for the content
    if pointer is None and blob.data.startswith(VERSION.rsplit(b"/", 1)[0]):
        raise GitRefused(
            f"{path} is a pointer of Git LFS that cannot be read: it has other lines than version, oid and size. "
            "Commit the file again with git lfs."
        )
    return pointer
