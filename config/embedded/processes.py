"""Checks that a pid is alive and ours: pids are used again, and a zombie is not alive."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

A_MOMENT = 0.25
EXEC_SECONDS = 2.0
PROC = Path("/proc") if sys.platform == "linux" else None


def is_postmaster(pid: int, data: Path) -> bool:
    """True if the process lives, is no zombie, and its command line names this data folder."""
    deadline = time.monotonic() + EXEC_SECONDS
    while True:
        state, command = _process_state_and_command(pid)
        # Z is a zombie, X a process that is being removed.
        if not state or state in "ZX":
            return False
        # A process that becomes another program (execve) has no command line for a moment.
        if any(command) or time.monotonic() > deadline:
            return str(data) in command
        time.sleep(0.01)


def has_ended_within(pid: int, seconds: float) -> bool:
    """Return True when the process has ended, and False after `seconds`. Where the system does not tell of an end: True
    after a moment, for the caller to look."""
    try:
        watched = os.pidfd_open(pid)
    # No pidfd_open on this system, or the process has ended already
    except (AttributeError, OSError):
        time.sleep(A_MOMENT)
        return True
    try:
        return bool(select.select([watched], [], [], seconds)[0])
    finally:
        os.close(watched)


def processes_in_folder(data: Path) -> list[int]:
    """Processes whose working folder is the data folder: what a killed postmaster leaves behind for a moment, and
    the postmaster itself. Empty where the system does not tell."""
    if PROC is None:
        return []
    workers = []
    for entry in PROC.iterdir():
        if entry.name.isdigit() and _is_working_in(entry, data):
            workers.append(int(entry.name))
    return workers


def _is_working_in(entry: Path, data: Path) -> bool:
    try:
        return os.readlink(entry / "cwd") == str(data)
    except OSError:  # gone, or somebody else's
        return False


def _process_state_and_command(pid: int) -> tuple[str, list[str]]:
    """The letter of ps for the process's state and its command line, or an empty letter."""
    if PROC is None:
        answer = subprocess.run(
            ["ps", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True
        ).stdout
        words = answer.split()
        return (words[0][0], words[1:]) if words else ("", [])
    try:
        # The name in parentheses may hold anything: what counts comes after the last one.
        state = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
        command = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except (OSError, IndexError):
        return "", []
    return state, command
