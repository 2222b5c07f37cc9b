"""Drawings of lines, made by a Node process from the same code as the canvas (static/editor/shown/server.ts): a picture
in, geometry and SVG out. It has no network and reads no file but its program; it is started when there is something to
draw, and ends by itself after a rest."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from django.conf import settings

from pipelines.work.processes.meter import TICKS, process_figures

PROGRAM = Path(settings.BASE_DIR) / "static" / "dist" / "server" / "drawing.mjs"
OFFLINE = Path(__file__).parent / "processes" / "call_filter.py"
MEMORY_MB = 512
SECONDS = 10.0
"""Of the processor, for one picture, by the thread that draws."""
REST_SECONDS = 10.0
"""Longer than between two drawings of a batch; an idle product does not carry its memory."""
MAX_WAIT_SECONDS = 120.0
"""On a machine that is busy with other things."""
MAX_BYTES = 64 * 1024 * 1024


class NotDrawn(Exception):
    """The picture cannot be drawn, or took too long."""


@lru_cache(maxsize=1)
def path_of_node_program_or_empty() -> str:
    """Return the Node of set-up, else the system's; "" where there is none, or no program for it."""
    installed = Path(sys.executable).parent / "node"
    # That of set-up first: the system may have another version
    path = str(installed) if installed.is_file() else shutil.which("node")
    return path if path and PROGRAM.is_file() else ""


class Drawer:
    """Process that draws all pictures, one after the other. `rest`: seconds without work after which it ends."""

    def __init__(self, rest: float = REST_SECONDS) -> None:
        self._rest = rest
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def drawings_wide_and_narrow(self, picture: Mapping[str, Any]) -> dict[str, Any]:
        """Return `{wide, narrow}`, each with its `geometry` and `svg`. :raises NotDrawn: with the reason"""
        request = json.dumps(picture).encode() + b"\n"
        with self._lock:
            try:
                answer = self._answer_of_drawing_process(request)
            except BrokenPipeError:
                # Its minute was over just now
                self.stop()
                answer = self._answer_of_drawing_process(request)
        if "error" in answer:
            raise NotDrawn(answer["error"])
        return answer

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _answer_of_drawing_process(self, request: bytes) -> dict[str, Any]:
        process = self._running_process()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(request)
        process.stdin.flush()
        begin, used = time.monotonic(), _processor_seconds(process)
        answer = bytearray()
        while not answer.endswith(b"\n"):
            # Not readline: a program that writes nothing would hold this process for ever
            if select.select([process.stdout], [], [], 0.25)[0]:
                part = os.read(process.stdout.fileno(), 1 << 20)
                if not part:
                    raise BrokenPipeError
                answer += part
            late = time.monotonic() - begin > MAX_WAIT_SECONDS
            if late or len(answer) > MAX_BYTES or _processor_seconds(process) - used > SECONDS:
                self.stop()
                raise NotDrawn("The line is too large to be drawn.")
        result: dict[str, Any] = json.loads(answer)
        return result

    def _running_process(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._process = subprocess.Popen(
                [
                    *(
                        sys.executable,
                        "-I",
                        "-S",
                        str(OFFLINE),
                        "offline",
                        "--",
                        path_of_node_program_or_empty(),
                    ),
                    *("--experimental-permission", f"--allow-fs-read={PROGRAM}"),
                    *(f"--max-old-space-size={MEMORY_MB}", str(PROGRAM), str(int(self._rest * 1000))),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # It draws and needs nothing: no secret of this process is passed on
                env={},
            )
            # Ended by itself, it would stay a zombie until the next drawing if nobody waited for it
            Thread(target=self._process.wait, name="drawing-end", daemon=True).start()
        return self._process


def _processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return those of the thread that draws, 0 where the system does not say."""
    # What Node compiles and clears beside it depends on how busy the machine is, and is half as much again
    return process_figures(process.pid, main_thread=True).get("ticks", 0) / TICKS
