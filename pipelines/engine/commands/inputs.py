"""Typed forms: the inputs of a line and the form of a manual station (law §1, Input).

One validator for browser, command line, API and triggers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from pipelines.errors import InputError
from pipelines.models import Project, Repository, Upload
from pipelines.ports.vault.value_lookup import SECRET, ValueScope
from pipelines.queries.allowed_folders import reason_against_folder
from pipelines.routing.basics import values
from pipelines.routing.basics.file_signatures import contradicting_ending_or_empty
from pipelines.routing.basics.hidden_characters import shortened_at_word
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.line import ParsedLine, Problem, Station
from pipelines.routing.document.operators import compile_pattern
from pipelines.routing.document.work.references import NAME

TITLE = 300
MAX_TITLE_PART = 72
"""What a title says of an input at most: the whole is on the page of the task."""
# The blanks between two sentences: after “.”, “!” or “?”, before a capital, also one in quotes
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[“\"'(]?[A-ZÀ-Þ])")


def checked_inputs_with_defaults(
    fields: Iterable[Input],
    values: Mapping[str, Any],
    reach: ValueScope,
    at: str = "inputs",
    connected: Iterable[Repository] | None = None,
) -> dict[str, Any]:
    """The values with defaults filled in. Raises `InputError` with every problem. Null and "" count as not given. A
    file has to have been uploaded to the project that `reach` names, a secret to be stored there; its default counts
    only while it is."""
    fields = tuple(fields)
    known = accepted_secret_names(fields, reach)
    known_repositories = list(repositories_inputs_may_name(fields, reach) if connected is None else connected)
    problems = [
        _unknown_input_problem(at, key) for key in values if key not in {field.key for field in fields}
    ]
    filled: dict[str, Any] = {}
    for field in fields:
        value = values.get(field.key)
        if value is None or value == "":
            value = usable_default_or_none(field, known)
        if value is None:
            problems += [Problem(f"{at}.{field.key}", "is required", field.help)] if field.required else []
            continue
        fault = input_fault_text(field, value) or unknown_secret_fault_or_empty(field, value, known)
        fault = fault or unknown_repository_fault_or_empty(field, value, reach, known_repositories)
        value = value if fault else repository_value_to_store(field, value, known_repositories)
        problems += [Problem(f"{at}.{field.key}", fault, field.help)] if fault else []
        filled[field.key] = value
    problems += _check_files_and_set_sizes(fields, filled, reach.project, at)
    if problems:
        raise InputError(problems)
    return filled


def usable_default_or_none(field: Input, known_secrets: Collection[str]) -> Any:
    if not field.has_default or (field.type == "secret" and field.default not in known_secrets):
        return None
    return field.default


def accepted_secret_names(fields: Iterable[Input], reach: ValueScope) -> Sequence[str]:
    """Return the names that a field of type secret accepts. They are read only if there is such a field."""
    return reach.sorted_names_of_kind(SECRET) if any(field.type == "secret" for field in fields) else ()


def connected_repositories(line: ParsedLine | None, project: Project) -> list[Repository]:
    """Return the repositories that a task of this line may work in, by name; looked up only where an input
    names it (law §15)."""
    if line is None or line.workspace is None or not line.workspace.input_key:
        return []
    return list(Repository.objects.filter(project=project).order_by("name"))


def repositories_inputs_may_name(fields: Iterable[Input], reach: ValueScope) -> list[Repository]:
    """Return the connected repositories that an input may name. They are read only if there is such an input."""
    if all(field.type != "repository" for field in fields):
        return []
    return list(Repository.objects.filter(project=reach.project).order_by("name"))


def unknown_repository_fault_or_empty(
    field: Input, value: Any, reach: ValueScope, connected: Iterable[Repository]
) -> str:
    """Say what is wrong with the name or folder of a repository, or ""."""
    if field.type != "repository" or not isinstance(value, str):
        return ""
    address = next((repository.address for repository in connected if repository.name == value), value)
    if not address.startswith("/"):
        return str(NO_REPOSITORY) if REPOSITORY_NAME.fullmatch(address) else ""
    if not reason_against_folder(reach.owner, address):
        return ""
    return "is a folder of the server that is not allowed; connect it under Settings › Repositories"


def repository_value_to_store(field: Input, value: Any, connected: Iterable[Repository]) -> Any:
    """The value as a task keeps it: a folder of the server by the name of its repository, so that nobody reads a path
    in the task; any other repository by its address."""
    if field.type != "repository":
        return value
    repository = next((row for row in connected if value in (row.name, row.address)), None)
    # By its name: whoever reads the task need not know a path of the server
    return repository.title if repository else value


def unconnected_repository_problems(
    line: ParsedLine, filled: Mapping[str, Any], connected: Iterable[Repository]
) -> list[Problem]:
    """Return a problem if the repository that the inputs name is not connected to the project: the task would
    only fail at its first station."""
    key = line.workspace.input_key if line.workspace else ""
    if not key or not filled.get(key) or filled[key] in {repository.title for repository in connected}:
        return []
    message = "is not connected to this project"
    return [Problem(f"inputs.{key}", message, "Connect it under Settings › Repositories.")]


def unknown_secret_fault_or_empty(field: Input, value: Any, known: Collection[str]) -> str:
    return str(NO_SECRET) if field.type == "secret" and value not in known else ""


def _check_files_and_set_sizes(
    fields: Iterable[Input], filled: dict[str, Any], project_id: int, at: str
) -> list[Problem]:
    """Files that were not uploaded to the project, are too large, or do not match their file type. Valid files get
    their measured size."""
    files = {
        field.key: field
        for field in fields
        if field.type == "file" and not input_fault_text(field, filled.get(field.key))
    }
    if not files:
        return []
    digests = {filled[key]["digest"] for key in files}
    uploads = Upload.objects.filter(project=project_id, blob__in=digests)
    measured = {upload.blob_id: upload for upload in uploads.select_related("blob").order_by("content")}
    problems = []
    for key, field in files.items():
        name, digest = filled[key]["name"], filled[key]["digest"]
        fault = "is not a file that was uploaded to this project"
        if upload := measured.get(digest):
            filled[key] = {"name": name, "digest": digest, "size": upload.blob.size}
            # As it was measured at the upload: of its own size a client may say anything
            fault = size_fault_or_empty(field, upload.blob.size) or file_type_fault_or_empty(
                field, name, upload.content
            )
        problems += [Problem(f"{at}.{key}", fault, field.help)] if fault else []
    return problems


def expired_file_names(fields: Iterable[Input], inputs: Mapping[str, Any], project_id: int) -> list[str]:
    """Return the names of the task's input files that are no longer stored."""
    values = [inputs.get(field.key) for field in fields if field.type == "file"]
    files = [value for value in values if isinstance(value, Mapping)]
    if not files:
        return []
    rows = Upload.objects.filter(project=project_id, blob__in=[file["digest"] for file in files])
    stored_digests = set(rows.values_list("blob_id", flat=True))
    return [str(file["name"]) for file in files if file["digest"] not in stored_digests]


