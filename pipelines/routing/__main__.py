"""`python -m pipelines.routing`: lines without an engine, a database or Django.

decide LINE   one JSON situation per line on standard input, one decision per line on standard output
join LINE     where the branches of a task are per line of standard input, which join is decided and how
check LINE    everything that keeps the document from being published, each problem with its place
lint LINE     what its rules can and cannot do, proved (docs/lint); with --json for machines; - is standard input
diff OLD NEW  which outcomes go elsewhere, with a sample of each, or the proof that none does; with --json
generate LINE one scenario for each rule that can be taken; why there is none for the others on standard error
simulate LINE SCENARIOS  walk it through scripted outcomes, and say what they cover (docs/testing.md); with --json
schema        the JSON Schema of the document
types         its TypeScript types, for the editor
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from pipelines.formats import native
from pipelines.formats import scenarios as scenario_texts
from pipelines.formats.line_lint import lint_text
from pipelines.formats.typescript import typescript_module
from pipelines.routing.analysis.difference.compare import NONE, line_difference
from pipelines.routing.analysis.difference.report import difference_text as report_difference
from pipelines.routing.analysis.lint.examination import Examination
from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.hidden_characters import escape_hidden_json
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.branch_joins.join_documents import join_answer
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import DocumentError, ParsedLine, Problem
from pipelines.routing.document.preconditions import AGENT
from pipelines.routing.document.publishable import publishing_problems
from pipelines.routing.simulate.report import generation_report_text, run_and_report_scenarios
from pipelines.routing.simulate.scenario_generation import generate_scenarios

MAX_LINE = 64 * 1024 * 1024
"""Bytes of one situation; a longer line is malformed."""

REFUSED = 2
Decided = Callable[[ParsedLine, Any], dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    """0: all went well. 1: malformed input, problems of a check, errors of lint, a difference, or a scenario that does
    not hold. 2: refused."""
    options = _parser().parse_args(arguments)
    try:
        return COMMANDS[options.command](options)
    except (DocumentError, OSError) as error:
        print(escape_hidden_json(f"{options.line}: {_error_text(error)}"), file=sys.stderr)
        return REFUSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.routing", description="Lines without an engine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in (
        ("decide", "decide one JSON situation per line of standard input"),
        (
            "join",
            "decide joins: where the branches of a task are, one JSON object per line of standard input",
        ),
        ("check", "say everything that keeps the line from being published"),
        ("lint", "say what its rules can and cannot do"),
        ("generate", "print one scenario for each rule"),
    ):
        command = commands.add_parser(name, help=words)
        words = "the line document, YAML or JSON"
        words += "" if name in ("decide", "join") else "; - for standard input"
        command.add_argument("line", metavar="LINE", help=words)
        if name == "lint":
            command.add_argument("--json", action="store_true", help="findings as JSON")
    diff = commands.add_parser("diff", help="say which outcomes go elsewhere in another version")
    diff.add_argument("old", metavar="OLD", help="the line document as it was, YAML or JSON")
    diff.add_argument("new", metavar="NEW", help="as it is now")
    diff.add_argument("--json", action="store_true", help="the difference as JSON")
    simulate = commands.add_parser("simulate", help="walk the line through scenarios")
    simulate.add_argument("line", metavar="LINE", help="the line document, YAML or JSON")
    simulate.add_argument("scenarios", metavar="SCENARIOS", help="a list of scenarios, YAML or JSON")
    simulate.add_argument("--json", action="store_true", help="the report as JSON, with every trace")
    simulate.add_argument(
        "--min-coverage", metavar="PERCENT", type=float, default=0, help="of all rules, how many are taken"
    )
    commands.add_parser("schema", help="print the JSON Schema of the line document")
    commands.add_parser("types", help="print the TypeScript types of the line document")
    return parser


def _decide_command(options: argparse.Namespace) -> int:
    return _write_answer_per_line(
        _read_line(Path(options.line)), sys.stdin.buffer, sys.stdout, _decide_situation
    )


def _join_command(options: argparse.Namespace) -> int:
    return _write_answer_per_line(_read_line(Path(options.line)), sys.stdin.buffer, sys.stdout, join_answer)


def _check_command(options: argparse.Namespace) -> int:
    text = read_file_or_stdin(options.line)
    line = native.read_text(text, exact=True)
    problems = native.problems_with_places(text, publishing_problems(line))
    for problem in problems:
        print(escape_hidden_json(str(problem)))
    return 1 if problems else 0


def _lint_command(options: argparse.Namespace) -> int:
    examination = lint_text(read_file_or_stdin(options.line))
    if examination.line is None and not options.json:
        raise DocumentError(examination.problems)
    print(escape_hidden_json(lint_report(examination, as_json=options.json)))
    return REFUSED if examination.line is None else 1 if examination.errors else 0


def _diff_command(options: argparse.Namespace) -> int:
    """1 also where something is unknown: only a proof is no difference."""
    # `main` names it in front of an error.
    options.line = options.old
    old = _read_line(Path(options.old))
    options.line = options.new
    comparison = line_difference(old, _read_line(Path(options.new)))
    print(escape_hidden_json(report_difference(comparison, as_json=options.json)))
    return 0 if comparison.verdict == NONE else 1


def _simulate_command(options: argparse.Namespace) -> int:
    line, name = _read_line(Path(options.line)), options.line
    options.line = options.scenarios
    scenario_report = run_and_report_scenarios(
        line, scenario_texts.loads(read_file_or_stdin(options.scenarios)), name
    )
    print(escape_hidden_json(scenario_report.to_json() if options.json else scenario_report.to_text()))
    problems = scenario_report.problems(options.min_coverage)
    print("; ".join(problems), file=sys.stderr, end="\n" if problems else "")
    return REFUSED if not scenario_report.results else 1 if problems else 0


def _generate_command(options: argparse.Namespace) -> int:
    generated = generate_scenarios(
        native.read_text(read_file_or_stdin(options.line), keep_faulty_rules=True, exact=True)
    )
    print(escape_hidden_json(scenario_texts.dumps(generated.scenarios)), end="", flush=True)
    print(escape_hidden_json(generation_report_text(generated)), file=sys.stderr)
    return 0


def _print_schema(options: argparse.Namespace) -> int:
    print(json.dumps(native.json_schema(), indent=2))
    return 0


def _print_types(options: argparse.Namespace) -> int:
    print(typescript_module(), end="")
    return 0


COMMANDS = {
    "decide": _decide_command,
    "join": _join_command,
    "check": _check_command,
    "lint": _lint_command,
    "diff": _diff_command,
    "generate": _generate_command,
    "simulate": _simulate_command,
    "schema": _print_schema,
    "types": _print_types,
}


def read_file_or_stdin(name: str) -> bytes:
    """The bytes of a file, of standard input for `-`. Raises OSError, and DocumentError if there are too many."""
    if name == "-":
        return _read_bounded(sys.stdin.buffer)
    with Path(name).open("rb") as file:
        return _read_bounded(file)


def _read_bounded(file: BinaryIO) -> bytes:
    """Return the bytes of a file. A file that never ends, like a device, is refused like one that is too
    long."""
    # Bytes: a character of UTF-8 has up to four.
    most = 4 * native.MAX_TEXT
    text = file.read(most + 1)
    if len(text) > most:
        raise DocumentError([Problem("", f"the text is longer than {native.MAX_TEXT} characters")])
    return text


def _read_line(path: Path) -> ParsedLine:
    return native.read_text(_read_file(path), keep_faulty_rules=True, exact=True)


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return _read_bounded(file)


def _error_text(error: DocumentError | OSError) -> str:
    if isinstance(error, DocumentError):
        return "refused\n" + "\n".join(f"  {problem}" for problem in error.problems)
    return error.strerror or str(error)


def _write_answer_per_line(line: ParsedLine, source: BinaryIO, sink: TextIO, decided: Decided) -> int:
    malformed = False
    for text in _input_lines(source):
        answer, read = _answer_and_whether_readable(line, text, decided)
        malformed = malformed or not read
        sink.write(jsontext.dumps(answer) + "\n")
        # At once: whoever asks may wait for it before the next situation.
        sink.flush()
    return 1 if malformed else 0


def _answer_and_whether_readable(
    line: ParsedLine, text: bytes, decided: Decided
) -> tuple[dict[str, Any], bool]:
    """The answer, and whether the line could be read."""
    try:
        return decided(line, _parse_json_line(text)), True
    except Malformed as error:
        return {"error": error.to_dict()}, False


def _decide_situation(line: ParsedLine, value: Any) -> dict[str, Any]:
    """Decide a situation. What the situation shows is looked up, as the engine does; agents, which only an
    engine knows, count as available unless the facts say how they are (law §12, Limits and moves)."""
    situation = read_situation(value)
    facts = situation.facts
    if not facts.agents:
        facts = replace(facts, preconditions={AGENT: True, **facts.preconditions})
    return decide(line, replace(situation, facts=facts)).to_dict()


def _parse_json_line(line: bytes) -> Any:
    if len(line) > MAX_LINE:
        raise Malformed("", f"the line is longer than {MAX_LINE} bytes")
    try:
        return jsontext.loads(line.decode())
    except UnicodeDecodeError as error:
        raise Malformed("", f"not UTF-8 at byte {error.start + 1}") from None
    except jsontext.JsonTextError as error:
        raise Malformed("", f"not JSON: {error}") from None


def _input_lines(source: BinaryIO) -> Iterator[bytes]:
    """Lines without their ends; of a line that is too long only the beginning."""
    # Two more than are allowed, for an end of \r\n.
    while text := source.readline(MAX_LINE + 2):
        rest = text
        while rest and not rest.endswith(b"\n"):
            rest = source.readline(MAX_LINE)
        yield text.rstrip(b"\r\n")


# Report of the findings of lint, as text for people and as JSON for machines: the same for every window.


def lint_report(examination: Examination, *, as_json: bool = False) -> str:
    return _as_json(examination) if as_json else _examination_text(examination)


def _as_json(examination: Examination) -> str:
    return jsontext.dumps(examination.to_dict(), indent=2)


def _examination_text(examination: Examination) -> str:
    total = ", ".join(f"{count} {severity}" for severity, count in examination.counts().items() if count)
    return "\n".join([*map(_finding_text, examination.findings), total or "Nothing found."])


def _finding_text(finding: Finding) -> str:
    if finding.witness is None:
        return str(finding)
    example = {
        key: finding.witness.situation[key]
        for key in ("outcome", "facts")
        if key in finding.witness.situation
    }
    return f"{finding}\n    for example {jsontext.dumps(example, ascii_only=False)}"


if __name__ == "__main__":
    # Who reads the output may have seen enough: `… | head` ends quietly, as every filter does.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
