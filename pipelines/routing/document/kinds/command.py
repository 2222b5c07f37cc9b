"""A program on a worker."""

from __future__ import annotations

from pipelines.routing.document.work.keys import PROMPT, TextKey, Work
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.program import ENVIRONMENT, FOLDER, arguments_key, command_line


def _program_name(work: Work) -> str:
    return str((work.get("argv") or [""])[0]).rsplit("/", 1)[-1]


KIND = Kind(
    key="command",
    name="Command",
    about="A program runs on a runner.",
    icon="terminal",
    docs="workers.md#what-a-command-gets",
    title="Command",
    keys={
        "argv": arguments_key("a command needs a program, like ruff"),
        "env": ENVIRONMENT,
        "prompt": TextKey(
            label="Standard input",
            help="A template: {{task.title}}, {{input.key}}, {{context.key}}.",
            longest=PROMPT,
            template=True,
            rows=3,
        ),
        "cwd": FOLDER,
    },
    fields=("argv", "prompt", "env", "cwd"),
    executes=True,
    result_document=True,
    actor="command",
    signed=_program_name,
    says=command_line,
    says_code=True,
)
