"""Filters of system calls (seccomp) for stations: what none asks of the kernel, under every isolation. Also a script,
standard library only, an argv prefix.

    call_filter.py NAMESPACES -- bwrap …       NAMESPACES: permitted or refused
    call_filter.py offline -- command …

Starts bubblewrap with its filter, which holds for the station and not for what bubblewrap itself sets up; or a command
without network. Landlock puts its own in place (`landlock.py`, `landlock_hosts.py`).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from contextlib import suppress
from typing import NamedTuple

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38


class CallNumbers(NamedTuple):
    """Numbers of a machine: its own for the kernel's audit, and those of system calls. `kernel`: keyctl and its
    companions, bpf, syslog, perf_event_open, userfaultfd. `shared`: memory, semaphores and messages that stay."""

    machine: int
    socket: int
    connect: int
    listen: int
    sendto: int
    sendmsg: int
    sendmmsg: int
    seccomp: int
    clone: int
    unshare: int
    setns: int
    prlimit: int
    kernel: tuple[int, ...]
    shared: tuple[int, ...]


MACHINES = {
    "x86_64": CallNumbers(
        # AUDIT_ARCH_X86_64, then numbers in the order of the fields above
        *(0xC000003E, 41, 42, 50, 44, 46, 307, 317, 56, 272, 308, 302),
        kernel=(248, 249, 250, 321, 103, 298, 323),
        shared=(29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 220, 240, 241),
    ),
    "aarch64": CallNumbers(
        # AUDIT_ARCH_AARCH64, then the same order
        *(0xC00000B7, 198, 203, 201, 206, 211, 269, 277, 220, 97, 268, 261),
        kernel=(217, 218, 219, 280, 116, 241, 282),
        shared=(*range(186, 197), 180, 181),
    ),
}
# The same on both machines; X32 is the bit in the numbers of x86-64's second set of calls
IO_URING_SETUP, CLONE3, X32 = 425, 435, 0x40000000
NAMESPACES = 0x7E020000
"""Flags of `clone` that make a namespace: mounts, cgroup, names, IPC, users, processes, network."""
FAMILIES = AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SOCK_STREAM, SOCK_TYPES, IPPROTO_TCP, MSG_FASTOPEN = 1, 0xF, 6, 0x20000000
EPERM, EACCES, ENOSYS, EAFNOSUPPORT = 1, 13, 38, 97
# Of the classic packet filter: ld abs, jeq, jge, jset, and, ret
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# Where the kernel's description of a call has its number, its machine, and its arguments.
NUMBER, MACHINE, ARGUMENTS = 0, 4, (16, 24, 32, 40)
# SECCOMP_RET_ALLOW, _USER_NOTIF and _ERRNO, whose low bits are the errno; SECCOMP_MODE_FILTER
ALLOW, NOTIFY, ERRNO, FILTER_MODE = 0x7FFF0000, 0x7FC00000, 0x00050000, 2
# Of seccomp: with a listener, whose answer only what kills a program interrupts.
SET_MODE_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 1 << 3, 1 << 5


def call_kernel(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))


def checked_result(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def machine_call_numbers() -> CallNumbers:
    """:raises OSError: not for this machine"""
    if platform.machine() not in MACHINES:
        raise OSError(ENOSYS, f"No filter of system calls for {platform.machine()}")
    return MACHINES[platform.machine()]


Steps = tuple[tuple[int, int, int, int], ...]
"""Steps of a program for the kernel's packet filter: what is done, how many steps are left out if it holds and if it
does not, and its operand."""
REFUSED, PASSED = (RETURN, 0, 0, ERRNO | EACCES), (RETURN, 0, 0, ALLOW)
FORBIDDEN, ABSENT, NO_FAMILY = ((RETURN, 0, 0, ERRNO | number) for number in (EPERM, ENOSYS, EAFNOSUPPORT))


def steps_against_bypass(calls: CallNumbers) -> Steps:
    """Take away what could make sockets past a filter: io_uring, and the calls of other machines (32-bit programs). The
    number of the call is loaded after it."""
    return (
        (LOAD, 0, 0, MACHINE),
        (EQUAL, 1, 0, calls.machine),
        ABSENT,
        (LOAD, 0, 0, NUMBER),
        # Jumps over the next test, to ABSENT
        (AT_LEAST, 1, 0, X32),
        (EQUAL, 0, 1, IO_URING_SETUP),
        ABSENT,
    )


def steps_refusing_calls(calls: CallNumbers, *, namespaces: bool, outside: bool) -> Steps:
    """Refuse what no station needs, and an attack does: keyrings, bpf, and sockets but those of files, IPv4 and IPv6.

    :param namespaces: whether it also makes and enters none; without `clone3`, whose flags cannot be seen, libraries
        take `clone`
    :param outside: whether it also shares no memory beyond its processes and sets no limits of others, as where it has
        no namespace of its own"""
    forbidden = [*calls.kernel, *(calls.shared if outside else ())]
    forbidden += [calls.unshare, calls.setns] if namespaces else []
    steps: list[tuple[int, int, int, int]] = [*steps_against_bypass(calls)]
    steps += [step for call in forbidden for step in ((EQUAL, 0, 1, call), FORBIDDEN)]
    if namespaces:
        steps += [(EQUAL, 0, 1, CLONE3), ABSENT, (EQUAL, 0, 4, calls.clone), (LOAD, 0, 0, ARGUMENTS[0])]
        steps += [(ANY_BIT, 0, 1, NAMESPACES), FORBIDDEN, PASSED]
    if outside:
        steps += [
            (EQUAL, 0, 4, calls.prlimit),
            (LOAD, 0, 0, ARGUMENTS[0]),
            # Process 0 is the caller itself, whose own limits it may set
            (EQUAL, 1, 0, 0),
            FORBIDDEN,
            PASSED,
        ]
    steps += [(EQUAL, 1, 0, calls.socket), PASSED, (LOAD, 0, 0, ARGUMENTS[0])]
    # Each family jumps over the remaining ones and NO_FAMILY, to PASSED
    return (*steps, *((EQUAL, 3 - n, 0, family) for n, family in enumerate(FAMILIES)), NO_FAMILY, PASSED)


def network_refusal_steps(calls: CallNumbers) -> Steps:
    """Permit `socket` for AF_UNIX only."""
    family = ((LOAD, 0, 0, ARGUMENTS[0]), (EQUAL, 0, 1, AF_UNIX), PASSED, REFUSED)
    return (*steps_against_bypass(calls), (EQUAL, 1, 0, calls.socket), PASSED, *family)


def steps_handing_calls_to_other_process(calls: CallNumbers) -> Steps:
    """Make `connect` and `listen` wait for the answer of another process. No connection is made besides, as data that
    is sent at once could; a socket is of the file system or of TCP over IPv4."""
    waits = (RETURN, 0, 0, NOTIFY)
    steps: list[tuple[int, int, int, int]] = [*steps_against_bypass(calls)]
    steps += [(EQUAL, 1, 0, calls.connect), (EQUAL, 0, 1, calls.listen), waits]
    # `flags`: which argument has them; with MSG_FASTOPEN a send connects, too
    for call, flags in ((calls.sendto, 3), (calls.sendmsg, 2), (calls.sendmmsg, 3)):
        steps += [(EQUAL, 0, 4, call), (LOAD, 0, 0, ARGUMENTS[flags]), (ANY_BIT, 0, 1, MSG_FASTOPEN)]
        steps += [REFUSED, PASSED]
    steps += [(EQUAL, 1, 0, calls.socket), PASSED]
    steps += [(LOAD, 0, 0, ARGUMENTS[0]), (EQUAL, 0, 1, AF_UNIX), PASSED]
    steps += [(EQUAL, 1, 0, AF_INET), NO_FAMILY]
    # SOCK_CLOEXEC and SOCK_NONBLOCK are in the same argument as the type
    steps += [(LOAD, 0, 0, ARGUMENTS[1]), (AND, 0, 0, SOCK_TYPES), (EQUAL, 1, 0, SOCK_STREAM), REFUSED]
    steps += [(LOAD, 0, 0, ARGUMENTS[2]), (EQUAL, 1, 0, 0), (EQUAL, 0, 1, IPPROTO_TCP), PASSED, REFUSED]
    return tuple(steps)


class CallFilter(ctypes.Structure):
    """Filter in the shape that the kernel takes."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def call_filter(steps: Steps) -> CallFilter:
    return CallFilter(len(steps), packed_filter(steps))


