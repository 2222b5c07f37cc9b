"""A program that is told of the task, and says yes or no by its exit code."""

from __future__ import annotations

from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.program import ENVIRONMENT, FOLDER, arguments_key, command_line

KIND = Kind(
    key="hook",
    name="Hook",
    about="A program is told of the task, and its exit code says yes or no.",
    icon="webhook",
    docs="kinds.md#hook",
    title="Hook",
    help="It gets the task as JSON on standard input. Exit code 0 is ok, any other failed.",
    keys={
        "argv": arguments_key("a hook needs a program, like ruff"),
        "env": ENVIRONMENT,
        "cwd": FOLDER,
    },
    executes=True,
    result_document=True,
    evals=("ok", "failed"),
    failed="failed",
    says=command_line,
)
