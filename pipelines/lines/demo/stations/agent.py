"""agent-station: any coding agent's command-line program, with the prompt on its standard input."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import Any

from .report import StationError, StationReport, parse_arguments, question_signals
from .text import cut_with_ellipsis, one_line

LONGEST = 200_000  # characters of an answer that go on to the next station
FENCE = re.compile(r"^```json[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
HOW = (
    "Set AGENT_COMMAND in the environment of the worker to the command line of a coding agent that reads a prompt "
    "from standard input and writes its answer to standard output, and start the worker again."
)


def main() -> StationReport:
    options = parse_arguments(
        "Hand the prompt on standard input to the agent in GATELINE_AGENT_COMMAND.",
        key={"required": True},
        scripted={"action": "store_true", "help": "without an agent answer by a script, which says so"},
    )
    try:
        command = shlex.split(os.environ.get("GATELINE_AGENT_COMMAND", ""))
    except ValueError as error:
        return report_of_missing_agent(f"The agent's command cannot be read: {error}.")
    if not command and options.scripted:
        return scripted_report(options.key, sys.stdin.read())
    if not command:
        return report_of_missing_agent("No agent is set up on this worker.")
    if shutil.which(command[0]) is None:
        return report_of_missing_agent(f"The agent's program {command[0]} is not on this worker.")
    text, code = run_agent_and_return_output_and_exit_code(command)
    # Negative where a signal ended it
    if code:
        raise StationError(
            f"The agent ended with {code}: {cut_with_ellipsis(one_line(text[-2000:]))}", "agent", abs(code)
        )
    if not text.strip():
        raise StationError("The agent answered nothing.", "agent")
    value = json_value_or_whole_text(text, options.key)
    spoken = value if isinstance(value, str) else json.dumps(value)
    return StationReport(cut_with_ellipsis(one_line(spoken), 200), output={options.key: value})


def scripted_report(key: str, prompt: str) -> StationReport:
    """Answer in place of an agent, so that the line can be watched before one is set up. The answer says so."""
    why = f"Written by a script: no agent is set up on this worker, so there is no real {key}."
    quoted_prompt = "\n".join(
        f"> {line}".rstrip() for line in cut_with_ellipsis(prompt.strip(), 2000).splitlines()
    )
    text = f"{why} {HOW}\n\nAn agent would have been asked:\n\n{quoted_prompt}"
    print(text, flush=True)
    return StationReport(f"{why} {HOW}", output={key: text})


def report_of_missing_agent(why: str) -> StationReport:
    return StationReport(
        f"{why} {HOW}",
        verdict="blocked",
        exit_code=78,  # EX_CONFIG
        failure_type="not_configured",
        blockers=[{"title": why, "description": HOW}],
        signals=question_signals(f"{why} {HOW} The station runs again when you answer. Is it done?"),
    )


def run_agent_and_return_output_and_exit_code(command: list[str]) -> tuple[str, int]:
    """Run the agent; return what it writes, copied to the log as it comes, and its exit code.

    Its lines are not marked as a stranger's: the signals of an agent are meant to be heard.
    """
    # The prompt goes on to the agent unread.
    child = subprocess.Popen(command, stdin=sys.stdin, stdout=subprocess.PIPE)
    assert child.stdout is not None
    text = []
    with child:
        for line in child.stdout:
            text.append(line.decode("utf-8", "backslashreplace"))
            sys.stdout.write(text[-1])
            sys.stdout.flush()
    return "".join(text), child.returncode


def json_value_or_whole_text(text: str, key: str) -> Any:
    """Return the value of `key` in the first fenced JSON block that has it, else the whole answer as text."""
    for block in FENCE.findall(text):
        try:
            value = json.loads(block)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and key in value:
            return value[key]
    return cut_with_ellipsis(text.strip(), LONGEST)
