"""Probes for what this machine, or the container around a worker, forbids of that by which stations are kept apart."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from typing import Final

from pipelines.work.processes import call_filter, landlock, landlock_hosts
from pipelines.work.processes.isolation import Isolation

SECCOMP_GET_NOTIF_SIZES: Final = 3
# Linux 6.7, which knows TCP
LANDLOCK_WITH_TCP: Final = 4


def forbidden_notices(isolation: Isolation) -> list[str]:
    """Say in one sentence what is forbidden here, and what stations miss by it; nothing where nothing is missed."""
    if sys.platform != "linux" or isolation.limits_hosts or isolation.name == "prefix":
        return []
    names = ["user namespaces", *_forbidden_names()] if isolation.name != "bubblewrap" else _forbidden_names()
    missed = (
        "nothing keeps stations apart, or to a list of hosts."
        if isolation.name == "none"
        else "stations with a list of hosts, such as those of coding agents, do not start here."
    )
    causes = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))) or "what a list of hosts takes"
    return [f"This machine, or the container around it, forbids {causes}: {missed}"]


def _forbidden_names() -> list[str]:
    return [name for name, is_permitted in PROBES if not is_permitted()]


def _has_landlock() -> bool:
    return landlock.landlock_version_or_zero() >= LANDLOCK_WITH_TCP


def _can_hand_sockets_over() -> bool:
    """Look at a descriptor of this very process, which nothing but a filter of calls refuses."""
    process = os.pidfd_open(os.getpid())
    try:
        # Itself: it is a descriptor that is certainly there
        return _is_permitted(lambda: _copy_descriptor(process))
    finally:
        os.close(process)


def _copy_descriptor(process: int) -> None:
    number = call_filter.call_kernel(landlock_hosts.PIDFD_GETFD, process, ctypes.c_int(process), 0)
    os.close(call_filter.checked_result(number, "pidfd_getfd"))


def _can_hand_calls_over() -> bool:
    sizes, number = ctypes.create_string_buffer(6), call_filter.machine_call_numbers().seccomp
    return _is_permitted(
        lambda: call_filter.checked_result(
            call_filter.call_kernel(number, SECCOMP_GET_NOTIF_SIZES, 0, sizes), "seccomp"
        )
    )


def _is_permitted(call: Callable[[], object]) -> bool:
    try:
        call()
        return True
    except OSError as error:
        return error.errno not in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP)


PROBES: Final = (
    ("Landlock with TCP (Linux 6.7)", _has_landlock),
    ("pidfd_getfd", _can_hand_sockets_over),
    ("seccomp with notifications", _can_hand_calls_over),
)