def title_from_inputs(name: str, fields: Iterable[Input], filled: Mapping[str, Any]) -> str:
    """The title of a task without one: its line and the first input that distinguishes tasks, such as “Repository
    check: app”. What the name of the line says already is not said twice."""
    words = (
        _value_text_for_title_or_empty(field, filled[field.key]) for field in fields if filled.get(field.key)
    )
    summary = next(filter(None, words), "")
    mention = re.search(rf"(?<!\w){re.escape(summary)}(?!\w)", name, re.IGNORECASE)
    return (f"{name}: {summary}" if summary and not mention else name)[:TITLE]


def _value_text_for_title_or_empty(field: Input, value: Any) -> str:
    """Return the text of a value that describes its task in a title, "" if nothing does: numbers, dates, yes
    or no, and secrets need a label."""
    if field.type == "file" and isinstance(value, Mapping):
        value = value.get("name")
    if not isinstance(value, str) or field.type in ("date", "secret"):
        return ""
    if field.type == "repository":
        # “git@host:acme/app.git” is told as “app”.
        value = value.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")
    first = next(
        (line.strip() for line in value.splitlines() if line.strip().isprintable() and line.strip()), ""
    )
    return shortened_at_word(SENTENCE.split(first, maxsplit=1)[0], MAX_TITLE_PART)


def form_fields_of_manual_station(station: Station) -> tuple[Input, ...]:
    """The form for a person who does the work of a station."""
    kind = KINDS.get(station.kind)
    return kind.form(station) if kind else ()


def parse_local_time_or_none(text: str, at: str = "due_at") -> datetime | None:
    """A time as people write it, `2026-12-31T17:00`, in the current time zone unless it names one; "" is none. Raises
    `InputError`."""
    if not text.strip():
        return None
    try:
        parsed = parse_datetime(text.strip())
    except ValueError:
        parsed = None
    if parsed is None:
        raise InputError([Problem(at, "has to be a time like 2026-12-31T17:00")])
    return timezone.make_aware(parsed) if timezone.is_naive(parsed) else parsed


def _unknown_input_problem(at: str, key: Any) -> Problem:
    return Problem(f"{at}.{key}", "is not an input of this line", "Remove it.")


# Checks of the value of one input (law §1, Input): one for each of its types.


LONGEST = 100_000
NO_SECRET = "must be the name of a secret that is stored for this line, such as API_TOKEN"
NO_REPOSITORY = (
    "has to be the name of a connected repository, an https or ssh address, or a folder that is allowed"
)
REPOSITORY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# Characters of an address or folder, and of a revision
PATH, REVISION = 4096, 250
MIB = 1024 * 1024
# Of git: https://host/…, ssh://user@host/… or user@host:path.
ADDRESS = re.compile(r"(https|ssh)://[^/]|[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^/:]")
REVISIONS = re.compile(r"[\w+=@][\w./+=@#-]*\Z")
DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def input_fault_text(field: Input, value: Any) -> str:
    """Return what is wrong with a value, or ""."""
    try:
        values.check_storable(value, field.key)
    except Malformed as fault:
        return fault.message
    if isinstance(value, str) and len(value) > LONGEST:
        return f"is longer than {LONGEST} characters"
    return CHECKS[field.type](field, value)


