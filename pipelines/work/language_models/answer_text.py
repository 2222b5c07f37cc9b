"""The yes or no in a text, at its end (law §3: any other word is not an answer, of several the last counts). Pure. An
ambiguous text answers nothing: then a person is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.work.results.output import Unreadable, parse_storable_json

WORDS = ("yes", "no")
# A line that says nothing else: `yes`, `**No.**`, `> Answer: yes`
ALONE = re.compile(r"[\s*_`\"'#>-]*(?:answer\s*[:=]\s*)?[*_`\"']*(yes|no)[\s*_`\"'.!]*\Z", re.IGNORECASE)
WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
# A text that is one code block as a whole, as models like to wrap JSON
FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class ModelVerdict:
    """`word` is "" where the text gives no answer; `why`: the explanation that came with it."""

    word: str
    why: str


def parsed_verdict(text: str) -> ModelVerdict:
    """Parse a model's answer: one JSON object {answer, explanation}; else the last line that says only yes or
    no; else the last line, if it holds one of the two words and not the other."""
    return (
        _verdict_in_json_or_none(text)
        or _verdict_in_line_or_none(text)
        or _verdict_in_last_line_or_none(text)
        or ModelVerdict("", text.strip())
    )


def _verdict_in_json_or_none(text: str) -> ModelVerdict | None:
    fenced = FENCED.match(text)
    try:
        value = parse_storable_json(fenced.group(1) if fenced else text, "answer")
    except Unreadable:
        return None
    word = value.get("answer") if isinstance(value, dict) else None
    if not isinstance(word, str) or word.strip().lower() not in WORDS:
        return None
    why = value.get("explanation")
    return ModelVerdict(word.strip().lower(), why.strip() if isinstance(why, str) else "")


def _verdict_in_line_or_none(text: str) -> ModelVerdict | None:
    lines = text.splitlines()
    for index in range(len(lines) - 1, -1, -1):
        match = ALONE.match(lines[index])
        if match:
            rest = [*lines[:index], *lines[index + 1 :]]
            return ModelVerdict(match.group(1).lower(), "\n".join(rest).strip())
    return None


def _verdict_in_last_line_or_none(text: str) -> ModelVerdict | None:
    lines = text.strip().splitlines()
    words = {word.lower() for word in WORD.findall(lines[-1])} if lines else set()
    return ModelVerdict(words.pop(), text.strip()) if len(words) == 1 else None
