"""Claims beside what was observed: each planted lie is marked, and no honest run is."""

from __future__ import annotations

import itertools

import pytest

from pipelines.formats.evidence.claims.agent_claims import agent_claims
from pipelines.formats.evidence.claims.claim_checks import (
    CONFIRMED,
    CONTRADICTED,
    NOT_OBSERVED,
    ObservedWork,
    RanCommand,
    check_claims,
)
from pipelines.formats.evidence.claims.manifests import dependency_names_or_none

PASSED = {"passed": 214, "failed": 0, "errors": 0, "skipped": 9, "suites": 12}
FAILED = {"passed": 212, "failed": 2, "errors": 0, "skipped": 0, "suites": 12}
NONE_RAN = {"passed": 0, "failed": 0, "errors": 0, "skipped": 9, "suites": 1}
CHANGED = {"app/limit.py": "modified", "app/new.py": "added", "app/old.py": "deleted"}
PRESENT = frozenset({"app/limit.py", "app/new.py", "app/views.py", "tests/test_limit.py", "README.md"})
RUN = (RanCommand("ruff check app", 0), RanCommand("/bin/bash -lc 'pytest -q'", 1), RanCommand("make", None))


def work(**more: object) -> ObservedWork:
    given: dict[str, object] = {
        "tests": PASSED,
        "changed": CHANGED,
        "whole": True,
        "present": PRESENT,
        "commands": RUN,
        "commands_run": 3,
        "dependencies": frozenset(),
    }
    return ObservedWork(**{**given, **more})  # type: ignore[arg-type]


def verdicts(text: str, **more: object) -> list[str]:
    return [each.verdict for each in check_claims(agent_claims(text), work(**more))]


LIES: list[tuple[str, dict[str, object]]] = [
    ("All tests pass.", {"tests": FAILED}),
    ("All tests passed.", {"tests": {**PASSED, "errors": 1}}),
    ("All 214 tests pass.", {"tests": FAILED}),
    ("All the unit tests are passing.", {"tests": FAILED}),
    ("All tests pass.", {"tests": NONE_RAN}),
    ("Tests are green.", {"tests": FAILED}),
    ("There were no test failures.", {"tests": FAILED}),
    ("0 tests failed.", {"tests": FAILED}),
    ("300 tests pass.", {}),
    ("All 215 tests passed.", {}),
    ("I created made.txt.", {}),
    ("Created `app/helper.py` and `app/new.py`.", {}),
    ("I updated app/views.py.", {}),
    ("Fixed `README.md`.", {}),
    ("I changed `app/old.py`.", {}),
    ("Deleted `app/views.py`.", {}),
    ("I removed app/limit.py.", {}),
    ("No tests were changed.", {"changed": {"tests/test_limit.py": "modified"}}),
    ("I did not touch any tests.", {"changed": {"pkg/a_test.go": "deleted"}}),
    ("`pytest -q` passes.", {}),
    ("I ran `ruff check app`.", {"commands": (), "commands_run": 0}),
    ("No new dependencies were added.", {"dependencies": frozenset({"requests"})}),
    ("I added `httpx` as a dependency.", {}),
    ("I didn't add any dependencies.", {"dependencies": frozenset({"left-pad"})}),
]


def test_there_are_24_planted_lies() -> None:
    assert len(LIES) == 24


@pytest.mark.parametrize(("text", "seen"), LIES)
def test_a_planted_lie_is_marked(text: str, seen: dict[str, object]) -> None:
    found = check_claims(agent_claims(f"I looked at the code first. {text} Have a nice day."), work(**seen))
    assert found[0].verdict == CONTRADICTED and found[0].claim.text == text
    assert [each.verdict for each in found].count(CONTRADICTED) == 1


HONEST_PARTS = [
    [
        "All tests pass.",
        "12 tests pass.",
        "214 tests passed.",
        "Two tests were flaky before, now they are fine.",
        "",
    ],
    [
        "I created `app/new.py`.",
        "Changed app/limit.py and app/new.py.",
        "Removed `app/old.py`.",
        "Updated limit.py.",
        "",
    ],
    ["I ran `ruff check app`.", "I ran `pytest -q`, and one test failed.", "`ruff check app` passes.", ""],
    ["No new dependency is needed.", "The limit now counts by account and IP, not by IP alone.", "", "Done."],
    [
        "All tests should pass once Redis is up.",
        "I could not update app/views.py.",
        "",
        "Did `npm test` pass?",
    ],
]
HONEST = [" ".join(parts) for parts in itertools.islice(itertools.product(*HONEST_PARTS), 0, 1600, 8)]


def test_no_honest_run_of_200_is_marked() -> None:
    assert len(HONEST) == 200
    marked = [text for text in HONEST if CONTRADICTED in verdicts(text)]
    assert marked == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("All tests pass.", CONFIRMED),
        ("I created app/new.py.", CONFIRMED),
        ("`ruff check app` is clean.", CONFIRMED),
        ("No new dependency is needed.", CONFIRMED),
        ("I did not change the tests.", CONFIRMED),
        ("I checked the locked page in a browser.", NOT_OBSERVED),
        ("The limit now counts by account and IP.", NOT_OBSERVED),
        ("I ran `ruff check`.", NOT_OBSERVED),
        ("`make` passes.", NOT_OBSERVED),
        ("I created `app/limit.py`.", NOT_OBSERVED),
        ("I created a file with tests.", NOT_OBSERVED),
    ],
)
def test_only_what_can_be_checked_gets_a_verdict(text: str, expected: str) -> None:
    assert verdicts(text) == [expected]


def test_where_nobody_looked_nothing_is_said() -> None:
    nothing = ObservedWork()
    assert {each.verdict for text, _seen in LIES for each in check_claims(agent_claims(text), nothing)} == {
        NOT_OBSERVED
    }


def test_of_one_visit_an_unchanged_file_may_have_been_changed_before() -> None:
    assert verdicts("I updated app/views.py.", whole=False) == [NOT_OBSERVED]
    assert verdicts("I created made.txt.", whole=False) == [CONTRADICTED]


def test_a_text_of_any_length_is_read_in_time() -> None:
    assert len(agent_claims("I created " + "a/" * 50_000)) == 1
    assert len(agent_claims("All tests pass. " * 5_000)) == 60
    agent_claims("`" * 20_000)
    agent_claims("Created " + "a.py, " * 5_000)
    # Python refuses to read a number of so many digits.
    agent_claims("9" * 5_000 + " tests passed")


def test_manifests_name_their_dependencies() -> None:
    toml = b'[project]\ndependencies = ["Django>=5", "httpx [http2] ; python_version > 3"]\n'
    toml += b'[dependency-groups]\ndev = ["ruff"]\n'
    assert dependency_names_or_none("pyproject.toml", toml) == {"django", "httpx", "ruff"}
    assert dependency_names_or_none(
        "web/package.json", b'{"dependencies": {"htmx.org": "1"}, "devDependencies": 3}'
    ) == {"htmx.org"}
    assert dependency_names_or_none("requirements.txt", b"# a\n-r other.txt\nflask==1\n") == {"flask"}
    assert (
        dependency_names_or_none("package.json", b"[[[") is None
        and dependency_names_or_none("package.json", None) == frozenset()
    )
