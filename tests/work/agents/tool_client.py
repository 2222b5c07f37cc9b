"""A program `claude` that calls the tools of its task as the real one does: by the servers that it is told of."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pipelines.models import Job
from tests.work.driving import text_of

MARK = "ANSWER "
HEAD = f"""#!{sys.executable} -IS
import json, os, subprocess, sys, time
told = sys.stdin.read()
told_servers = json.load(open(sys.argv[sys.argv.index("--mcp-config") + 1])) if "--mcp-config" in sys.argv else None
class Client:
    def __init__(self):
        server = told_servers["mcpServers"]["gateline"]
        pipes = {{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}}
        self.pipe, self.number = subprocess.Popen([server["command"], *server["args"]], **pipes), 0
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={{}},
                 clientInfo={{"name": "stub", "version": "1"}})
        self.send({{"jsonrpc": "2.0", "method": "notifications/initialized"}})
    def send(self, message):
        self.pipe.stdin.write(json.dumps(message) + "\\n")
        self.pipe.stdin.flush()
    def ask(self, method, **params):
        self.number += 1
        self.send({{"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}})
        return json.loads(self.pipe.stdout.readline())
    def call(self, name, **arguments):
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        print("{MARK}" + json.dumps([name, result.get("isError", False), result.get("structuredContent"),
              result["content"][0]["text"]]), flush=True)
        return result
def end(words="Done."):
    print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s1"}}))
    print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": words,
          "session_id": "s1", "usage": {{}}, "total_cost_usd": 0.01}}), flush=True)
"""


def write_program(folder: Path, body: str, name: str = "claude") -> str:
    """On the PATH of stations, which is returned."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(HEAD + body)
    (folder / name).chmod(0o755)
    return str(folder)


def answers(job: Job) -> list[tuple[str, bool, Any, str]]:
    """(tool, whether it was refused, its answer, the same as text) of each call, in their order."""
    lines = [line.partition(MARK)[2] for line in text_of(job).splitlines() if MARK in line]
    return [tuple(json.loads(line)) for line in lines]  # type: ignore[misc]
