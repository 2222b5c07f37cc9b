"""The commits that Gateline makes: who, when, and what their message says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dulwich.objects import Commit, ObjectID
from dulwich.refs import Ref, check_ref_format

from pipelines.routing.basics.hidden_characters import shortened_at_word

# No name below `.invalid` exists, so the address is nobody's.
COMMITTER = b"Gateline <gateline@gateline.invalid>"
DELIVERY = "Gateline-Delivery"
# Characters that programs show of the first line
SUBJECT = 72
TASK_BRANCHES = "gateline"
"""The branches of tasks lie below this name, unless their line says otherwise."""
LONGEST = 10_000


def new_commit(
    tree: ObjectID,
    parents: Sequence[str],
    message: str,
    at: int,
    author: bytes = COMMITTER,
) -> Commit:
    """The same values make the same commit. `at`: seconds since 1970."""
    new_commit = Commit()
    new_commit.tree = tree
    new_commit.parents = [ObjectID(parent.encode()) for parent in parents]
    new_commit.author, new_commit.committer = author, COMMITTER
    new_commit.author_time = new_commit.commit_time = at
    # UTC: the offset of a machine would make another commit of the same values
    new_commit.author_timezone = new_commit.commit_timezone = 0
    new_commit.encoding = b"UTF-8"
    new_commit.message = message.encode()
    return new_commit


def station_author(name: str, key: str) -> bytes:
    """A station or its agent, as an author: no address of theirs is anybody's."""
    plain = re.sub(r"[<>\x00-\x1f\x7f]", " ", name).strip() or key
    return (
        f"{plain[:100]} <{re.sub(r'[^a-z0-9._-]', '-', key.lower()) or 'station'}@gateline.invalid>".encode()
    )


def commit_message(subject: str, body: str, trailers: Mapping[str, str]) -> str:
    """`body` is a paragraph of ours. A subject that is cut stands whole below, in quotes: no value begins a line, so
    none can pass for a trailer."""
    full_subject = one_line(subject)
    first = shortened_at_word(full_subject, SUBJECT)
    quoted_subject = f"“{full_subject[:LONGEST]}”" if first != full_subject else ""
    lines = [f"{name}: {one_line(value)}" for name, value in trailers.items() if value]
    parts = [first, quoted_subject, body, "\n".join(lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def is_branch(name: str) -> bool:
    """Return whether git accepts it as the name of a branch, and no program reads it as an option."""
    encoded = name.encode(errors="replace")
    return (
        not name.startswith(("-", "refs/"))
        and name.isprintable()
        and " " not in name
        and len(encoded) <= 200
        and name != "HEAD"
        and check_ref_format(Ref(b"refs/heads/" + encoded))
    )
