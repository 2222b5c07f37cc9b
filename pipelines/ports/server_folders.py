"""The folders of this server that may be used as repositories: those that an administrator allowed for the owner, and
never anything below the state or workspace folders, whichever way it is named (house §5). Standard library alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MOST_ENTRIES: Final = 500_000
MOST_TEXT: Final = 1 << 20
OWN_PARTS: Final = (
    "objects",
    "refs",
    "HEAD",
    "packed-refs",
    "config",
    "commondir",
    "worktrees",
    "modules",
    "info",
)
"""Names that make a folder a git folder, and that git follows from one."""
# “path = ../other” of an [include], “worktree = …” of [core]
INCLUDED = re.compile(
    r"^\s*(?:\[[^\]\n]*\])?\s*(?:path|worktree)\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE
)
COMMENT = re.compile(r"\s*[#;]")
SHORT: Final = ("alternates", "http-alternates", "commondir", "config", "config.worktree", ".git")
NOT_ALLOWED: Final = "not_allowed"
REFUSED: Final = "refused"


class FolderRefused(Exception):
    """The message names no folder. `reason`: NOT_ALLOWED where an administrator may still allow it."""

    def __init__(self, message: str, reason: str = REFUSED) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class PermittedFolder:
    """`path`: without links. `inode`: as it was when it was allowed, 0 where the machine is another one. `prepared`:
    made by Gateline itself, the only kind that may lie below its own folders."""

    path: str
    inode: int = 0
    prepared: bool = False
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> PermittedFolder:
        return cls(
            str(plain["path"]), int(plain["inode"]), bool(plain["prepared"]), str(plain.get("name", ""))
        )


@dataclass(frozen=True)
class ServerFolders:
    """Permissions of one owner on one machine. `protected`: the state and workspace folders. `bounds`: folders below
    which all have to lie, None for no bound. `elsewhere`: the permission was given on another machine."""

    allowed: tuple[PermittedFolder, ...] = ()
    protected: tuple[str, ...] = ()
    bounds: tuple[str, ...] | None = None
    elsewhere: bool = False

    def allowed_real_folder(self, text: str) -> str:
        """The folder without links, checked as it is at this moment. :raises FolderRefused"""
        path = path_without_links(text)
        allowed = next((folder for folder in self.allowed if folder.path == path), None)
        if allowed is None:
            raise FolderRefused(
                "This folder is not allowed for this owner. An administrator of the installation can allow it under "
                "Settings › Repositories.",
                NOT_ALLOWED,
            )
        self._refuse_protected_parts(path, allowed.prepared)
        if not os.path.isdir(path):
            raise FolderRefused("There is no such folder on this machine.")
        # The administrator allowed a folder, not its name: another one may have been put in its place
        if allowed.inode and not self.elsewhere and os.stat(path).st_ino != allowed.inode:
            raise FolderRefused(
                "This folder is another one than the administrator allowed. Save its settings again: an "
                "administrator of the installation is asked there whether to allow it.",
                NOT_ALLOWED,
            )
        return path

    def permitted_folder_of_path(self, text: str) -> PermittedFolder:
        """A folder as an administrator allows it. :raises FolderRefused"""
        path = path_without_links(text)
        self._refuse_protected_parts(path, prepared=False)
        if not os.path.isdir(path):
            raise FolderRefused("There is no such folder on this machine.")
        return PermittedFolder(path, os.stat(path).st_ino)

    def _refuse_protected_parts(self, path: str, prepared: bool) -> None:
        guard = ProtectedPlaces(self.protected)
        if not prepared:
            self._refuse_protected_place(path, guard)
        for part in places_git_would_follow(path):
            if prepared and is_at_or_below(part, path):
                continue
            self._refuse_protected_place(part, guard)
            if not is_at_or_below(part, path):
                raise FolderRefused(
                    "Parts of this repository lie outside of its folder: a link, alternates, or the git folder of a "
                    "worktree. Connect a repository that is complete, such as a bare clone."
                )

    def _refuse_protected_place(self, path: str, guard: ProtectedPlaces) -> None:
        if guard.is_protected(path):
            raise FolderRefused(
                "This folder leads into the state or the workspaces of Gateline, where no repository is taken from."
            )
        # What the operator listed holds, whatever an administrator has allowed
        if self.bounds is not None and not any(
            is_at_or_below(path, path_without_links(bound)) for bound in self.bounds
        ):
            raise FolderRefused(
                "This folder is not below one that the operator listed in GATELINE_REPOSITORY_ROOTS."
            )


class ProtectedPlaces:
    """Folders that nothing may lead into: by name, by device and inode of any folder above, and by what a bind mount
    shows."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._paths = tuple(dict.fromkeys(path_without_links(folder) for folder in folders))
        self._mounts = process_mounts_or_empty()
        self._inodes = {
            place for path in self._paths if (place := device_and_inode_or_none(path)) is not None
        }
        inner = [
            mount.point
            for mount in self._mounts
            if any(is_at_or_below(mount.point, path) for path in self._paths)
        ]
        self._origins = [
            origin for path in (*self._paths, *inner) if (origin := self._file_system_and_path_or_none(path))
        ]

    def is_protected(self, path: str) -> bool:
        """Return whether anything at or below this resolved path belongs to a protected folder."""
        if any(is_at_or_below(path, folder) for folder in self._paths):
            return True
        if any(
            device_and_inode_or_none(str(above)) in self._inodes
            for above in (Path(path), *Path(path).parents)
        ):
            return True
        inner = (
            mount.point for mount in self._mounts if mount.point != path and is_at_or_below(mount.point, path)
        )
        # A folder around the state itself shows the mounts that are part of it: those are no way into it.
        reached = [
            path,
            *(point for point in inner if not any(is_at_or_below(point, folder) for folder in self._paths)),
        ]
        return any(self._comes_from_protected(place) for place in reached)

    def _comes_from_protected(self, path: str) -> bool:
        origin = self._file_system_and_path_or_none(path)
        return origin is not None and any(
            origin[0] == device and is_at_or_below(origin[1], root) for device, root in self._origins
        )

    def _file_system_and_path_or_none(self, path: str) -> tuple[str, str] | None:
        """The file system that holds a path, and where in it."""
        around = [mount for mount in self._mounts if is_at_or_below(path, mount.point)]
        if not around:
            return None
        # Of two mounts at one place the later one is seen.
        mount = max(enumerate(around), key=lambda pair: (len(pair[1].point), pair[0]))[1]
        inside = os.path.relpath(path, mount.point)
        return mount.device, os.path.normpath(os.path.join(mount.root, inside))


