"""The commits that Gateline makes: who, when, and what their message says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dulwich.objects import Commit, ObjectID
from dulwich.refs import Ref, check_ref_format

from pipelines.routing.basics.visible import shortened

COMMITTER = b"Gateline <gateline@gateline.invalid>"
DELIVERY = "Gateline-Delivery"
SUBJECT = 72
TASK_BRANCHES = "gateline"
"""The branches of tasks lie below this name, unless their line says otherwise."""
LONGEST = 10_000


def commit(
    tree: ObjectID,
    parents: Sequence[str],
    message: str,
    at: int,
    author: bytes = COMMITTER,
) -> Commit:
    """The same values make the same commit. `at`: seconds since 1970."""
    found = Commit()
    found.tree = tree
    found.parents = [ObjectID(parent.encode()) for parent in parents]
    found.author, found.committer = author, COMMITTER
    found.author_time = found.commit_time = at
    found.author_timezone = found.commit_timezone = 0
    found.encoding = b"UTF-8"
    found.message = message.encode()
    return found


def person(name: str, key: str) -> bytes:
    """A station or its agent, as an author: no address of theirs is anybody's."""
    plain = re.sub(r"[<>\x00-\x1f\x7f]", " ", name).strip() or key
    return (
        f"{plain[:100]} <{re.sub(r'[^a-z0-9._-]', '-', key.lower()) or 'station'}@gateline.invalid>".encode()
    )


def message(subject: str, body: str, trailers: Mapping[str, str]) -> str:
    """`body` is a paragraph of ours. A subject that is cut stands whole below, in quotes: no value begins a line, so
    none can pass for a trailer."""
    said = one_line(subject)
    first = shortened(said, SUBJECT)
    whole = f"“{said[:LONGEST]}”" if first != said else ""
    lines = [f"{name}: {one_line(value)}" for name, value in trailers.items() if value]
    parts = [first, whole, body, "\n".join(lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def is_branch(name: str) -> bool:
    """Whether git takes it for the name of a branch, and no program for an option."""
    encoded = name.encode(errors="replace")
    return (
        not name.startswith(("-", "refs/"))
        and name.isprintable()
        and " " not in name
        and len(encoded) <= 200
        and name != "HEAD"
        and check_ref_format(Ref(b"refs/heads/" + encoded))
    )
