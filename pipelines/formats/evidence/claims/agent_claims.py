"""Claims of an agent, of a closed list: tests, files, commands, dependencies. Read strictly: a sentence that
is none of these forms, or that hopes, asks or denies, is no claim that anybody can check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

TESTS, FILES, COMMANDS, DEPENDENCIES, OTHER = "tests", "files", "commands", "dependencies", "other"
MOST = 60
LONGEST = 400


@dataclass(frozen=True, slots=True)
class AgentClaim:
    """`form`: what is claimed of `subject` (a path, a command, a name) or of `number` tests; "" of what nobody can
    check."""

    kind: str
    form: str
    text: str
    subject: str = ""
    number: int = 0


_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_UNSURE: Final = re.compile(
    r"\b(?:not|never|should|would|will|could|may|might|must|if|unless|until|once|before|when|expect\w*|need\w*|please|"
    r"try|cannot|can|todo|except|but|only|previously|earlier|already)\b|n't\b|\?",
    re.IGNORECASE,
)
_PAST = r"(?:now )?(?:pass|passed|passes|are passing|are green|succeed|succeeded)"
_WHAT = r"(?:unit |integration |existing |new )?"
_FAILING = r"(?:failed tests|failing tests|test failures|tests failed|tests fail|tests are failing)"
# With a folder, or with an ending: “src/app”, “README.md”
_PATH = r"`?(?P<path>[\w@][\w.@+-]*(?:/[\w.@+-]+)+|[\w@][\w@+-]*\.[A-Za-z][A-Za-z0-9]{0,7})`?"
_FILE = rf"(?:the |a |new |file )*{_PATH}(?=[\s,.;:)]|$)"
_MORE: Final = re.compile(rf"\s*(?:,? and |, ){_FILE}")
_I = r"^(?:[-*] )?(?:I (?:have |also )?)?"

TABLE: Final[tuple[tuple[str, str, bool, re.Pattern[str]], ...]] = tuple(
    (kind, form, sure, re.compile(pattern, re.IGNORECASE))
    for kind, form, sure, pattern in (
        (TESTS, "all_pass", True, rf"\ball (?:of )?(?:the )?(?P<n>\d{{1,18}} )?{_WHAT}tests {_PAST}\b"),
        (TESTS, "all_pass", True, rf"^(?:[-*] )?(?:the )?{_WHAT}tests {_PAST}\b"),
        (TESTS, "none_fail", True, rf"\b(?:no|0|zero) {_FAILING}\b"),
        (TESTS, "count_pass", True, rf"\b(?P<n>\d{{1,18}}) {_WHAT}tests? {_PAST}\b"),
        (TESTS, "count_pass", True, r"^(?:[-*] )?(?:pytest: )?(?P<n>\d{1,18}) passed\b"),
        (FILES, "created", True, rf"{_I}(?:created|added) {_FILE}"),
        (
            FILES,
            "changed",
            True,
            rf"{_I}(?:wrote|made|changed|modified|updated|edited|fixed|rewrote) {_FILE}",
        ),
        (FILES, "deleted", True, rf"{_I}(?:deleted|removed) {_FILE}"),
        (
            FILES,
            "tests_kept",
            False,
            r"\bno tests? (?:were |was |have been )?(?:changed|modified|touched|edited)\b",
        ),
        (
            FILES,
            "tests_kept",
            False,
            r"\b(?:did not|didn't|have not|haven't) (?:change|modif|touch|edit)\w* (?:any |the )?tests?\b",
        ),
        (COMMANDS, "ran", True, rf"{_I}ran `(?P<command>[^`]+)`"),
        (
            COMMANDS,
            "passed",
            True,
            r"^(?:[-*] )?`(?P<command>[^`]+)` (?:now )?"
            r"(?:passes|passed|succeeds|succeeded|exits 0|exited 0|exits with 0|is clean)\b",
        ),
        (
            DEPENDENCIES,
            "none",
            False,
            r"\bno (?:new )?dependenc(?:y|ies) (?:is |are |was |were )?(?:added|needed|required|introduced)\b",
        ),
        (DEPENDENCIES, "none", False, r"\b(?:did not|didn't) add (?:any |a )?(?:new )?dependenc(?:y|ies)\b"),
        (DEPENDENCIES, "none", False, r"^(?:[-*] )?no new dependenc(?:y|ies)\b"),
        (
            DEPENDENCIES,
            "added",
            True,
            rf"{_I}added (?:the )?dependency `?(?P<name>[A-Za-z0-9@][\w.@/-]*\w)`?",
        ),
        (
            DEPENDENCIES,
            "added",
            True,
            rf"{_I}added `(?P<name>[A-Za-z0-9@][\w.@/-]*)` as a (?:new )?dependency\b",
        ),
    )
)
"""(kind, form, whether a doubt in the sentence takes the claim away, its words). The first of a kind that matches
counts."""


def agent_claims(text: str) -> list[AgentClaim]:
    """Every sentence: what it claims, or that nobody can check it."""
    claims: list[AgentClaim] = []
    for sentence in filter(None, (part.strip() for part in _SENTENCES.split(text[:20_000]))):
        claims += list(_sentence_claims(sentence)) or [AgentClaim(OTHER, "", sentence[:LONGEST])]
        if len(claims) >= MOST:
            break
    return claims[:MOST]


def _sentence_claims(sentence: str) -> Iterator[AgentClaim]:
    # A word within a command or a name is no doubt: `npm run try`.
    unsure = _UNSURE.search(re.sub(r"`[^`]*`", "", sentence)) is not None
    kinds: set[str] = set()
    for kind, form, sure, pattern in TABLE:
        match = pattern.search(sentence)
        if match is None or kind in kinds or (sure and unsure):
            continue
        kinds.add(kind)
        groups = match.groupdict()
        text = sentence[:LONGEST]
        if groups.get("path"):
            # “added lodash.js as a dependency” names no file.
            if kind == FILES and re.match(r"\s+as an? (?:new )?dependency", sentence[match.end() :]):
                continue
            yield AgentClaim(kind, form, text, _clean_path(groups["path"]))
            place = match.end()
            while more := _MORE.match(sentence, place):
                yield AgentClaim(kind, form, text, _clean_path(more["path"]))
                place = more.end()
        else:
            number = int((groups.get("n") or "0").strip())
            subject = " ".join((groups.get("command") or groups.get("name") or "").split())
            yield AgentClaim(kind, form, text, subject, min(number, 10**9))


def _clean_path(text: str) -> str:
    return text.removeprefix("./").rstrip(".")
