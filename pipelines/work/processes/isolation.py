"""Isolation of a station from the rest of the machine (house §5): an argv prefix, made for one attempt.

`bubblewrap`: a file system of its own (only what is listed), its own processes, its own /tmp. `landlock`: the same
listing, enforced by the kernel on the machine's own tree. `prefix`: any argv that the administrator set. `none`.
Without the network bubblewrap gives a station a loopback of its own and nothing else; behind Landlock it can make no
sockets but those of the file system. A station that may reach some hosts only has a proxy besides.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CALL_FILTER = Path(__file__).with_name("call_filter.py")
LANDLOCK = Path(__file__).with_name("landlock.py")
LANDLOCK_HOSTS = Path(__file__).with_name("landlock_hosts.py")
BRIDGE = Path(__file__).with_name("egress_bridge.py")
EGRESS = Path("/run/gateline-egress")
"""Inside of the isolation: the folder with the socket of the proxy, and the bridge to it."""
PROXY = "proxy"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
# Of /etc only what programs need to find libraries, names and certificates: no shadow, no keys.
NAMES = """alternatives ca-certificates ca-certificates.conf crypto-policies debian_version fonts gai.conf gitconfig
    group host.conf hosts ld.so.cache ld.so.conf ld.so.conf.d locale.alias localtime magic mime.types nsswitch.conf
    os-release passwd pki protocols resolv.conf services ssh/ssh_config ssh/ssh_config.d ssh/ssh_known_hosts ssl
    timezone"""
ETC = tuple(f"/etc/{name}" for name in NAMES.split())
DEVICES = tuple(
    f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
)
# Hidden even where a listed root contains them.
SECRETS = ".ssh .gnupg .aws .azure .config .docker .kube .netrc .pgpass .git-credentials"
HOME_SECRETS = tuple(SECRETS.split())
COMMITS = ("objects", "refs", "packed-refs", "shallow", "HEAD")
"""Of a repository: no settings, which may hold passwords, no hooks, no logs."""
DISABLE_USERNS = "--disable-userns"
# Bytes of /dev/shm
SHARED_MEMORY = 1 << 30
KERNEL_SETTINGS = ("/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/fs", "/proc/irq", "/proc/bus")


class CannotIsolate(Exception):
    """The isolation that was asked for does not work on this machine."""


@dataclass(frozen=True)
class Places:
    """Folders and files of one worker: what every station may read, and what none may see although it lies inside. A
    readable place inside a hidden one is seen. `secret`: what is not shown, whichever folder a station is allowed.
    `installation`: the folder of the product itself, by its names."""

    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    secret: tuple[Path, ...] = ()
    installation: tuple[Path, ...] = ()

    def visible_places(self, access: Access) -> tuple[Path, ...]:
        """Name what every station may read, and what this one is allowed of folders."""
        allowed = [folder for folder in access.repositories if not is_within_any(folder, self.secret)]
        return (*self.readable, *(place for folder in allowed for place in self.visible_parts(folder)))

    def visible_parts(self, folder: Path) -> tuple[Path, ...]:
        """Name what is seen of an allowed folder: of the installation, as of one with something secret, its commits."""
        own = [base / ".git" for base in self.installation]
        if is_within_any(folder, own):
            return tuple(folder / name for name in COMMITS) if folder in own else ()
        holds_secrets = any(place.is_relative_to(folder) for place in (*self.secret, *self.installation))
        return tuple(folder / ".git" / name for name in COMMITS) if holds_secrets else (folder,)

    def is_readable(self, path: Path) -> bool:
        """Say whether some station can read this file: of the places around it the innermost decides."""
        visible = dict.fromkeys((*map(Path, SYSTEM), *self.visible_places(OPEN)), True)
        around = visible | dict.fromkeys(self.hidden, False)
        holding = [place for place in around if path.is_relative_to(place)]
        return bool(holding) and around[max(holding, key=lambda place: len(place.parts))]


@dataclass(frozen=True)
class Access:
    """Reach of one station besides its own folder. `repositories`: the folders that it names and may read. `hosts`:
    names with their ports, where the network is none but for these, and `whose` list that is; `door`: the folder in
    which their proxy listens, while the station runs."""

    network: bool = True
    repositories: tuple[Path, ...] = ()
    hosts: tuple[tuple[str, int], ...] = ()
    whose: str = "this station's list"
    door: Path | None = None
    # Files of images into which programs are put inside of the isolation (`image_root`).
    roots: tuple[Path, ...] = ()


OPEN = Access(network=True)


@dataclass(frozen=True)
class Wrapped:
    """argv to start, and the supervisor's settings that go with it."""

    argv: tuple[str, ...]
    levels: int = 0
    no_new_privileges: bool = False