@dataclass(frozen=True)
class Mount:
    device: str
    root: str
    point: str


def process_mounts_or_empty() -> list[Mount]:
    """Return the mounts of this process, none where the system does not list them."""
    try:
        text = Path("/proc/self/mountinfo").read_text(errors="surrogateescape")
    except OSError:
        return []
    # 36 35 98:0 /root /point …: device, root and mount point are the third to the fifth field.
    rows = [line.split(" ") for line in text.splitlines()]
    return [
        Mount(row[2], unescaped_mount_path(row[3]), unescaped_mount_path(row[4]))
        for row in rows
        if len(row) > 4
    ]


def unescaped_mount_path(text: str) -> str:
    # The kernel writes a space as \040.
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def places_git_would_follow(folder: str) -> Iterator[str]:
    """Every place that git would follow from the repository in `folder`, without links: its git folder, a common one,
    alternates, included settings, and what links in them lead to. Places that do not exist are given, too."""
    waiting, known = [(folder, False)], set[str]()
    while waiting:
        place, is_git = waiting.pop()
        path = path_without_links(place)
        if path in known:
            continue
        known.add(path)
        yield path
        folders, links = named_git_folders_and_links(path, is_git)
        waiting += [(folder, True) for folder in folders]
        yield from (path_without_links(link) for link in links)
        # A folder behind a link is followed like one that is there.
        waiting += [(link, True) for link in links if os.path.isdir(link)]


