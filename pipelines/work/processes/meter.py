"""Measures what the processes below a supervisor use: standard library only, read from /proc.

Watching works for every user and counts all processes together. The kernel's own limits (setrlimit) count each process
alone, or all of a user's on the whole machine, and do not bind root."""

from __future__ import annotations

import errno
import os
import resource
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

TICK_SECONDS = 0.1
DISK_SECONDS = 0.5
# A measurement that takes long is repeated less often: it may cost a twentieth of a processor.
SPARING = 20
TICKS = os.sysconf("SC_CLK_TCK")
CPU, MEMORY, PROCESSES, DISK = "cpu", "memory", "processes", "disk"
# A process has a few threads; so many more per process are a way around the limit.
THREADS_PER_PROCESS = 16


@dataclass
class ResourceMeter:
    """`limits`: {cpu_seconds, memory_bytes, processes, disk_bytes, folder}; nothing is measured without them.
    `wrappers`: processes above the command that are not its own (bubblewrap's)."""

    limits: dict[str, Any]
    wrappers: int = 0
    _next: float = 0.0
    _over: bool = False
    _due: dict[str, float] = field(default_factory=dict)

    def limit_exceeded_now_or_empty(self) -> str:
        """The first limit that is exceeded now, of those whose turn it is; "" if none is."""
        now = time.monotonic()
        if now < self._next:
            return ""
        self._next = now + TICK_SECONDS / 2
        pids = descendant_pids(os.getpid())
        checks = (
            (PROCESSES, self._are_processes_too_many),
            (CPU, self._is_processor_time_exceeded),
            (MEMORY, self._is_memory_exceeded),
            (DISK, self._is_disk_exceeded),
        )
        return next((name for name, check in checks if self._is_exceeded_if_due(name, check, pids)), "")

    def limit_exceeded_at_end_or_empty(self) -> str:
        """Return the limit exceeded by processes of the command that ended before they could be measured."""
        if self._is_processor_time_exceeded([]):
            return CPU
        return DISK if self._is_disk_exceeded([]) else ""

    def _is_exceeded_if_due(self, name: str, check: Any, pids: list[int]) -> bool:
        began = time.monotonic()
        if began < self._due.get(name, 0):
            return False
        is_over: bool = check(pids)
        ended = time.monotonic()
        least = DISK_SECONDS if name == DISK else TICK_SECONDS
        # A look that takes long, as of a large folder, comes seldom: measuring must not be the load
        self._due[name] = ended + max(least / 2, SPARING * (ended - began))
        return is_over

    def _are_processes_too_many(self, pids: list[int]) -> bool:
        most = int(self.limits["processes"])
        if len(pids) - self.wrappers > most:
            return True
        return (
            sum(process_figures(pid).get("threads", 0) for pid in pids)
            > THREADS_PER_PROCESS * most + self.wrappers
        )

    def _is_processor_time_exceeded(self, pids: list[int]) -> bool:
        done = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = (
            done.ru_utime + done.ru_stime + sum(process_figures(pid).get("ticks", 0) for pid in pids) / TICKS
        )
        return used >= float(self.limits["cpu_seconds"])

    def _is_memory_exceeded(self, pids: list[int]) -> bool:
        """Pages that processes share count once; that is slow to find out, so only where it matters. Twice in a row:
        while processes fork, a shared page may count in full for several of them."""
        most = int(self.limits["memory_bytes"])
        roughly = sum(sum_of_lines(f"/proc/{pid}/status", "RssAnon", "RssShmem") for pid in pids)
        exact = 0
        if roughly > most:
            exact = (
                # Where the kernel does not tell it, the rough sum counts
                sum(sum_of_lines(f"/proc/{pid}/smaps_rollup", "Pss_Anon", "Pss_Shmem") for pid in pids)
                or roughly
            )
        before, self._over = self._over, exact > most
        return before and self._over

    def _is_disk_exceeded(self, pids: list[int]) -> bool:
        used = sum(
            size
            for _, size in {
                **dict(file_sizes(self.limits["folder"])),
                **dict(unlinked_file_sizes(pids)),
            }.items()
        )
        return used >= int(self.limits["disk_bytes"])


def descendant_pids(root: int) -> list[int]:
    """Every process below `root`."""
    pids: list[int] = []
    level = [root]
    while level:
        level = [child for pid in level for child in child_pids(pid)]
        pids += level
    return pids


def child_pids(pid: int) -> list[int]:
    child_pids: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            child_pids += map(int, read_or_empty(f"/proc/{pid}/task/{thread}/children").split())
    except OSError:
        pass  # it has ended
    return child_pids


def read_or_empty(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def process_figures(pid: int, *, main_thread: bool = False) -> dict[str, int]:
    """`ticks` of processor time, its ended children included, and `threads`; {} of a process that has ended.

    :param main_thread: its time alone
    """
    folder = f"/proc/{pid}/task/{pid}" if main_thread else f"/proc/{pid}"
    # Behind the last `)`: the name before it may itself hold spaces and brackets
    fields = read_or_empty(f"{folder}/stat").rpartition(b")")[2].split()
    if len(fields) < 18:
        return {}
    # utime, stime, cutime, cstime (fields 14 to 17 of proc(5)) and num_threads (20)
    return {"ticks": sum(map(int, fields[11:15])), "threads": int(fields[17])}


def sum_of_lines(path: str, *names: str) -> int:
    """The sum, in bytes, of the lines `Name:  123 kB` with these names."""
    total = 0
    for line in read_or_empty(path).splitlines():
        name, _, value = line.partition(b":")
        if name.decode() in names:
            total += int(value.split()[0]) * 1024
    return total


def file_sizes(folder: str) -> Iterator[tuple[tuple[int, int], int]]:
    """((device, inode), bytes) of every file below the folder, no link followed: a hard link counts once."""
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield inode_and_size(entry.stat(follow_symlinks=False))
        except OSError as error:
            # Below a path that the system does not take any number of files could lie uncounted
            if error.errno == errno.ENAMETOOLONG:
                yield (0, 0), sys.maxsize
            continue  # it was removed meanwhile, or cannot be read


def unlinked_file_sizes(pids: list[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """Files without a name that a process still holds open: they fill the disk, or the memory, all the same."""
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            try:
                file_stat = os.stat(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if stat.S_ISREG(file_stat.st_mode) and file_stat.st_nlink == 0:
                yield inode_and_size(file_stat)


def inode_and_size(file_stat: os.stat_result) -> tuple[tuple[int, int], int]:
    # A sparse file takes less than its size, a small one more: the larger number counts
    return (file_stat.st_dev, file_stat.st_ino), max(file_stat.st_size, file_stat.st_blocks * 512)


def set_resource_limits(limits: dict[str, Any]) -> None:
    """Set the kernel's limits for each process: in the process that becomes the command, before it does."""
    # One more than the meter's, which ends the station at the limit itself
    cpu = int(limits["cpu_seconds"]) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, int(limits["disk_bytes"])),
        (resource.RLIMIT_NOFILE, int(limits["open_files"])),
        (resource.RLIMIT_CORE, 0),
    ):
        # A limit that the worker itself is under cannot be raised
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    try:
        # Where the machine runs out of memory, the kernel ends the station and not the database.
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("800")
    except OSError:
        pass  # not on Linux