@dataclass(frozen=True)
class Isolation:
    """`name`: bubblewrap, landlock, prefix or none. `prefix`: the administrator's argv, or options of bubblewrap.
    `program`: the path of the bubblewrap that was tried."""

    name: str
    places: Places = field(default_factory=lambda: Places((), ()))
    prefix: tuple[str, ...] = ()
    program: str = ""
    # Whether it can keep a station from the network, and to some hosts: found out by trying (`isolation_choice`).
    cuts_network: bool = False
    limits_hosts: bool = False

    def without_ports(self, access: Access) -> bool:
        """Say whether a station with this access listens on no port, not even for itself."""
        return self.name == "landlock" and self.cuts_network and not access.network

    def isolated_command(
        self, argv: Sequence[str], attempt: Path, cwd: Path, access: Access = OPEN
    ) -> Wrapped:
        """:param attempt: the attempt's folder, the only place it may write to; its `tmp` is its /tmp"""
        network = access.network or not self.cuts_network
        if self.name == "bubblewrap":
            command = bridge_argv(argv) if access.door is not None else argv
            # Processes of bubblewrap above the command, one more with that of the image
            levels = 3 if access.roots else 2
            return Wrapped((*bubblewrap_argv(self, attempt, cwd, access, network), *command), levels=levels)
        if access.roots:
            raise CannotIsolate("programs of an image take bubblewrap")
        if self.name == "landlock":
            rules = {
                "read": [*map(str, readable_without_hidden(self.places, access)), *ETC],
                "write": [str(attempt), *DEVICES],
                "network": network,
            }
            return landlock_argv(rules, argv, access)
        if self.name == "prefix":
            return Wrapped((*(filled_placeholder(part, attempt, cwd) for part in self.prefix), *argv))
        return Wrapped(tuple(argv), no_new_privileges=True)


def landlock_argv(rules: Mapping[str, object], argv: Sequence[str], access: Access) -> Wrapped:
    """Put Landlock before a command. `rules`: as of `landlock.py`."""
    if access.door is None:
        # -I -S: no variable and no folder of a station decides what this Python imports
        return Wrapped((sys.executable, "-I", "-S", str(LANDLOCK), json.dumps(rules), "--", *argv))
    words = (str(access.door / PROXY), json.dumps(rules), "--", *argv)
    # One level: the process that connects the command's sockets stays above it
    return Wrapped((sys.executable, "-I", "-S", str(LANDLOCK_HOSTS), *words), levels=1)


def bridge_argv(argv: Sequence[str]) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(EGRESS / BRIDGE.name), str(EGRESS / "door" / PROXY), "--", *argv)


def filled_placeholder(part: str, attempt: Path, cwd: Path) -> str:
    return part.replace("{workspace}", str(attempt)).replace("{cwd}", str(cwd))


