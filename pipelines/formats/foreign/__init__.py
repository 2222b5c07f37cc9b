"""Documents of other systems as lines: recognised, read, and what is lost on the way told. Nothing that a document
names is run, opened or fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.formats import native
from pipelines.formats.dialects import AEEF, ALP, CONTENOX, FLUX, VIBE_FACTORY, recognised
from pipelines.formats.dialects import foreign as seen
from pipelines.formats.foreign import aeef, alp, contenox, flux, vibe_factory
from pipelines.formats.foreign.carrier import Carrier, Json
from pipelines.formats.foreign.comments import without_comments
from pipelines.formats.foreign.folder import MOST_FILES, refused
from pipelines.formats.yamltext import TextError
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.line import DocumentError

NAMES: Final = {
    VIBE_FACTORY: "Vibe Factory",
    ALP: "ALP (Agentics)",
    CONTENOX: "contenox",
    FLUX: "Flux",
    AEEF: "AEEF",
}


@dataclass(frozen=True)
class DocumentReader:
    """`parts`: the lists of which one makes a document whole; without, `whole` says whether it is, and `part` what else
    it is."""

    read: Callable[[Any, Carrier], Json]
    parts: tuple[str, ...] = ()
    whole: Callable[[Any], bool] | None = None
    part: Callable[[Any], Wording] | None = None

    def reads(self, given: Any) -> bool:
        if self.whole is not None:
            return self.whole(given)
        return isinstance(given, Mapping) and any(part in given for part in self.parts)

    @property
    def hint(self) -> Wording:
        if self.parts:
            return _("import the whole document: it has the list “%(part)s”", part=self.parts[0])
        return _("a line is read from transitions, events, work items and contracts of agents")


READERS: Final = {
    VIBE_FACTORY: DocumentReader(vibe_factory.read, ("stations",)),
    ALP: DocumentReader(alp.read, ("stations", "columns")),
    CONTENOX: DocumentReader(contenox.read, ("tasks",)),
    FLUX: DocumentReader(flux.read, ("stages",)),
    AEEF: DocumentReader(aeef.read, whole=aeef.whole, part=aeef.part),
}


@dataclass(frozen=True)
class Opened:
    """`dialect`: "" for a document of Gateline's own. `text`: the document as YAML. `losses`: what it says otherwise
    than what was read, with places in that: in `given`, where it is one document."""

    document: Json
    text: str
    dialect: str = ""
    losses: tuple[Problem, ...] = ()
    given: Any = None

    @property
    def system(self) -> str:
        return NAMES.get(self.dialect, "")


def opened(text: str | bytes, dialect: str | None = None) -> Opened:
    """`dialect`: which it is, where that is known. Raises DocumentError, each problem with its line and column."""
    try:
        source = native.as_text(text)
    except TextError as error:
        raise DocumentError([Problem("", error.message, "", error.line, error.column)]) from None
    try:
        given = native.value_of(source)
    except DocumentError:
        if not source.lstrip().startswith(("{", "/")):
            raise
        if (records := _records(source)) is not None:
            given = records
        else:
            # JSON with comments, as contenox allows it (T9).
            source = without_comments(source)
            given = native.value_of(source)
    dialect = dialect or recognised(given)
    if isinstance(given, list) and dialect not in READERS and (problem := seen(given)):
        # One object a line is no YAML, which has nothing to say of it.
        raise DocumentError([replace(problem, path="", line=1, column=1)])
    if dialect is None or dialect not in READERS:
        return Opened(native.loads(source), source)
    return _converted(given, dialect, lambda problems: _in_order(native.locate(source, problems)))


def _records(source: str) -> list[Any] | None:
    """Events and work items come as one object a line."""
    found = []
    for row in source.splitlines():
        if row.strip():
            try:
                found.append(jsontext.loads(row))
            except jsontext.JsonTextError:
                return None
    return found if len(found) > 1 and all(isinstance(each, Mapping) for each in found) else None


def opened_files(files: Mapping[str, str | bytes]) -> Opened:
    """A folder of an assembly line of ALP, or one file. Raises DocumentError; problems name the file."""
    if len(files) > MOST_FILES:
        raise refused(_("these are more than %(most)s files", most=MOST_FILES))
    if sum(map(len, files.values())) > native.MAX_TEXT:
        raise refused(_("the files are longer than %(most)s characters together", most=native.MAX_TEXT))
    if len(files) == 1:
        return opened(next(iter(files.values())))
    parsed: dict[str, Any] = {}
    for path, text in files.items():
        try:
            parsed[path] = native.value_of(text) if path.endswith(".json") else native.as_text(text)
        except DocumentError as fault:
            raise DocumentError([_of_file(each, path) for each in fault.problems]) from None
        except TextError as fault:
            raise DocumentError([Problem(path, fault.message)]) from None
    if not any(path.endswith(("assembly-line.json", "/station.json")) for path in parsed):
        raise refused(_("these files are no line together"))
    whole, places = alp.together(parsed)

    def placed(problems: list[Problem]) -> tuple[Problem, ...]:
        return tuple(_of_place(each, places, files) for each in problems)

    return _converted(whole, ALP, placed)


def _of_place(problem: Problem, places: Mapping[str, str], files: Mapping[str, str | bytes]) -> Problem:
    """In the file that the part is from, with its line there."""
    part = next((each for each in places if problem.path.startswith(each)), None)
    if part is None:
        return problem
    file, inner = places[part], replace(problem, path=problem.path[len(part) :].lstrip("."))
    if file.endswith(".json"):
        (inner,) = native.locate(files[file], [inner])
    return _of_file(inner, file)


def _of_file(problem: Problem, path: str) -> Problem:
    return replace(problem, path=f"{path}: {problem.path}" if problem.path else path)


def _converted(given: Any, dialect: str, located: Callable[[list[Problem]], tuple[Problem, ...]]) -> Opened:
    reader, carrier = READERS[dialect], Carrier()
    if not reader.reads(given):
        message = (
            reader.part(given)
            if reader.part
            else _("this is a part of a document of %(system)s", system=NAMES[dialect])
        )
        raise DocumentError([Problem("", message, reader.hint, 1, 1)])
    document = reader.read(given, carrier)
    if carrier.faults:
        raise DocumentError(located(carrier.faults))
    return Opened(document, native.dumps(document), dialect, located(carrier.losses), given)


def _in_order(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda each: (each.line or 0, each.column or 0)))