def packed_filter(steps: Steps) -> bytes:
    # struct sock_filter: code, jump if true, jump if false, operand
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def install_filter(steps: Steps) -> None:
    """Put a filter over this process and all that come from it. :raises OSError: the kernel has none"""
    libc, filtering = ctypes.CDLL(None, use_errno=True), call_filter(steps)
    checked_result(libc.prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.byref(filtering), 0, 0), "seccomp")


def refuse_needless_calls() -> None:
    """Refuse what no station behind Landlock needs, on the machines whose calls are known."""
    if platform.machine() in MACHINES:
        install_filter(steps_refusing_calls(machine_call_numbers(), namespaces=True, outside=True))


def cut_network() -> None:
    """:raises OSError: the kernel or the machine has no filter of system calls"""
    install_filter(network_refusal_steps(machine_call_numbers()))


def go_offline() -> None:
    """Cut the network where the kernel can: a command that asks for none does without the filter elsewhere."""
    if sys.platform == "linux" and platform.machine() in MACHINES:
        with suppress(OSError):
            checked_result(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
            cut_network()


def hand_calls_over_and_return_descriptor() -> int:
    """:return: the descriptor from which another process takes the calls. :raises OSError: the kernel has no such"""
    calls, flags = machine_call_numbers(), NEW_LISTENER | WAIT_KILLABLE
    filtering = call_filter(steps_handing_calls_to_other_process(calls))
    return checked_result(
        call_kernel(calls.seccomp, SET_MODE_FILTER, flags, ctypes.byref(filtering)), "seccomp"
    )


def main() -> int:
    namespaces, argv = sys.argv[1] == "refused", sys.argv[3:]
    if sys.argv[1] == "offline":
        go_offline()
    elif platform.machine() in MACHINES:
        # Flags 0, without close-on-exec: bubblewrap reads the filter from it
        filtering = os.memfd_create("filter", 0)
        os.write(
            filtering,
            packed_filter(steps_refusing_calls(machine_call_numbers(), namespaces=namespaces, outside=False)),
        )
        os.lseek(filtering, 0, os.SEEK_SET)
        argv[1:1] = ["--seccomp", str(filtering)]
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"{argv[0]}: {error}", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main())