def bubblewrap_argv(
    isolation: Isolation, attempt: Path, cwd: Path, access: Access, network: bool
) -> list[str]:
    # What puts the files of an image into place is a bubblewrap too, and makes namespaces.
    namespaces = "permitted" if access.roots else "refused"
    argv = [sys.executable, "-I", "-S", str(CALL_FILTER), namespaces, "--", isolation.program]
    argv += ["--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    argv += ["--unshare-cgroup-try", *([] if network else ["--unshare-net"])]
    if access.roots:
        # One isolation inside of another: the inner one forbids namespaces. Of root's, Linux asks for this capability
        # before it maps root again; the inner one drops it.
        argv += [*(part for part in isolation.prefix if part != DISABLE_USERNS), "--cap-drop", "ALL"]
        argv += [] if os.getuid() else ["--cap-add", "CAP_SETFCAP"]
    else:
        argv += [*isolation.prefix, "--cap-drop", "ALL"]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    # 1777: as systems have it, with the sticky bit
    argv += ["--perms", "1777", "--size", str(SHARED_MEMORY), "--tmpfs", "/dev/shm"]
    for folder in SYSTEM:
        argv += system_folder_options(Path(folder))
    argv += [part for name in ETC for part in ("--ro-bind-try", name, name)]
    # Before the listed places: some of them may lie in /tmp.
    argv += ["--bind", str(attempt / "tmp"), "/tmp"]
    if access.door is not None:
        argv += ["--ro-bind", str(BRIDGE), str(EGRESS / BRIDGE.name)]
        argv += ["--ro-bind", str(access.door), str(EGRESS / "door")]
    views, covers = mount_options_and_covers(isolation.places, access)
    argv += views
    for root in access.roots:
        argv += ["--ro-bind", str(root), str(root)]
    argv += ["--bind", str(attempt), str(attempt)]
    # Root without its powers may still write settings of the kernel; a second bubblewrap writes in /proc, too.
    for place in KERNEL_SETTINGS if access.roots else ():
        argv += ["--ro-bind-try", place, place]
    # Last, for mounts are made in them. Else what is written there would fill the memory of the machine.
    for place in ("/dev", *([] if access.roots else ["/proc"]), *covers, "/"):
        argv += ["--remount-ro", place]
    return [*argv, "--chdir", str(cwd), "--"]


def mount_options_and_covers(places: Places, access: Access) -> tuple[list[str], list[str]]:
    """The listed places with the hidden ones covered, outer ones first: of two, the deeper holds. And the covers."""
    visible = places.visible_places(access)
    argv: list[str] = []
    covers: list[str] = []
    for place in sorted_outermost_first((*visible, *places.hidden)):
        if place not in places.hidden:
            argv += ["--ro-bind-try", str(place), str(place)]
        elif place.is_dir():
            argv += ["--tmpfs", str(place)]
            covers.append(str(place))
        # A file that nothing around it shows needs no cover
        elif place.exists() and is_within_any(place, visible):
            argv += ["--ro-bind", "/dev/null", str(place)]
    return argv, covers


def system_folder_options(place: Path) -> list[str]:
    """/bin is a link to /usr/bin on most systems, a folder on others."""
    if place.is_symlink():
        return ["--symlink", str(place.readlink()), str(place)]
    return ["--ro-bind-try", str(place), str(place)]


def sorted_outermost_first(places: Iterable[Path]) -> list[Path]:
    """So that no later mount covers an earlier one."""
    return sorted(set(places), key=lambda place: (len(place.parts), place))


def is_within_any(place: Path, roots: Iterable[Path]) -> bool:
    return any(place.is_relative_to(root) for root in roots)


def readable_without_hidden(places: Places, access: Access = OPEN) -> list[Path]:
    """The readable places with the hidden ones cut out: Landlock can only allow. A folder on the way to a hidden one is
    replaced by its other children, as they are at this moment."""
    allowed: list[Path] = []
    for root in sorted_outermost_first(
        (*places.visible_places(access), *(Path(place).resolve() for place in SYSTEM))
    ):
        allowed += folders_without_hidden(
            root, [place for place in places.hidden if place.is_relative_to(root) and place.exists()]
        )
    return allowed


def unlistable_folders(isolation: Isolation) -> list[tuple[Path, Path]]:
    """Name each listed folder that stations cannot list, with the hidden place in it: Landlock's rights for a folder
    count for all that lies in it."""
    if isolation.name != "landlock":
        return []
    places = isolation.places
    roots = [
        root for root in sorted_outermost_first(places.visible_places(OPEN)) if root not in places.hidden
    ]
    holding = (
        (root, next((place for place in places.hidden if contains_existing(root, place)), None))
        for root in roots
    )
    return [(root, place) for root, place in holding if place is not None]


def contains_existing(root: Path, place: Path) -> bool:
    return place != root and place.is_relative_to(root) and place.exists()


def folders_without_hidden(root: Path, hidden: Sequence[Path]) -> list[Path]:
    if not hidden:
        return [root]
    if root in hidden:
        return []
    allowed: list[Path] = []
    # Landlock has no rule that forbids: what is beside the hidden place is allowed one by one
    for child in sorted(root.iterdir()):
        allowed += folders_without_hidden(child, [place for place in hidden if place.is_relative_to(child)])
    return allowed


def link_folders(program: Path) -> list[Path]:
    """The folders of every link on the way to a program: one of them missing, and nothing starts. The Python of a venv
    may be a link to a link that lies anywhere."""
    folders = []
    while program.is_symlink():
        folders.append(program.parent)
        program = program.parent / program.readlink()
    return [*folders, program.parent]


def isolation_places(
    readable: Iterable[Path],
    hidden: Iterable[Path],
    home: Path,
    installation: Iterable[Path] = (),
) -> Places:
    """Absolute, by their names and with links resolved. Nothing inside a `hidden` place is seen, nor are the secrets of
    `home` and the `.git` of the `installation`; inside of that, what is listed besides."""
    secret, bases = (
        places_with_links_resolved(hidden, (home / name for name in HOME_SECRETS)),
        places_with_links_resolved(installation),
    )
    closed = (*secret, *(base / ".git" for base in bases))
    included = [
        place
        for place in places_with_links_resolved(existing_places(readable))
        if not is_within_any(place, closed)
    ]
    roots = (*included, *map(Path, SYSTEM))
    cover = dict.fromkeys((*secret, *bases))
    # Also around what is listed: where it lies in /tmp, a station could write beside it into its own folder.
    hiding = (
        place
        for place in cover
        if is_within_any(place, roots) or any(root.is_relative_to(place) for root in included)
    )
    return Places(tuple(included), tuple(hiding), secret, bases)


def existing_places(places: Iterable[Path]) -> Iterable[Path]:
    return (place for place in places if place.exists())


def places_with_links_resolved(*groups: Iterable[Path]) -> tuple[Path, ...]:
    """Name each place as it is called and with links resolved, once."""
    absolute = [place.absolute() for group in groups for place in group]
    return tuple(dict.fromkeys((*absolute, *(place.resolve() for place in absolute))))
