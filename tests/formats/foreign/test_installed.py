"""Systems and lint checks of installed packages: found by entry points, told where they fail, deciding nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.formats import native
from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.known_systems import systems_by_key
from pipelines.routing.analysis.lint.run import cause_label_of_check, lint_line
from pipelines.routing.basics.plugins import load_plugins_or_faults
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import read_line

MODULE = """\
from pipelines.formats.foreign.system import ForeignSystem, sign_of_object_with_keys
from pipelines.routing.analysis.lint.finding import ERROR, Finding

STATION = {"key": "a", "work": {"kind": "manual"}, "rules": [{"id": "r", "to": "completed"}]}


def read(given, import_notes):
    if given["jobs"] == "broken":
        raise KeyError("steps")
    if given["jobs"] == "odd":
        return {"stations": object()}
    import_notes.note_loss("jobs", "they run one after another")
    return {"gateline": 1, "key": "j", "name": "Jobs", "stations": [STATION]}


def fails(given):
    raise RuntimeError("no sign")


JOBS_SIGNS = (sign_of_object_with_keys("jobs"),)
JOBS = ForeignSystem(key="jobs", name="Jobs", what="a file of jobs", signs=JOBS_SIGNS, read=read)
TAKES = ForeignSystem(key="contenox", name="Mine", what="mine", signs=(lambda given: "tasks",), read=read)
FAILS = ForeignSystem(key="fails", name="Fails", what="what fails", signs=(fails,), read=read)


class Named:
    @staticmethod
    def check(subject):
        yield Finding("dead-rule", ERROR, "stations[0]", "A station has a name here.")


class Broken:
    @staticmethod
    def check(subject):
        yield Finding("a", ERROR, "", "This one is not told.")
        raise ValueError("no idea")


class Severe:
    @staticmethod
    def check(subject):
        yield Finding("a", "fatal", "", "This one is not told.")
"""
ENTRIES = """\
[gateline.formats]
a-fails = jobs_plugin:FAILS
b-absent = jobs_plugin:ABSENT
jobs = jobs_plugin:JOBS
takes = jobs_plugin:TAKES
[gateline.lint]
broken = jobs_plugin:Broken
named = jobs_plugin:Named
severe = jobs_plugin:Severe
"""
CHAIN = '{"id": "x", "tasks": [{"id": "a", "handler": "noop"}]}'


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package as pip leaves it."""
    (tmp_path / "jobs_plugin.py").write_text(MODULE)
    info = tmp_path / "jobs_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jobs-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    for cached in (load_plugins_or_faults, systems_by_key):
        cached.cache_clear()
    yield
    for cached in (load_plugins_or_faults, systems_by_key):
        cached.cache_clear()


def test_its_document_is_read_and_what_another_one_raised_is_told() -> None:
    opened = document_import.import_document("jobs: []\n")
    assert (opened.dialect, opened.system_name, opened.document["key"]) == ("jobs", "Jobs", "j")
    told = [str(loss) for loss in opened.losses]
    assert told[0] == "line 1, column 1: jobs: they run one after another"
    assert "“b-absent” of an installed package failed: AttributeError" in told[1]
    assert told[2] == "“fails” of an installed package failed: RuntimeError: no sign"


@pytest.mark.parametrize(("jobs", "said"), [("broken", "KeyError: 'steps'"), ("odd", "DocumentError")])
def test_a_document_that_its_reader_fails_on_is_refused_by_its_name(jobs: str, said: str) -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(f"jobs: {jobs}\n")
    assert f"“jobs” of an installed package failed: {said}" in str(error.value.problems[0].message)


def test_it_takes_nothing_from_the_systems_that_are_known() -> None:
    opened = document_import.import_document(CHAIN)
    assert (opened.system_name, opened.document["preset"]) == ("contenox", "contenox")
    own = "gateline: 1\nkey: a\nstations: [{key: b, work: {kind: manual}}]\n"
    assert document_import.import_document(own).dialect == "" and native.loads(own)["key"] == "a"


def test_a_check_adds_findings_and_takes_none_away() -> None:
    rules = [{"id": "r", "to": "completed"}, {"id": "never", "to": "completed"}]
    line = read_line(
        {"gateline": 1, "key": "j", "stations": [{"key": "a", "work": {"kind": "manual"}, "rules": rules}]}
    )
    findings = lint_line(line)
    own = [finding for finding in findings if not finding.check.startswith("installed:")]
    assert [finding.check for finding in own if finding.severity == "error"] == ["dead-rule"]
    added = {finding.check: finding for finding in findings if finding not in own}
    assert (added["installed:named"].severity, added["installed:named"].path) == ("error", "stations[0]")
    assert added["installed:broken"].severity == "warning", "what it raised is told, and decides nothing"
    assert "failed: ValueError: no idea" in str(added["installed:broken"].message)
    assert "failed: ValueError" in str(added["installed:severe"].message)
    assert len(added) == 3 and str(cause_label_of_check("installed:named")) == "Checks of installed packages"
