"""What a trace notes, as sentences: names and plain words, and what is unknown as it stands."""

from __future__ import annotations

import pytest

from pipelines.routing.sentences.trace_notes import note_words
from tests.routing.support import line

LINE = line({"key": "build", "name": "Build"}, gates=[{"key": "code-review", "name": "Code review"}])


@pytest.mark.parametrize(
    "why, said",
    [("code-review: proceed, shown only", "Code review: its checks are shown only, a person decides."),
     ("code-review: no checks", "Code review has no checks."),
     ("code-review: reject", "Code review was rejected."),
     ("code-review: its tool says pass", "Code review: its tool says pass"),
     ("waits for code-review", "Waits for Code review."),
     ("on_failure: halt", "The policy on a failure: task fails."),
     ("on_failure: halt after compose_failed", "The policy on a failure: task fails."),
     ("no_match: station:build", "The policy where no rule matched: on to Build."),
     ("nothing_done counts as failure",
      "Nothing was changed, and a change was expected. That counts as failure here."),
     ("goes to build (by rule)", "Goes to Build (by its rule)."),
     ("goes to build + completed (by policy)", "Goes to Build + Completed (by the policy)."),
     ("goes to @blocked (by fallback)", "Stays here, blocked (by the fallback)."),
     ("goes to build (by magic)", "goes to build (by magic)"),
     ("This task has been at build before, and may not return.",
      "This task has been at Build before, and may not return."),
     ("This task has entered build 3 times; the cap is 3.",
      "This task ran Build 3 times; the limit is 3."),
     ("build and gone must never run in parallel.", "Build and gone must never run in parallel."),
     ("waits for nobody", "waits for nobody"), ("", "")],
)  # fmt: skip
def test_a_note_says_names_and_what_happens(why: str, said: str) -> None:
    assert note_words(LINE, why) == said