def named_git_folders_and_links(path: str, is_git: bool) -> tuple[list[str], list[str]]:
    """Folders that a git folder, or a working copy, names; and links found in it."""
    folders: list[str] = []
    dot = os.path.join(path, ".git")
    if os.path.lexists(dot) and not is_git:
        folders.append(dot)
        if os.path.isfile(dot):
            folders += [
                os.path.join(path, target)
                for target in stripped_text_after_prefix(file_text_or_empty(dot), "gitdir:")
            ]
    if common := file_text_or_empty(os.path.join(path, "commondir")):
        folders.append(os.path.join(path, common))
    for objects in (os.path.join(path, "objects"), path):
        for name in ("alternates", "http-alternates"):
            listed = lines_without_comments(os.path.join(objects, "info", name))
            # An address of http-alternates is no folder.
            folders += [os.path.join(objects, without_quotes(line)) for line in listed if "://" not in line]
    for file in (path, os.path.join(path, "config"), os.path.join(path, "config.worktree")):
        for written in INCLUDED.findall(file_text_or_empty(file)):
            # Settings may end with a comment, and file names may contain its sign: neither may lead elsewhere.
            for value in (written, COMMENT.split(written)[0]):
                folders.append(os.path.join(os.path.dirname(file), os.path.expanduser(without_quotes(value))))
    is_repository = is_git or (
        os.path.lexists(os.path.join(path, "objects")) and os.path.lexists(os.path.join(path, "refs"))
    )
    if not is_repository:
        return folders, []
    # Of a bare repository all is git's, a log that is written, too; of a working copy the files beside it are not.
    return folders, links_below_or_refuse(path, OWN_PARTS if os.path.lexists(dot) and not is_git else ())


def links_below_or_refuse(path: str, only_names: Sequence[str] = ()) -> list[str]:
    """Symbolic links at any depth. :raises FolderRefused: there is no end to it"""
    links: list[str] = []
    waiting, count = [path], 0
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            count += 1
            if only_names and entry.name not in only_names and os.path.dirname(entry.path) == path:
                continue
            if entry.is_symlink():
                links.append(entry.path)
            # A link to a folder is one of those that are looked for, and is not followed
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
        if count > MOST_ENTRIES:
            raise FolderRefused("This repository holds too many files. Pack it with git gc.")
    return links


def stripped_text_after_prefix(text: str, prefix: str) -> list[str]:
    return [text.removeprefix(prefix).strip()] if text.startswith(prefix) else []


def lines_without_comments(path: str) -> list[str]:
    return [
        line.strip()
        for line in file_text_or_empty(path).split("\n")
        if line.strip() and not line.startswith("#")
    ]


def without_quotes(text: str) -> str:
    return text.strip().strip('"')


def file_text_or_empty(path: str) -> str:
    """The whole of a file; "" where there is none. :raises FolderRefused: git would read on where this stops"""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_TEXT + 1)
    except OSError:
        return ""
    # A large file may be named like one of git's: an alternate can be anything, such as a pack.
    if len(text) > MOST_TEXT and os.path.basename(path) in SHORT:
        raise FolderRefused(f"The file {os.path.basename(path)} of this repository is too large to be read.")
    return os.fsdecode(text).strip()


def path_without_links(path: str | os.PathLike[str]) -> str:
    return os.path.realpath(path)


def is_at_or_below(path: str, root: str) -> bool:
    """Return whether the path is the root or lies in it."""
    # With the slash: /srv/app2 does not lie in /srv/app.
    return path == root or path.startswith(root.rstrip("/") + "/")


def device_and_inode_or_none(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
