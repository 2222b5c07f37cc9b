"""Table of the events of code hosts that a webhook can wait for, and their filters by branch, file, author and label.

A host says in headers which event it tells of, but signs the body alone: so an event is told by the body. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from pipelines.errors import Invalid

COMMAND: Final = "/gateline"
"""How a comment begins that starts a task."""
COMMENT: Final = "comment"
EVENTS: Final = {
    "issue_opened": "An issue is opened",
    "issue_labelled": "An issue gets a label",
    COMMENT: f"A member comments “{COMMAND} …”",
    "request_opened": "A request is opened",
    "pushed": "Commits are pushed",
    "merged": "A request is merged",
    "check_failed": "A check fails",
}
FILTERS: Final = {"branch": "Branch", "files": "Changed file", "author": "Author", "label": "Label"}
DEFAULTS: Final = {"event": "", **dict.fromkeys(FILTERS, "")}
FAILED: Final = ("failure", "failed", "error", "timed_out", "startup_failure", "action_required")
MAX_FILTER, MAX_FILES = 500, 10_000
REF = "refs/heads/"


@dataclass(frozen=True, slots=True)
class HostEvent:
    """Event as a body says it. `files`: None where the body names none. `also`: another event that it tells of."""

    key: str
    author: str = ""
    branch: str = ""
    labels: tuple[str, ...] = ()
    files: tuple[str, ...] | None = None
    also: str = ""


def stored_filters(options: Mapping[str, Any], signature: str) -> dict[str, str]:
    """Return the event and its filters as they are stored. Raises Invalid with the option."""
    stored = {}
    for name in DEFAULTS:
        value = options.get(name, "")
        if not isinstance(value, str) or len(value) > MAX_FILTER or not value.isprintable():
            raise Invalid.at(name, f"Enter at most {MAX_FILTER} characters in one line.")
        stored[name] = value.strip()
    if stored["event"] and stored["event"] not in EVENTS:
        raise Invalid.at("event", f"Choose one of: {', '.join(EVENTS)}.")
    if stored["event"] and signature not in READERS:
        raise Invalid.at("event", f"Only {', '.join(READERS)} tell of it. Choose how it is signed.")
    if not stored["event"] and any(stored[name] for name in FILTERS):
        raise Invalid.at("event", "Choose the event that is filtered.")
    return stored


def read_event_or_none(signature: str, document: Any) -> HostEvent | None:
    """Return the event that a body tells of; None where it is none of the table."""
    reader = READERS.get(signature)
    return reader(document) if reader is not None and isinstance(document, Mapping) else None


def refusal_of_event_or_empty(options: Mapping[str, Any], document: Any) -> str:
    """Say why this body starts nothing, or ""."""
    expected = options.get("event", "")
    if not expected:
        return ""
    event = read_event_or_none(options["signature"], document)
    if event is None or expected not in (event.key, event.also):
        actual = f" It tells of: {EVENTS[event.key].lower()}." if event else ""
        return f"It is another event than the trigger waits for.{actual}"
    values: Mapping[str, Iterable[str] | None] = {
        "branch": [event.branch] if event.branch else None,
        "files": event.files,
        "author": [event.author] if event.author else None,
        "label": event.labels,
    }
    for name, label in FILTERS.items():
        patterns = [part.strip() for part in options.get(name, "").split(",") if part.strip()]
        if patterns and not _is_any_matching(
            patterns, values[name] or (), is_name=name in ("author", "label")
        ):
            return f"{label}: none is {' or '.join(patterns)}."
    return ""


def _is_any_matching(patterns: Iterable[str], values: Iterable[str], *, is_name: bool) -> bool:
    """Hosts tell names apart regardless of case, and neither branches nor files."""
    folded = [(value.lower() if is_name else value) for value in values]
    return any(
        fnmatchcase(value, pattern.lower() if is_name else pattern)
        for pattern in patterns
        for value in folded
    )


def _value_at_keys(document: Any, *keys: str) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _text_at_keys_or_empty(document: Any, *keys: str) -> str:
    value = _value_at_keys(document, *keys)
    return value if isinstance(value, str) else ""


def _names_of_rows(rows: Any, key: str) -> tuple[str, ...]:
    return tuple(_text_at_keys_or_empty(row, key) for row in rows) if isinstance(rows, list) else ()


def _changed_files_of_commits(commits: Any) -> tuple[str, ...]:
    rows = commits if isinstance(commits, list) else []
    names = (
        name
        for row in rows
        for kind in ("added", "modified", "removed")
        for name in (_value_at_keys(row, kind) if isinstance(_value_at_keys(row, kind), list) else [])
    )
    return tuple(
        name for name, _number in zip(names, range(MAX_FILES), strict=False) if isinstance(name, str)
    )


def _push_event_of_document_or_none(document: Any, author: str) -> HostEvent | None:
    ref, commit = _text_at_keys_or_empty(document, "ref"), _text_at_keys_or_empty(document, "after")
    if not ref.startswith(REF) or not isinstance(_value_at_keys(document, "commits"), list):
        return None
    # Of a deleted branch a host tells forty zeros as its commit
    if commit and not commit.strip("0"):
        return None
    return HostEvent(
        "pushed", author, ref.removeprefix(REF), files=_changed_files_of_commits(document["commits"])
    )


def _is_gateline_command(text: str) -> bool:
    return text.split(maxsplit=1)[:1] == [COMMAND]


def _github_event_or_none(document: Any) -> HostEvent | None:
    action = _text_at_keys_or_empty(document, "action")
    if isinstance(_value_at_keys(document, "comment"), Mapping):
        is_command = action == "created" and _is_gateline_command(
            _text_at_keys_or_empty(document, "comment", "body")
        )
        return (
            HostEvent(COMMENT, _text_at_keys_or_empty(document, "comment", "user", "login"))
            if is_command
            else None
        )
    for name in ("check_run", "check_suite", "workflow_run"):
        if isinstance(check := _value_at_keys(document, name), Mapping):
            branch = _text_at_keys_or_empty(check, "head_branch") or _text_at_keys_or_empty(
                check, "check_suite", "head_branch"
            )
            has_failed = action == "completed" and _text_at_keys_or_empty(check, "conclusion") in FAILED
            return (
                HostEvent("check_failed", _text_at_keys_or_empty(document, "sender", "login"), branch)
                if has_failed
                else None
            )
    if isinstance(request := _value_at_keys(document, "pull_request"), Mapping):
        return _request_event_or_none(request, action)
    if isinstance(issue := _value_at_keys(document, "issue"), Mapping):
        keys = {"opened": "issue_opened", "labeled": "issue_labelled", "label_updated": "issue_labelled"}
        new = _text_at_keys_or_empty(document, "label", "name")
        labels = (new,) if new else _names_of_rows(_value_at_keys(issue, "labels"), "name")
        return (
            HostEvent(keys[action], _text_at_keys_or_empty(issue, "user", "login"), labels=labels)
            if action in keys
            else None
        )
    return _push_event_of_document_or_none(
        document,
        _text_at_keys_or_empty(document, "sender", "login")
        or _text_at_keys_or_empty(document, "pusher", "name"),
    )


def _request_event_or_none(request: Any, action: str) -> HostEvent | None:
    key = "request_opened" if action in ("opened", "reopened") else ""
    if action == "closed" and _value_at_keys(request, "merged") is True:
        key = "merged"
    labels = _names_of_rows(_value_at_keys(request, "labels"), "name")
    author, branch = (
        _text_at_keys_or_empty(request, "user", "login"),
        _text_at_keys_or_empty(request, "base", "ref"),
    )
    return HostEvent(key, author, branch, labels) if key else None


def _gitea_event_or_none(document: Any) -> HostEvent | None:
    # Told of a commit status: nothing else has a state and a context
    if _text_at_keys_or_empty(document, "state") and _text_at_keys_or_empty(document, "context"):
        branches = _names_of_rows(_value_at_keys(document, "branches"), "name")
        author = _text_at_keys_or_empty(document, "sender", "login")
        has_failed = _text_at_keys_or_empty(document, "state") in FAILED
        return HostEvent("check_failed", author, branches[0] if branches else "") if has_failed else None
    return _github_event_or_none(document)


def _gitlab_event_or_none(document: Any) -> HostEvent | None:
    kind, action = (
        _text_at_keys_or_empty(document, "object_kind"),
        _text_at_keys_or_empty(document, "object_attributes", "action"),
    )
    author = _text_at_keys_or_empty(document, "user", "username") or _text_at_keys_or_empty(
        document, "user_username"
    )
    labels = _names_of_rows(_value_at_keys(document, "labels"), "title")
    if kind == "push":
        return _push_event_of_document_or_none(document, author)
    if kind == "note":
        is_command = _is_gateline_command(_text_at_keys_or_empty(document, "object_attributes", "note"))
        # Told of a comment that was edited, too; servers of before named no action
        return HostEvent(COMMENT, author) if is_command and action in ("", "create") else None
    if kind == "issue":
        if action == "open":
            # Nothing else is told of the labels that it begins with
            also = "issue_labelled" if labels else ""
            return HostEvent("issue_opened", author, labels=labels, also=also)
        before = _names_of_rows(_value_at_keys(document, "changes", "labels", "previous"), "title")
        new = tuple(
            name
            for name in _names_of_rows(_value_at_keys(document, "changes", "labels", "current"), "title")
            if name not in before
        )
        return HostEvent("issue_labelled", author, labels=new) if new else None
    if kind == "merge_request":
        keys = {"open": "request_opened", "reopen": "request_opened", "merge": "merged"}
        branch = _text_at_keys_or_empty(document, "object_attributes", "target_branch")
        return HostEvent(keys[action], author, branch, labels) if action in keys else None
    if kind in ("pipeline", "build"):
        has_failed = FAILED_STATUS in (
            _text_at_keys_or_empty(document, "object_attributes", "status"),
            _text_at_keys_or_empty(document, "build_status"),
        )
        branch = _text_at_keys_or_empty(document, "object_attributes", "ref") or _text_at_keys_or_empty(
            document, "ref"
        )
        return HostEvent("check_failed", author, branch) if has_failed else None
    return None


FAILED_STATUS: Final = "failed"
READERS: Final[dict[str, Callable[[Any], HostEvent | None]]] = {
    "github": _github_event_or_none,
    "gitlab": _gitlab_event_or_none,
    "gitea": _gitea_event_or_none,
}
"""{signature: reader}. One line adds a host."""
