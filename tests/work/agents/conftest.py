"""Programs that write what the real ones wrote, on the PATH of a station."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.document.agents import PRESETS
from pipelines.work.handlers import agent
from pipelines.work.spec.agent_call import AgentCall
from pipelines.work.spec.handler_io import Attempt, ProcessLimits, Spec
from tests.work.agents.test_recordings import RECORDINGS
from tests.work.conftest import Collected


@dataclass
class Programs:
    """Programs of these names on the PATH of the station."""

    folder: Path
    attempt: Attempt

    def __call__(self, name: str, body: str) -> None:
        path = self.folder / name
        head = f"#!{sys.executable} -IS\nimport os, sys, time, json\n"
        show = f"def show(name): print(open({str(RECORDINGS)!r} + '/' + name + '.jsonl').read(), end='', flush=True)\n"
        path.write_text(head + show + body, "utf-8")
        path.chmod(0o755)

    def spec(self, preset: str, prompt: str = "Make made.txt", **more: Any) -> Spec:
        call = AgentCall(PRESETS[preset], **more)
        env = {"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8"}
        env["GATELINE_RESULT"] = str(self.attempt.result)
        return Spec(
            kind="agent",
            attempt=self.attempt,
            prompt=prompt,
            env=env,
            limits=ProcessLimits(grace=0.2, signal_grace=0.2),
            agent=call,
        )


@pytest.fixture
def program(tmp_path: Path, attempt: Attempt) -> Programs:
    folder = tmp_path / "bin"
    folder.mkdir()
    return Programs(folder, attempt)


async def ran(spec: Spec, sink: Collected) -> dict[str, Any]:
    outcome = await agent.run(spec, sink)
    read_outcome(outcome)
    return outcome
