"""Documents of other systems as lines: recognised, read, and what is lost on the way told. Nothing that a document
names is run, opened or fetched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.formats import native
from pipelines.formats.foreign.alp import ALP
from pipelines.formats.foreign.alp.folder import combine_files
from pipelines.formats.foreign.folder_archive import MOST_FILES, folder_error
from pipelines.formats.foreign.import_notes import ImportNotes, Json
from pipelines.formats.foreign.known_systems import Recognition, recognise_system, systems_by_key
from pipelines.formats.foreign.system import ForeignSystem
from pipelines.formats.yamltext import TextError
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.plugins import PluginFault
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.line import DocumentError


@dataclass(frozen=True)
class ImportedDocument:
    """A line read from any supported document. `dialect`: "" for Gateline's own format. `text`: the line as
    YAML. `losses`: what it says differently from the source, with paths in `given`, which is None for
    several files."""

    document: Json
    text: str
    dialect: str = ""
    losses: tuple[Problem, ...] = ()
    given: Any = None

    @property
    def system_name(self) -> str:
        return systems_by_key()[self.dialect].name if self.dialect else ""


def import_document(text: str | bytes, dialect: str | None = None) -> ImportedDocument:
    """`dialect`: which it is, where that is known. Raises DocumentError, each problem with its line and column."""
    try:
        source = native.checked_utf8_text(text)
    except TextError as error:
        raise DocumentError([Problem("", error.message, "", error.line, error.column)]) from None
    try:
        parsed = native.parsed_value(source)
    except DocumentError:
        if what := describe_non_document_or_none(source):
            raise DocumentError([Problem("", what, CHOOSE, 1, 1)]) from None
        # Only what begins like JSON, or with a comment in front of it, is tried in other ways.
        if not source.lstrip().startswith(("{", "/")):
            raise
        if (records := _json_lines_or_none(source)) is not None:
            parsed = records
        else:
            # JSON with comments, as contenox allows it (T9).
            source = text_without_comments(source)
            parsed = native.parsed_value(source)
    recognition = Recognition(systems_by_key()[dialect]) if dialect else recognise_system(parsed)
    try:
        if recognition.system is None and (what := describe_non_line_or_none(parsed, source)):
            raise DocumentError([Problem("", what, CHOOSE, 1, 1)])
        if recognition.system is None:
            return ImportedDocument(native.loads(source), source)
        if recognition.system.read is None:
            raise DocumentError(
                _problems_placed_at_document_start(native.problems_with_places(source, recognition.problems))
            )
        line = _imported_document(
            parsed,
            recognition.system,
            lambda problems: _sorted_problems(native.problems_with_places(source, problems)),
        )
    except DocumentError as error:
        raise DocumentError((*error.problems, *recognition.faults)) from None
    return replace(line, losses=(*line.losses, *recognition.faults))


def _problems_placed_at_document_start(problems: Iterable[Problem]) -> list[Problem]:
    """Place them at the whole document: one object a line is no YAML, which has no places."""
    return [
        replace(problem, path="", line=problem.line or 1, column=problem.column or 1) for problem in problems
    ]


def _json_lines_or_none(source: str) -> list[Any] | None:
    """Events and work items come as one object a line."""
    records = []
    for row in source.splitlines():
        if row.strip():
            try:
                records.append(jsontext.loads(row))
            except jsontext.JsonTextError:
                return None
    return records if len(records) > 1 and all(isinstance(record, Mapping) for record in records) else None


def import_files(files: Mapping[str, str | bytes]) -> ImportedDocument:
    """A folder of an assembly line of ALP, or one file. Raises DocumentError; problems name the file."""
    if len(files) > MOST_FILES:
        raise folder_error(_("these are more than %(most)s files", most=MOST_FILES))
    if sum(map(len, files.values())) > native.MAX_TEXT:
        raise folder_error(_("the files are longer than %(most)s characters together", most=native.MAX_TEXT))
    if len(files) == 1:
        return import_document(next(iter(files.values())))
    parsed: dict[str, Any] = {}
    for path, text in files.items():
        try:
            parsed[path] = (
                native.parsed_value(text) if path.endswith(".json") else native.checked_utf8_text(text)
            )
        except DocumentError as fault:
            raise DocumentError([_problem_with_file(problem, path) for problem in fault.problems]) from None
        except TextError as fault:
            raise DocumentError([Problem(path, fault.message)]) from None
    if not any(path.endswith(("assembly-line.json", "/station.json")) for path in parsed):
        raise folder_error("these files are no line together")
    combined, places, unread = combine_files(parsed)

    def problems_with_file_path(problems: list[Problem]) -> tuple[Problem, ...]:
        return tuple(_problem_placed_in_its_file(problem, places, files) for problem in problems)

    line = _imported_document(combined, ALP, problems_with_file_path)
    return replace(line, losses=(*line.losses, *unread))


def _problem_placed_in_its_file(
    problem: Problem, places: Mapping[str, str], files: Mapping[str, str | bytes]
) -> Problem:
    """Place it in the file that the part is from, with its line there."""
    # The first that fits: prompts come before their station, and the whole ("") comes last.
    part = next((prefix for prefix in places if problem.path.startswith(prefix)), None)
    if part is None:
        return problem
    file, inner = places[part], replace(problem, path=problem.path[len(part) :].lstrip("."))
    if file.endswith(".json"):
        (inner,) = native.problems_with_places(files[file], [inner])
    return _problem_with_file(inner, file)


def _problem_with_file(problem: Problem, path: str) -> Problem:
    return replace(problem, path=f"{path}: {problem.path}" if problem.path else path)


def _imported_document(
    parsed: Any, system: ForeignSystem, located: Callable[[list[Problem]], tuple[Problem, ...]]
) -> ImportedDocument:
    """Raises DocumentError, also for whatever the reader of an installed package raises."""
    import_notes = ImportNotes()
    try:
        if (fault := system.fault(parsed)) is not None:
            raise DocumentError([replace(fault, line=1, column=1)])
        document = system.read(parsed, import_notes) if system.read else {}
        text = native.dumps(document)
    except PluginFault as failed:
        raise DocumentError([Problem("", failed.message)]) from failed
    if import_notes.faults:
        raise DocumentError(located(import_notes.faults))
    return ImportedDocument(document, text, system.key, located(import_notes.losses), parsed)


def _sorted_problems(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0)))


# JSON with comments as JSON: each comment becomes blanks, so that lines and columns stay.


_BEGIN: Final = re.compile(r'"|//|/\*')
# Possessive (*+): a text without an end fails without going back over it.
_QUOTED: Final = re.compile(r'(?:[^"\\]|\\.)*+"', re.DOTALL)
_INK: Final = re.compile(r"\S")
_ENDS: Final = {"//": "\n", "/*": "*/"}


def text_without_comments(text: str) -> str:
    """A text in quotes stays, whatever it holds; `//` to the end of the line and `/* */` go. One that does not end goes
    on to the end of the text, and is looked for once."""
    parts: list[str] = []
    at = 0
    while match := _BEGIN.search(text, at):
        parts.append(text[at : match.start()])
        if match[0] == '"':
            quoted = _QUOTED.match(text, match.end())
            at = quoted.end() if quoted else len(text)
            parts.append(text[match.start() : at])
            continue
        end = text.find(_ENDS[match[0]], match.end())
        at = len(text) if end < 0 else end + (2 if match[0] == "/*" else 0)
        parts.append(_INK.sub(" ", text[match.start() : at]))
    return "".join([*parts, text[at:]])


# Explanations, in words, of what is no line and no document of any known system.


CHOOSE: Final = "choose a document of a line: JSON or YAML, or a .zip of the folder .agentics"
_CODE = (
    r"(?:import\s[^\n]*\bfrom\s*['\"]|import\s+['\"]|export\s+(?:default|const|function|type|interface|async)\b"
    r"|(?:const|let|var|function|interface)\s+\w+|use\s+\w+::|fn\s+\w+|pub\s+\w+\s|package\s+\w+\s*$"
    r"|from\s+\S+\s+import\s|import\s+\w+\s*$|def\s+\w+\(|class\s+\w+\s*[({:])"
)
_REMARKS = r"\A\s*(?:(?:--|//)[^\n]*\n\s*|/\*(?:(?!\*/).)*\*/\s*)*"
TEXTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(
            _REMARKS + r"(?:create|alter|drop|insert|update|delete|pragma|begin|select|with)\s+"
            r"(?:table|index|into|or|unique|trigger|view|from|transaction|\w+\s+(?:set|as|from)|foreign_keys|\*)",
            re.IGNORECASE | re.DOTALL,
        ),
        "this is SQL, and no document of a line",
    ),
    (
        re.compile(_REMARKS + _CODE, re.DOTALL | re.MULTILINE),
        "this is the source of a program, and no document of a line",
    ),
    (
        re.compile(r"\A\s*<(?:!doctype|\?xml|html|svg|[a-z])", re.IGNORECASE),
        "this is a page or XML, and no document of a line",
    ),
    (
        re.compile(r"\A\s*(?:---\n(?:[^\n]*\n){1,40}?---\n\s*)?#{1,6} [^\n]+\n(?=\s*\n|[^\n]*$|[A-Z*>-])"),
        "this is a text in Markdown, and no document of a line",
    ),
)
"""By what it begins with."""
KEYS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("$schema", "properties"), "this is a JSON Schema, and no line"),
    (("$schema", "$defs"), "this is a JSON Schema, and no line"),
    (("openapi", "paths"), "this is a description of an API (OpenAPI), and no line"),
    (
        ("default_action", "rules"),
        "this is a policy that says what a person approves (contenox), and no line",
    ),
    (("dependencies", "name"), "this describes a package of programs, and no line"),
    (("devDependencies",), "this describes a package of programs, and no line"),
    (("lockfileVersion",), "this describes a package of programs, and no line"),
    (("automations",), "these are automations of ALP, and no line"),
    (("tunables",), "these are tunables of ALP, and no line"),
)
"""By the keys that it has all of."""


def describe_non_document_or_none(text: str) -> str | None:
    """Return what a text is that is neither JSON nor YAML."""
    # The beginning tells, and bounds what a pattern can cost.
    return next((what for pattern, what in TEXTS if pattern.match(text[:20_000])), None)


def describe_non_line_or_none(document: Any, text: str) -> str | None:
    """Return what `text` is, which reads as `document`, and is no line: one has `gateline`, stations or a
    key."""
    what = describe_non_document_or_none(text)
    if isinstance(document, Mapping):
        if "gateline" in document or "stations" in document:
            return None
        of_keys = next((message for keys, message in KEYS if all(key in document for key in keys)), None)
        if of_keys is None and "key" in document:
            return None  # begun by hand: what is missing is said of a line
        listed_keys = ", ".join(map(str, document))[:80]
        return (
            of_keys
            or what
            or _("this is no document of a system that is known: it has %(keys)s", keys=listed_keys)
        )
    return "this is a text, and no document of a line" if what is None and isinstance(document, str) else what
