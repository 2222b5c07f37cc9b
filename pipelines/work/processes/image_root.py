"""A program in the files of an image (docs/repositories.md): bubblewrap inside of the isolation of its station, so that
network, processes, memory and the one folder that it may write stay those of the station. No container is started: of
podman or docker a runner needs the files alone (`images`)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pipelines.work.processes.isolation import DISABLE_USERNS, CannotIsolate, Isolation

NAMES: Final = ("/etc/hosts", "/etc/resolv.conf")
"""Of the machine also inside an image, as every program that runs containers has it."""
OURS: Final = ("/proc", "/dev", "/tmp", "/sys", "/run/gateline-egress")


@dataclass(frozen=True)
class ImageRoot:
    """An image as it lies on the machine of a runner: the folder with its files, and the PATH that it sets."""

    name: str
    root: Path
    path: str


def argv_in_root(
    argv: Sequence[str], image: ImageRoot, attempt: Path, cwd: Path, isolation: Isolation
) -> tuple[str, ...]:
    """The command with what puts it into the files of an image. They are read only; it sees nothing of the machine.

    :raises CannotIsolate: the station is not behind bubblewrap"""
    if isolation.name != "bubblewrap":
        raise CannotIsolate("programs of an image take bubblewrap")
    made = [isolation.program, "--unshare-user", "--cap-drop", "ALL", "--setenv", "PATH", image.path]
    made += [DISABLE_USERNS] if DISABLE_USERNS in isolation.prefix else []
    points = [PurePosixPath(point) for point in (*OURS, *NAMES, str(attempt))]
    made += image_mount_options(image.root, points)
    made += ["--ro-bind", "/proc", "/proc", "--dev-bind", "/dev", "/dev", "--bind", "/tmp", "/tmp"]
    made += [part for name in NAMES for part in ("--ro-bind-try", name, name)]
    # Read-only in the end: until then points to mount on are made in it
    made += ["--bind", str(attempt), str(attempt), "--remount-ro", "/", "--chdir", str(cwd), "--"]
    return (*made, *argv)


def image_mount_options(root: Path, points: Sequence[PurePosixPath]) -> list[str]:
    """Options that show the files of an image, but for `points`, where something else is mounted: the folders on the
    way to these are made, because nothing can be mounted on what an image does not have."""
    return [part for place in _child_mount_options(root, PurePosixPath("/"), points) for part in place]


def _child_mount_options(
    folder: Path, at: PurePosixPath, points: Sequence[PurePosixPath]
) -> Iterator[tuple[str, ...]]:
    for child in sorted(folder.iterdir()):
        here, info = at / child.name, child.lstat()
        if here in points:
            continue
        if stat.S_ISLNK(info.st_mode):
            # As a link: bound, it would show what it leads to on this machine
            yield "--symlink", str(child.readlink()), str(here)
        elif stat.S_ISDIR(info.st_mode) and any(point.is_relative_to(here) for point in points):
            yield "--dir", str(here)
            yield from _child_mount_options(child, here, points)
        # Devices, pipes and sockets of an image are left out
        elif stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode):
            yield "--ro-bind", str(child), str(here)


MOST_LINKS = 40
"""As Linux has it: more of them in one path are taken for a circle."""


def has_program(root: Path, name: str, path: str, attempt: Path) -> bool:
    """Return whether a program exists for somebody who sees the files of this image and the folder of the
    attempt. Links are not followed: they lead inside of the image."""
    if "/" not in name:
        return any(_exists_in_image(root, f"{folder}/{name}") for folder in path.split(":"))
    if Path(name).is_relative_to(attempt):
        return Path(name).exists()
    return _exists_in_image(root, name)


def _exists_in_image(root: Path, name: str) -> bool:
    """Also below a folder that is a link: /bin is one to usr/bin in most images."""
    rest, place, links = list(reversed(PurePosixPath(name.lstrip("/")).parts)), PurePosixPath("/"), 0
    while rest:
        # From "/" on, normpath keeps `..` from leading above the root of the image
        place = PurePosixPath(os.path.normpath(place / rest.pop()))
        here = root / place.relative_to("/")
        # The program itself may be a link to what only the image has
        if rest and here.is_symlink():
            links += 1
            if links > MOST_LINKS:
                return False
            # An absolute one begins at the root of the image again
            rest += reversed(here.readlink().parts)
            place = place.parent
    return os.path.lexists(root / place.relative_to("/"))
