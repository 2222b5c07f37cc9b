"""`python -m pipelines.routing decide LINE`: the decision tool (line-document.md).

One JSON situation per line on standard input, one decision per line on standard output. No database, no Django.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from pipelines.formats import native
from pipelines.routing import jsontext
from pipelines.routing.decide import decide
from pipelines.routing.line import DocumentError, Line
from pipelines.routing.outcome import Malformed, read_situation

MAX_LINE = 64 * 1024 * 1024
"""Bytes of one situation; a longer line is malformed."""

REFUSED = 2


def main(arguments: list[str] | None = None) -> int:
    """0: every line was decided. 1: a line of the input was malformed. 2: the document was refused."""
    options = _parser().parse_args(arguments)
    try:
        line = _read(Path(options.line))
    except (DocumentError, OSError) as error:
        print(f"{options.line}: {_reason(error)}", file=sys.stderr)
        return REFUSED
    return _answer_all(line, sys.stdin.buffer, sys.stdout)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.routing", description="Try a line without an engine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("decide", help="decide one JSON situation per line of standard input")
    command.add_argument("line", metavar="LINE", help="the line document, YAML or JSON")
    return parser


def _read(path: Path) -> Line:
    return native.read(path.read_bytes(), keep_faulty_rules=True, exact=True)


def _reason(error: DocumentError | OSError) -> str:
    if isinstance(error, DocumentError):
        return "refused\n" + "\n".join(f"  {problem}" for problem in error.problems)
    return error.strerror or str(error)


def _answer_all(line: Line, source: BinaryIO, sink: TextIO) -> int:
    malformed = False
    for text in _lines(source):
        answer = _answer(line, text)
        malformed = malformed or ("error" in answer and "decision" not in answer)
        sink.write(jsontext.dumps(answer) + "\n")
        sink.flush()
    return 1 if malformed else 0


def _answer(line: Line, text: bytes) -> dict[str, Any]:
    try:
        return decide(line, read_situation(_value(text))).to_dict()
    except Malformed as error:
        return {"error": error.to_dict()}


def _value(text: bytes) -> Any:
    if len(text) > MAX_LINE:
        raise Malformed("", f"the line is longer than {MAX_LINE} bytes")
    try:
        return jsontext.loads(text.decode())
    except UnicodeDecodeError as error:
        raise Malformed("", f"not UTF-8 at byte {error.start + 1}") from None
    except jsontext.JsonTextError as error:
        raise Malformed("", f"not JSON: {error}") from None


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Lines without their ends; of a line that is too long only the beginning."""
    while text := source.readline(MAX_LINE + 2):
        rest = text
        while rest and not rest.endswith(b"\n"):
            rest = source.readline(MAX_LINE)
        yield text.rstrip(b"\r\n")


if __name__ == "__main__":
    sys.exit(main())
