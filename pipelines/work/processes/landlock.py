"""Fence this process with Landlock, then become the command: a script, standard library only, an argv prefix.

    landlock.py RULES -- argv…       RULES: JSON {"read": [path], "write": [path], "network": true or false}

What is not listed can neither be read nor written; memory, environment and descriptors of processes outside cannot be
read (Landlock guards ptrace), and from ABI 6 on they cannot be signalled. It does not close the way to a socket in the
file system: the database's asks for a password (house §5). Without "network" no other socket can be made: a filter of
system calls (seccomp), since Landlock itself knows TCP only. With a list of hosts see `landlock_hosts.py`.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import stat
import struct
import sys
from typing import NamedTuple

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 24, 38
CAPABILITY_VERSION_3 = 0x20080522
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
BIND_TCP, CONNECT_TCP, TCP_ABI = 1, 2, 4


class CallNumbers(NamedTuple):
    """Numbers of a machine: its own for the kernel's audit, and those of system calls."""

    machine: int
    socket: int
    connect: int
    listen: int
    sendto: int
    sendmsg: int
    sendmmsg: int
    seccomp: int


MACHINES = {
    "x86_64": CallNumbers(0xC000003E, 41, 42, 50, 44, 46, 307, 317),
    "aarch64": CallNumbers(0xC00000B7, 198, 203, 201, 206, 211, 269, 277),
}
IO_URING_SETUP, X32 = 425, 0x40000000
AF_UNIX, AF_INET, SOCK_STREAM, SOCK_TYPES, IPPROTO_TCP, MSG_FASTOPEN = 1, 2, 1, 0xF, 6, 0x20000000
EACCES, ENOSYS, EAFNOSUPPORT = 13, 38, 97
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# Where the kernel's description of a call has its number, its machine, and its arguments.
NUMBER, MACHINE, ARGUMENTS = 0, 4, (16, 24, 32, 40)
ALLOW, NOTIFY, ERRNO, FILTER_MODE = 0x7FFF0000, 0x7FC00000, 0x00050000, 2
# Of seccomp: with a listener, whose answer only what kills a program interrupts.
SET_MODE_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 1 << 3, 1 << 5
# How many of the file system's rights each ABI knows.
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}


def abi() -> int:
    """The kernel's version of Landlock, 0 without it."""
    return max(0, int(syscall(CREATE_RULESET, None, 0, 1))) if sys.platform == "linux" else 0


def syscall(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))


def checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(option: int, value: int) -> None:
    checked(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0), "prctl")


