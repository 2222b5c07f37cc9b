"""Limits on how much of the machine a station may use, and the sentences for an exceeded limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

MIB = 1024 * 1024
OPEN_FILES = 4096


@dataclass(frozen=True)
class Resources:
    """Resource limits of one running station, all its processes together. The keys are those of the line
    document."""

    cpu_seconds: int = 4 * 3600
    memory_mb: int = 4096
    processes: int = 512
    disk_mb: int = 4096

    def with_limits_of_station(self, own: Mapping[str, int]) -> Resources:
        """Return the limits with the station's own applied."""
        known = asdict(self)
        return replace(self, **{key: value for key, value in own.items() if key in known})

    def limits_for_supervisor(self, attempt: Path) -> dict[str, Any]:
        """Return the limits in the form that the supervisor reads. `attempt`: the folder whose files count."""
        return {
            "cpu_seconds": self.cpu_seconds,
            "memory_bytes": self.memory_mb * MIB,
            "processes": self.processes,
            "disk_bytes": self.disk_mb * MIB,
            "open_files": OPEN_FILES,
            "folder": str(attempt),
        }

    def exceeded_message(self, limit: str) -> str:
        """A sentence for the limit that the supervisor names."""
        words = {
            "cpu": f"more than {self.cpu_seconds} s of processor time (cpu_seconds)",
            "memory": f"more than {self.memory_mb} MB of memory (memory_mb)",
            "processes": f"more than {self.processes} processes (processes)",
            "disk": f"more than {self.disk_mb} MB of disk (disk_mb)",
        }
        return f"Stopped: the station used {words[limit]}. Raise the limit in its resources if it needs more."


DEFAULT = Resources()


def parsed_resources(words: Mapping[str, str]) -> Resources:
    """Parse the limits of a setting: {"memory_mb": "2048"}. Raises ValueError: an unknown name, or no whole
    number from 1 on."""
    known = asdict(DEFAULT)
    for name, value in words.items():
        if name not in known:
            raise ValueError(f"“{name}” is not one of {', '.join(known)}")
        # Digits of other scripts and ² are digits to Python as well
        if not (value.isascii() and value.isdigit() and int(value) > 0):
            raise ValueError(f"{name} is “{value}”, not a whole number from 1 on")
    return DEFAULT.with_limits_of_station({name: int(value) for name, value in words.items()})
