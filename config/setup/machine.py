"""Requirements on this machine: a platform that the binaries exist for, and a free port."""

from __future__ import annotations

import errno
import platform
import socket
import sys

from config.setup.steps import SetupError

MACHINES = {"linux": {"x86_64", "aarch64"}, "darwin": {"x86_64", "arm64"}}


def check_platform() -> None:
    """SetupError where our locked packages have no binaries."""
    machine = platform.machine()
    if machine not in MACHINES.get(sys.platform, set()):
        raise SetupError(
            f"There are no binaries of the embedded PostgreSQL for {sys.platform} on {machine}.",
            "Gateline runs on Linux (x86_64, aarch64; glibc) and macOS; on Windows use WSL.",
        )
    if sys.platform == "linux" and platform.libc_ver()[0] != "glibc":
        raise SetupError(
            "This Linux has no glibc (Alpine has musl), and the binaries that Gateline needs are built on it.",
            "Use a distribution with glibc: Debian, Ubuntu, Fedora, or an image such as python:3.13-slim.",
        )
    if sys.maxsize < 2**32:
        raise SetupError("This Python is a 32-bit one.", "Use a 64-bit Python 3.11 to 3.13.")


def check_port(host: str, port: int) -> None:
    """SetupError if somebody else listens there, or if we may not."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(kind, socket.SOCK_STREAM) as probe:
        # Connections of a server that has just stopped (TIME_WAIT) do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SetupError(
                _port_fault(error, host, port), f"Take another port: make run PORT={port + 1}"
            ) from error


def _port_fault(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use: another program, perhaps another Gateline, listens on {host}."
    if error.errno == errno.EACCES:
        return f"Port {port} needs rights that this user does not have."
    return f"Gateline cannot listen on {host}:{port}: {error.strerror}."
