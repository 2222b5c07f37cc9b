"""Reach of a request: the product's own files and functions that it runs through, how often a call leads from one file
into another, and its SQL statements."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from django.db import connection
from django.test.utils import CaptureQueriesContext

ROOT = Path(__file__).resolve().parent.parent
ROOMS = tuple(f"{ROOT / name}/" for name in ("config", "pipelines", "reviews"))
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>", "<module>")


@dataclass
class Trace:
    """`functions`: (file, name), each once; `changes`: calls from one file into another; `statements`: the texts, in
    their order."""

    functions: set[tuple[str, str]] = field(default_factory=set)
    changes: int = 0
    statements: list[str] = field(default_factory=list)

    @property
    def files(self) -> set[str]:
        return {file for file, _name in self.functions}


def traced(work: Callable[[], object]) -> Trace:
    """Run it in this thread. Whoever measures runs it before, so that nothing is read for the first time."""
    trace = Trace()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOMS) and code.co_name not in COMPREHENSIONS:
            name = getattr(code, "co_qualname", code.co_name)
            trace.functions.add((str(Path(code.co_filename).relative_to(ROOT)), name))
            trace.changes += _caller(frame) not in ("", code.co_filename)

    before = sys.getprofile()
    with CaptureQueriesContext(connection) as captured:
        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(before)
    # A test stands in a transaction: what it begins there is no statement anywhere else.
    trace.statements = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
    return trace


def _caller(frame: FrameType) -> str:
    """The product's own file from which a function is called, through whatever libraries; "" at the beginning."""
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(ROOMS):
        caller = caller.f_back
    return caller.f_code.co_filename if caller else ""
