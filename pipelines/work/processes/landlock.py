"""Fence this process with Landlock, then become the command: a script, standard library only, an argv prefix.

    landlock.py RULES -- argv…       RULES: JSON {"read": [path], "write": [path], "network": true or false}

What is not listed can neither be read nor written, of /proc what belongs to no process and to this one besides; memory,
environment and descriptors of processes outside cannot be read (Landlock guards ptrace), and from ABI 6 on they cannot
be signalled. It does not close the way to a socket in the file system: the database's asks for a password (house §5).
What the kernel is not asked for, see `call_filter.py`; without "network" no other socket can be made, since Landlock
itself knows TCP only. With a list of hosts see `landlock_hosts.py`.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

# A script without site: where the package lies is told here. Standard library only, there too.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from pipelines.work.processes.call_filter import (
    ENOSYS,
    call_kernel,
    checked_result,
    cut_network,
    refuse_needless_calls,
)

# Numbers of system calls, the same on every machine that `call_filter` knows
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
CAPABILITY_VERSION_3 = 0x20080522
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
BIND_TCP, CONNECT_TCP, TCP_ABI = 1, 2, 4
# How many of the file system's rights each ABI knows.
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
PROC = "/proc"
OF_OTHERS = frozenset(
    [
        "kcore",
        "key-users",
        "keys",
        "kmsg",
        "kpagecgroup",
        "kpagecount",
        "kpageflags",
        "locks",
        "sysvipc",
        "timer_list",
    ]
)
"""Files of no process there that tell all the same of those outside."""


def landlock_version_or_zero() -> int:
    """The kernel's version of Landlock, 0 without it."""
    return max(0, int(call_kernel(CREATE_RULESET, None, 0, 1))) if sys.platform == "linux" else 0


def prctl(option: int, value: int) -> None:
    checked_result(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0), "prctl")


def restrict_paths(read: list[str], write: list[str], *, tcp: bool = True) -> None:
    """Permit only these from now on, to this process and all that come from it. `tcp`: whether it makes connections.

    :raises OSError: the kernel has no Landlock, or one that does not know TCP, or refuses
    """
    version = landlock_version_or_zero()
    if not version:
        raise OSError(ENOSYS, "This kernel has no Landlock")
    if not tcp and version < TCP_ABI:
        raise OSError(ENOSYS, "Landlock knows TCP from Linux 6.7 on")
    handled = (1 << RIGHTS.get(version, 16)) - 1
    connections = 0 if tcp else BIND_TCP | CONNECT_TCP
    attributes = struct.pack(
        "QQQ", handled, connections, SCOPE_SIGNALS | SCOPE_ABSTRACT_SOCKETS if version >= 6 else 0
    )
    # The kernel's structure grew: files alone, from ABI 4 on TCP, from ABI 6 on scopes
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = checked_result(
        call_kernel(CREATE_RULESET, attributes[:size], size, 0), "landlock_create_ruleset"
    )
    for paths, rights in (((*read, *shared_proc_paths()), READ), (write, handled)):
        for path in paths:
            allow_path(ruleset, path, rights & handled)
    # Of processes this one's alone: kept open, for the kernel forgets the folder else, and the rule with it.
    os.set_inheritable(os.open(f"{PROC}/self", os.O_PATH), True)
    allow_path(ruleset, f"{PROC}/{os.getpid()}", READ)
    # Without it the kernel lets only a privileged process restrict itself
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    checked_result(call_kernel(RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)
    refuse_needless_calls()


def shared_proc_paths() -> Iterator[str]:
    """Paths in /proc besides the folders of processes, and links into these."""
    with os.scandir(PROC) as entries:
        for entry in entries:
            if not (entry.name.isdigit() or entry.is_symlink() or entry.name in OF_OTHERS):
                yield entry.path


def drop_capabilities() -> None:
    """Root keeps its files but loses its powers, one of which reads the memory of others past Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    # More than any kernel has; it fails for the others, which does no harm
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    # 0: this process; 24 zero bytes: none effective, permitted or inheritable
    libc.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24))


def allow_path(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    try:
        # For a file the kernel refuses a rule with rights that only folders have
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= FOR_FILES
        # `=`: without padding, as the kernel declares struct landlock_path_beneath_attr
        rule = struct.pack("=Qi", rights, descriptor)
        checked_result(call_kernel(ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule {path}")
    finally:
        os.close(descriptor)


def main() -> int:
    rules = json.loads(sys.argv[1])
    argv = sys.argv[3:]
    try:
        drop_capabilities()
        restrict_paths(rules["read"], rules["write"])
        if not rules.get("network", True):
            cut_network()
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"landlock: {error}", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main())