def restrict(read: list[str], write: list[str], *, tcp: bool = True) -> None:
    """Only these from now on, for this process and all that come from it. `tcp`: whether it makes connections.

    :raises OSError: the kernel has no Landlock, or one that does not know TCP, or refuses
    """
    version = abi()
    if not version:
        raise OSError(ENOSYS, "This kernel has no Landlock")
    if not tcp and version < TCP_ABI:
        raise OSError(ENOSYS, "Landlock knows TCP from Linux 6.7 on")
    handled = (1 << RIGHTS.get(version, 16)) - 1
    connections = 0 if tcp else BIND_TCP | CONNECT_TCP
    attributes = struct.pack(
        "QQQ", handled, connections, SCOPE_SIGNALS | SCOPE_ABSTRACT_SOCKETS if version >= 6 else 0
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = checked(syscall(CREATE_RULESET, attributes[:size], size, 0), "landlock_create_ruleset")
    for paths, rights in ((read, READ), (write, handled)):
        for path in paths:
            allow(ruleset, path, rights & handled)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    checked(syscall(RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def drop_capabilities() -> None:
    """Root keeps its files but loses its powers, one of which reads the memory of others past Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24))


def allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= FOR_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        checked(syscall(ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule {path}")
    finally:
        os.close(descriptor)


def numbers() -> CallNumbers:
    """:raises OSError: not for this machine"""
    if platform.machine() not in MACHINES:
        raise OSError(ENOSYS, f"No filter of system calls for {platform.machine()}")
    return MACHINES[platform.machine()]


Steps = tuple[tuple[int, int, int, int], ...]
"""Steps of a program for the kernel's packet filter: what is done, how many steps are left out if it holds and if it
does not, and its operand."""
REFUSED, PASSED = (RETURN, 0, 0, ERRNO | EACCES), (RETURN, 0, 0, ALLOW)


def beginning(calls: CallNumbers) -> Steps:
    """Take away what could make sockets past a filter: io_uring, and the calls of other machines (32-bit programs). The
    number of the call is loaded after it."""
    absent = (RETURN, 0, 0, ERRNO | ENOSYS)
    return (
        (LOAD, 0, 0, MACHINE),
        (EQUAL, 1, 0, calls.machine),
        absent,
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 1, 0, X32),
        (EQUAL, 0, 1, IO_URING_SETUP),
        absent,
    )


def without_network(calls: CallNumbers) -> Steps:
    """`socket` for AF_UNIX only."""
    family = ((LOAD, 0, 0, ARGUMENTS[0]), (EQUAL, 0, 1, AF_UNIX), PASSED, REFUSED)
    return (*beginning(calls), (EQUAL, 1, 0, calls.socket), PASSED, *family)


def handing_over(calls: CallNumbers) -> Steps:
    """`connect` and `listen` wait for the answer of another process. No connection is made besides, as data that is
    sent at once could; a socket is of the file system or of TCP over IPv4."""
    waits = (RETURN, 0, 0, NOTIFY)
    steps: list[tuple[int, int, int, int]] = [*beginning(calls)]
    steps += [(EQUAL, 1, 0, calls.connect), (EQUAL, 0, 1, calls.listen), waits]
    for call, flags in ((calls.sendto, 3), (calls.sendmsg, 2), (calls.sendmmsg, 3)):
        steps += [(EQUAL, 0, 4, call), (LOAD, 0, 0, ARGUMENTS[flags]), (ANY_BIT, 0, 1, MSG_FASTOPEN)]
        steps += [REFUSED, PASSED]
    steps += [(EQUAL, 1, 0, calls.socket), PASSED]
    steps += [(LOAD, 0, 0, ARGUMENTS[0]), (EQUAL, 0, 1, AF_UNIX), PASSED]
    steps += [(EQUAL, 1, 0, AF_INET), (RETURN, 0, 0, ERRNO | EAFNOSUPPORT)]
    steps += [(LOAD, 0, 0, ARGUMENTS[1]), (AND, 0, 0, SOCK_TYPES), (EQUAL, 1, 0, SOCK_STREAM), REFUSED]
    steps += [(LOAD, 0, 0, ARGUMENTS[2]), (EQUAL, 1, 0, 0), (EQUAL, 0, 1, IPPROTO_TCP), PASSED, REFUSED]
    return tuple(steps)


class CallFilter(ctypes.Structure):
    """Filter in the shape that the kernel takes."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def call_filter(steps: Steps) -> CallFilter:
    return CallFilter(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))


def cut_network() -> None:
    """:raises OSError: the kernel or the machine has no filter of system calls"""
    libc = ctypes.CDLL(None, use_errno=True)
    filtering = call_filter(without_network(numbers()))
    checked(libc.prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.byref(filtering), 0, 0), "seccomp")


def hand_over() -> int:
    """:return: the descriptor from which another process takes the calls. :raises OSError: the kernel has no such"""
    calls, flags = numbers(), NEW_LISTENER | WAIT_KILLABLE
    filtering = call_filter(handing_over(calls))
    return checked(syscall(calls.seccomp, SET_MODE_FILTER, flags, ctypes.byref(filtering)), "seccomp")


def main() -> int:
    rules = json.loads(sys.argv[1])
    argv = sys.argv[3:]
    try:
        drop_capabilities()
        restrict(rules["read"], rules["write"])
        if not rules.get("network", True):
            cut_network()
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"landlock: {error}", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main())
