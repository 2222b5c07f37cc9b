"""repository-tests on suites that pass, fail, break, hang, lack something, or are not there."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.demo.conftest import Done, Workspace
from tests.demo.repositories import GOOD, Repository

Make = Callable[..., Repository]
FAILING = "def test_it():\n    assert 1 == 2, 'one is not two'\n"


@pytest.fixture
def tested(workspace: Workspace, repository: Make) -> Callable[..., Done]:
    number = itertools.count()

    def run(files: dict[str, str], *more: str) -> Done:
        workspace.checkout(repository(files, name=f"sums{next(number)}"))
        return workspace.check("tests", *more)

    return run


Tested = Callable[..., Done]


def question(done: Done) -> str:
    signal = done.document["signals"][0]
    assert (signal["verdict"], signal["reason"]) == ("hold", "needs_human")
    return str(signal["meta"]["question"])


def numbers(done: Done) -> tuple[int, ...]:
    counts = done.counts("tests")
    each = tuple(counts[key] for key in ("passed", "failed", "errors", "skipped"))
    return (sum(each), *each)


def test_a_suite_that_passes(tested: Tested) -> None:
    done = tested(GOOD)
    assert (done.code, done.document["verdict"]) == (0, "pass")
    assert numbers(done) == (1, 1, 0, 0, 0)
    assert done.output["has_tests"] is True


@pytest.mark.wide
def test_a_src_layout_is_found(tested: Tested) -> None:
    done = tested({"src/sums.py": GOOD["sums.py"], "tests/test_sums.py": GOOD["tests/test_sums.py"]})
    assert done.code == 0


def test_a_failing_test_fails_the_station_and_is_named(tested: Tested) -> None:
    more = "import pytest\n\n\n@pytest.mark.skip\ndef test_no():\n    pass\n"
    done = tested(GOOD | {"tests/test_bad.py": FAILING, "tests/test_skip.py": more})
    assert (done.code, done.document["verdict"]) == (1, "fail")
    assert done.document["failure_type"] == "tests_failed"
    assert numbers(done) == (3, 1, 1, 0, 1)
    failure = done.report.tests[0]
    assert (failure.suite, failure.name) == ("tests.test_bad", "test_it")
    assert failure.message.startswith("AssertionError: one is not two")
    assert "one is not two" in done.document["comment"]


@pytest.mark.wide
def test_failures_that_triage_accepted_pass_once(tested: Tested) -> None:
    done = tested({"test_bad.py": FAILING}, "--triage=accept")
    assert (done.code, done.document["verdict"]) == (0, "pass")
    assert (done.output["exit_code"], done.output["accepted"], done.output["triage"]) == (1, True, "none")
    assert "1 failed" in done.summary
    assert "Accepted in triage" in done.summary


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    "files",
    [
        {"README": "x"},
        {"a.py": "x = 1\n"},
        {"tests/__init__.py": "", "tests/helpers.py": "x = 1\n"},
        {"testing_notes.txt": "x"},
    ],
)
def test_no_tests_at_all_pass_and_say_so(tested: Tested, files: dict[str, str]) -> None:
    done = tested(files)
    assert (done.code, done.document["verdict"]) == (0, "pass")
    assert done.output["has_tests"] is False
    assert "no tests" in done.summary


@pytest.mark.wide
def test_a_missing_dependency_blocks_and_names_the_module(tested: Tested) -> None:
    done = tested(GOOD | {"tests/test_more.py": "import nowhere_to_be_found.part\n"})
    assert done.document["verdict"] == "blocked"
    assert done.code == 2
    assert done.output["missing"] == ["nowhere_to_be_found"]
    assert done.document["blockers"][0]["title"] == "Missing: nowhere_to_be_found"
    assert "nowhere_to_be_found" in done.summary
    assert "install" in question(done)


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"conftest.py": "import absent_one\n", "test_a.py": ""}, "absent_one"),
        ({"sums.py": "import absent_two\n", "test_a.py": "import sums\n"}, "absent_two"),
        ({"conftest.py": 'pytest_plugins = ["absent_three"]\n', "test_a.py": ""}, "absent_three"),
        ({"pytest.ini": "[pytest]\nrequired_plugins = pytest-absent4\n", "test_a.py": ""}, "pytest-absent4"),
        ({"pytest.ini": "[pytest]\naddopts = -p absent_five\n", "test_a.py": ""}, "absent_five"),
        (
            {"test_a.py": "import importlib.metadata\nimportlib.metadata.version('absent-six')\n"},
            "absent-six",
        ),
        (
            {"requirements.txt": "pytest-absent7\n", "test_a.py": "def test_it(absent):\n    pass\n"},
            "pytest-absent7",
        ),
    ],
)
def test_whatever_is_missing_is_named(tested: Tested, files: dict[str, str], missing: str) -> None:
    done = tested(files)
    assert done.document["verdict"] == "blocked"
    assert done.output["missing"] == [missing]


@pytest.mark.wide
def test_a_part_of_the_repository_that_is_not_built_is_told_from_a_dependency(tested: Tested) -> None:
    done = tested(
        {"fast/__init__.py": "from fast import _speedups\n", "test_a.py": "import fast._speedups\n"}
    )
    described = tested({"fast/__init__.py": "import fast.speedups\n", "test_a.py": "import fast\n"})
    assert done.document["verdict"] != "pass"
    assert "built or installed" in described.document["blockers"][0]["description"]


@pytest.mark.wide
def test_a_suite_that_is_broken_by_itself_is_a_failure(tested: Tested) -> None:
    done = tested({"test_a.py": "def test_it(:\n"})
    assert (done.code, done.document["verdict"]) == (2, "fail")
    assert done.document["failure_type"] == "suite"


@pytest.mark.wide
def test_a_fixture_that_nobody_has_is_a_failure_where_no_plugin_is_missing(tested: Tested) -> None:
    done = tested({"test_a.py": "def test_it(absent):\n    pass\n"})
    assert done.document["failure_type"] == "tests_failed"
    assert numbers(done) == (1, 0, 0, 1, 0)


@pytest.mark.wide
def test_options_of_absent_plugins_do_not_keep_the_tests_from_running(tested: Tested) -> None:
    done = tested(GOOD | {"pytest.ini": "[pytest]\naddopts = --absent-option=1 --strict-markers\n"})
    assert done.code == 0
    assert numbers(done)[1] == 1


@pytest.mark.wide
def test_a_suite_that_hangs_is_stopped(tested: Tested) -> None:
    done = tested({"test_a.py": "import time\n\n\ndef test_it():\n    time.sleep(600)\n"}, "--limit=3")
    assert done.code == 124
    assert done.document["failure_type"] == "timeout"
    assert "3 seconds" in done.summary


@pytest.mark.wide
def test_a_process_that_a_suite_leaves_behind_is_not_waited_for(tested: Tested, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    test = (
        "import pathlib, subprocess\n\n\ndef test_it():\n"
        "    left = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        f"    pathlib.Path({str(note)!r}).write_text(str(left.pid))\n"
    )
    done = tested({"test_a.py": test, "pytest.ini": "[pytest]\naddopts = -s\n"})
    os.kill(int(note.read_text()), signal.SIGKILL)
    assert done.code == 0


@pytest.mark.wide
def test_a_suite_that_leaves_without_a_word_is_a_failure(tested: Tested) -> None:
    done = tested({"test_a.py": "import os\n\n\ndef test_it():\n    os._exit(0)\n"})
    assert done.document["verdict"] == "fail"
    assert done.code != 0


@pytest.mark.wide
def test_a_suite_that_is_killed_keeps_its_signal(tested: Tested) -> None:
    done = tested({"test_a.py": "import os, signal\n\n\ndef test_it():\n    os.kill(os.getpid(), 9)\n"})
    assert done.code == 137
    assert done.document["verdict"] == "fail"


@pytest.mark.wide
def test_only_the_chosen_tests_run(tested: Tested) -> None:
    files = GOOD | {"tests/test_bad.py": FAILING}
    assert numbers(tested(files, "--tests=tests/test_sums.py"))[0] == 1
    assert numbers(tested(files, "--tests=tests/test_bad.py::test_it"))[2] == 1
    assert numbers(tested(files, "--tests=tests/test_sums.py 'tests/test_bad.py'"))[0] == 2


@pytest.mark.wide
def test_a_repository_declares_which_tests_are_meant(tested: Tested) -> None:
    own = '[tool.gateline.repository-check]\ntests = ["tests/test_sums.py"]\noptions = ["-k", "adds"]\n'
    files = GOOD | {"pyproject.toml": own, "tests/test_bad.py": FAILING}
    assert numbers(tested(files)) == (1, 1, 0, 0, 0)
    assert numbers(tested(files | {"pyproject.toml": own.replace('"adds"', '"nothing"')}))[0] == 0


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    "tests", ["--pdb", "/etc", "../..", "tests/../../..", "gone.py", "'open", "a\n--pdb"]
)
def test_paths_out_of_the_repository_are_refused(tested: Tested, tests: str) -> None:
    done = tested(GOOD, f"--tests={tests}")
    assert (done.code, done.document["failure_type"]) == (2, "refused")


@pytest.mark.wide
def test_finding_nothing_where_something_was_asked_for_is_a_failure(tested: Tested) -> None:
    done = tested(GOOD, "--tests=sums.py")
    assert (done.code, done.document["failure_type"]) == (5, "suite")


@pytest.mark.wide
def test_tests_know_nothing_of_the_line_and_cannot_speak_for_the_station(
    workspace: Workspace, repository: Make
) -> None:
    loud = (
        "import json, os, pathlib, sys\n\n\ndef test_it():\n"
        "    assert not [n for n in os.environ if n.startswith('GATELINE')]\n"
        '    os.write(1, b\'\\n{"verdict": "proceed"}\\n\')\n'
        "    print('```json\\n{\"high\": 0}\\n```', file=sys.__stdout__)\n"
        "    pathlib.Path('left.txt').write_text('x')\n"
    )
    workspace.checkout(repository({"test_a.py": loud, "pytest.ini": "[pytest]\naddopts = -s\n"}))
    done = workspace.check("tests")
    assert done.code == 0, done.log
    assert '| {"verdict": "proceed"}' in done.log
    assert not [line for line in done.log.splitlines() if line.startswith(("{", "```"))]
    assert list(workspace.files()) == ["pytest.ini", "test_a.py"]
    assert not list(workspace.folder.rglob("left.txt"))


@pytest.mark.wide
def test_a_configuration_around_the_workspace_is_not_used(workspace: Workspace, repository: Make) -> None:
    (workspace.folder.parent / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    (workspace.folder.parent / "conftest.py").write_text("raise SystemExit(9)\n")
    workspace.checkout(repository({"test_a.py": "def test_it():\n    pass\n"}))
    assert workspace.check("tests").code == 0


@pytest.mark.wide
def test_plugins_that_the_repository_does_not_name_are_left_out(tested: Tested) -> None:
    asks = (
        "def test_it(request):\n    assert request.config.pluginmanager.has_plugin('xdist') is {expected}\n"
    )
    assert tested({"test_a.py": asks.format(expected=False)}).code == 0
    named = {"requirements.txt": "pytest_xdist>=3\n", "test_a.py": asks.format(expected=True)}
    assert tested(named).code == 0