def _text_fault_or_empty(field: Input, value: Any) -> str:
    if not isinstance(value, str):
        return "has to be a text"
    if field.minimum is not None and len(value) < field.minimum:
        return f"has to have at least {field.minimum} characters"
    if field.maximum is not None and len(value) > field.maximum:
        return f"may have at most {field.maximum} characters"
    if field.pattern and not compile_pattern(field.pattern).fullmatch(value):
        return f"has to match {field.pattern}"
    return ""


def _number_fault_or_empty(field: Input, value: Any) -> str:
    # To Python a bool is an int.
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        return "has to be a number"
    if field.minimum is not None and value < field.minimum:
        return f"has to be {field.minimum} or more"
    if field.maximum is not None and value > field.maximum:
        return f"has to be {field.maximum} or less"
    return ""


def _yes_no_fault_or_empty(field: Input, value: Any) -> str:
    return "" if isinstance(value, bool) else "has to be yes or no: true or false"


def _choice_fault_or_empty(field: Input, value: Any) -> str:
    return "" if value in field.choices else f"has to be one of: {', '.join(field.choices)}"


def _date_fault_or_empty(field: Input, value: Any) -> str:
    try:
        # Python also reads 20260101 and 2026-W01-1.
        return "" if date.fromisoformat(value).isoformat() == value else "has to be a date like 2026-12-31"
    except (TypeError, ValueError):
        return "has to be a date like 2026-12-31"


def _repository_form_fault_or_empty(field: Input, value: Any) -> str:
    """A folder, the name of a connected repository, or an https or ssh address. Whether the folder is allowed is known
    to `inputs`; which hosts may be reached is checked where they are reached (house §5)."""
    if not isinstance(value, str):
        return "has to be the address or folder of a repository"
    if value.strip() != value or value.startswith("-") or not value.isprintable() or len(value) > PATH:
        return "is not the address or folder of a repository"
    if value.startswith("/") or ADDRESS.match(value) or REPOSITORY_NAME.fullmatch(value):
        return ""
    return str(NO_REPOSITORY)


def _revision_fault_or_empty(field: Input, value: Any) -> str:
    """Check a revision: what git takes for the name of a branch or tag, or a commit; never an option or an
    expression."""
    match = isinstance(value, str) and len(value) <= REVISION and REVISIONS.match(value)
    return "" if match and ".." not in value else "has to be a branch, a tag or a commit"


def _file_fault_or_empty(field: Input, value: Any) -> str:
    """Return what is wrong with a reference `{name, digest}` to an uploaded file, or "". A size in it is
    ignored; `size_fault_or_empty` checks the stored one."""
    stored = isinstance(value, dict) and {"name", "digest"} <= set(value) <= {"name", "digest", "size"}
    if not stored or not _is_printable_name(value["name"]) or not DIGEST.match(str(value["digest"])):
        return "has to be an uploaded file: {name, digest}"
    if field.accept and not value["name"].lower().endswith(field.accept):
        return f"has to be a file of the type {', '.join(field.accept)}"
    return ""


def size_fault_or_empty(field: Input, size: int) -> str:
    """Return what is wrong with the measured size of a file, or ""."""
    too_large = field.maximum is not None and size > field.maximum * MIB
    return f"is larger than {field.maximum} MiB" if too_large else ""


def file_type_fault_or_empty(field: Input, name: str, content: str) -> str:
    """Return what is wrong with the content of a file, judged by its first bytes where the field accepts only
    some types, or ""."""
    ending = contradicting_ending_or_empty(name, content) if field.accept else ""
    if not ending:
        return ""
    return f"has the ending {ending}, but its content is of another type"


def _is_printable_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()


def _secret_name_form_fault_or_empty(field: Input, value: Any) -> str:
    """The name of a stored secret, never the secret itself: a value that is not a known name is not repeated in the
    answer."""
    return "" if isinstance(value, str) and NAME.match(value) else str(NO_SECRET)


CHECKS: dict[str, Callable[[Input, Any], str]] = {
    "text": _text_fault_or_empty,
    "long_text": _text_fault_or_empty,
    "number": _number_fault_or_empty,
    "choice": _choice_fault_or_empty,
    "yes_no": _yes_no_fault_or_empty,
    "date": _date_fault_or_empty,
    "repository": _repository_form_fault_or_empty,
    "revision": _revision_fault_or_empty,
    "file": _file_fault_or_empty,
    "secret": _secret_name_form_fault_or_empty,
}
