"""Fence this process with Landlock, then become the command: a script, standard library only, an argv prefix.

    landlock.py RULES -- argv…       RULES: JSON {"read": [path], "write": [path], "network": true or false}

What is not listed can neither be read nor written; memory, environment and descriptors of processes outside cannot be
read (Landlock guards ptrace), and from ABI 6 on they cannot be signalled. It does not close the way to a socket in the
file system: the database's asks for a password (house §5). Without "network" no other socket can be made: a filter of
system calls (seccomp), since Landlock itself knows TCP only.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import stat
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 24, 38
CAPABILITY_VERSION_3 = 0x20080522
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
# {machine: (its number for the kernel's audit, its system call `socket`)}
MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
IO_URING_SETUP, X32 = 425, 0x40000000
AF_UNIX, EACCES, ENOSYS = 1, 13, 38
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, ERRNO, FILTER_MODE = 0x7FFF0000, 0x00050000, 2
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


def restrict(read: list[str], write: list[str]) -> None:
    """Only these from now on, for this process and all that come from it.

    :raises OSError: the kernel has no Landlock, or refuses
    """
    version = abi()
    if not version:
        raise OSError(38, "This kernel has no Landlock")
    handled = (1 << RIGHTS.get(version, 16)) - 1
    attributes = struct.pack("QQQ", handled, 0, SCOPE_SIGNALS | SCOPE_ABSTRACT_SOCKETS if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = checked(syscall(CREATE_RULESET, attributes[:size], size, 0), "landlock_create_ruleset")
    for paths, rights in ((read, READ), (write, handled)):
        for path in paths:
            allow(ruleset, path, rights & handled)
    checked(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
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


def network_filter() -> bytes:
    """A program of the kernel's packet filter, run at each system call: `socket` for AF_UNIX only. What could make
    sockets past it is not there: io_uring, and the calls of other machines (32-bit programs).

    :raises OSError: not for this machine"""
    if platform.machine() not in MACHINES:
        raise OSError(ENOSYS, f"No filter of system calls for {platform.machine()}")
    machine, socket = MACHINES[platform.machine()]
    absent, refused = ERRNO | ENOSYS, ERRNO | EACCES
    steps = (
        (LOAD, 0, 0, 4),  # the machine
        (EQUAL, 1, 0, machine),
        (RETURN, 0, 0, absent),
        (LOAD, 0, 0, 0),  # the number of the call
        (AT_LEAST, 1, 0, X32),
        (EQUAL, 0, 1, IO_URING_SETUP),
        (RETURN, 0, 0, absent),
        (EQUAL, 0, 2, socket),
        (LOAD, 0, 0, 16),  # its first argument
        (EQUAL, 0, 1, AF_UNIX),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, refused),
    )
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def cut_network() -> None:
    """:raises OSError: the kernel or the machine has no filter of system calls"""
    steps = network_filter()
    kept = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HP", len(steps) // 8, ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    checked(libc.prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.c_char_p(program), 0, 0), "seccomp")


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
