"""Lines that work in a repository: branches of tasks, commits of visits, and what was approved on the remote."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from pipelines.formats.receipts import verified_landed_change
from pipelines.models import Delivery, GateVisit, Snapshot, VisitCommit
from pipelines.ports.vault.signing import configured_receipt_key
from pipelines.queries.receipts import landed_change_or_none
from pipelines.work.git import trees
from pipelines.work.worker import repository
from tests.factories import World, station
from tests.fixtures.receipts import gateline_verify, in_clone, public_key
from tests.pages.conftest import client_of
from tests.work.driving import Bench, command, done, outcome_of, text_of
from tests.work.remotes import RemoteRepository, connect, remote
from tests.work.repository_lines import FIX, GATE, line, origin, run, to

__all__ = ["origin"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


def test_a_line_says_which_files_are_sensitive(world: World, bench: Bench, origin: RemoteRepository) -> None:
    task = world.start(line(world, sensitive=["app.*"]), title="Fix the answer")
    run(bench, task)
    facts = outcome_of(task, "fix")["facts"]["git"]
    assert (facts["paths"], facts["sensitive"]) == (["app.py", "new.txt"], ["app.py"])


def test_what_was_approved_is_what_lands(world: World, bench: Bench, origin: RemoteRepository) -> None:
    base = origin.head()
    task = world.start(line(world), title="Fix the answer")
    run(bench, task)
    assert world.status(task) == "awaiting_review", text_of(done(task, "fix"))
    facts = outcome_of(task, "fix")["facts"]["git"]
    assert facts["base"] == base and facts["commits"] == 1
    assert (facts["files_changed"], facts["insertions"], facts["deletions"]) == (2, 2, 1)
    assert facts["paths"] == ["app.py", "new.txt"] and facts["sensitive"] == []
    assert outcome_of(task, "check")["facts"]["git"]["head"] == facts["head"]
    source = outcome_of(task, "check")["facts"]["git"]["source"]
    assert source["before"] == source["tree"] == facts["tree"] != facts["source"]["before"]
    visit = world.visit(task)
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    landed = origin.commit()
    assert landed.tree.decode() == facts["tree"] == VisitCommit.objects.get(job__station="check").tree
    assert [each.decode() for each in landed.parents] == [base, facts["head"]]
    text = landed.message.decode()
    assert f"\nTask: {task.name}\n" in text and f"\nDecision: {visit.pk}\n" in text
    assert f"\nGateline-Delivery: {done(task, 'merge').pk}\n" in text
    assert origin.files() == {
        "app.py": b"x = 2\n",
        "new.txt": b"new\n",
        "tests/test_app.py": b"",
        "doc/a.md": b"a\n",
    }
    one = origin.commit(facts["head"])
    assert one.author == b"Fix <fix@gateline.invalid>"
    assert one.message.decode().startswith("Fix: Fix the answer\n\nTask: ")
    assert outcome_of(task, "merge")["output"]["branch"] == "main"
    delivery = Delivery.objects.get(task=task)
    assert (delivery.commit, delivery.tree, delivery.visit) == (origin.head(), facts["tree"], visit)
    receipt = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/receipt/")
    change = verified_landed_change(receipt.content, configured_receipt_key().public_key())
    assert (change.commit, change.tree, change.is_exact) == (origin.head(), facts["tree"], True)
    assert change.approval is not None and [each.word for each in change.approval.votes] == ["approve"]
    kept, pem = bench.base.parent / "receipt.json", public_key(bench.base.parent)
    kept.write_bytes(receipt.content)
    said = gateline_verify(
        kept, "--key", pem, "--approved", *in_clone(origin.path, "--commit", origin.head())
    )
    assert said.returncode == 0 and "Exactly what was approved." in said.stdout, said.stderr
    kept.write_bytes(receipt.content.replace(b"payload", b"payloae", 1))
    assert "Not valid" in gateline_verify(kept, "--key", pem).stderr
    page = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/").content.decode()
    assert "Exactly what was approved" in page and origin.head() in page and "gateline/" in page
    assert VisitCommit.objects.filter(task=task).first().branch == f"gateline/{task.name}-fix-the-answer"


@pytest.mark.wide
def test_one_commit_for_the_whole_task(world: World, bench: Bench, origin: RemoteRepository) -> None:
    base = origin.head()
    task = world.start(line(world, workspace={"commit": "squash"}), title="Fix the answer")
    run(bench, task)
    world.vote(task)
    run(bench, task)
    landed = origin.commit()
    assert [each.decode() for each in landed.parents] == [base]
    assert landed.message.decode().startswith("Fix the answer\n\n")


def test_what_changed_after_the_approval_does_not_land(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    base = origin.head()
    stations = [
        command("fix", FIX, to("sneak", gates=["review"])),
        command("sneak", "open('app.py', 'a').write('evil = 1\\n')", to("merge")),
        station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
    ]
    version = world.line(
        stations=stations,
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
        policy={"no_match": "stuck"},
    )
    task = world.start(version)
    run(bench, task)
    world.vote(task)
    run(bench, task)
    refused = outcome_of(task, "merge")
    assert (refused["result"], refused["failure_type"]) == ("failure", "not_approved")
    assert "Code review has not approved exactly these files" in refused["summary"]
    assert origin.head() == base and not Delivery.objects.exists()


@pytest.mark.wide
@pytest.mark.parametrize("stored", [False, True])
def test_files_that_were_not_committed_are_neither_shown_nor_approved(
    world: World, bench: Bench, origin: RemoteRepository, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    """A visit left too much. `stored`: as files were before, which people then approved in place of the commit."""
    monkeypatch.setattr(trees, "MOST_NEW", 1000)
    if stored:
        monkeypatch.setattr(repository, "packed_without_uncommitted_files", lambda packed: packed)
    grow = "open('app.py', 'w').write('x = 3\\n'); open('big.txt', 'w').write('x' * 2000)"
    asked = {"id": "no", "to": "merge", "gates": ["review"], "when": {"result": "failure"}}
    stations = [
        command("fix", FIX, to("grow")),
        command("grow", grow, asked),
        station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
    ]
    version = world.line(
        stations=stations,
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
        policy={"no_match": "stuck"},
    )
    task = world.start(version)
    run(bench, task)
    assert outcome_of(task, "grow")["failure_type"] == "workspace_too_large"
    shown = Snapshot.objects.filter(task=task, manifest__contains=[{"path": "big.txt"}])
    assert shown.exists() is stored
    world.vote(task)
    run(bench, task)
    if stored:
        assert outcome_of(task, "merge")["failure_type"] == "not_approved" and "new.txt" not in origin.files()
        return
    assert world.status(task) == "completed" and origin.files()["app.py"] == b"x = 2\n"
    change = landed_change_or_none(task)
    assert change is not None and change.approval is not None
    assert change.approval.tree == outcome_of(task, "fix")["facts"]["git"]["tree"] == change.tree
    Delivery.objects.update(tree="d" * 40)
    change = landed_change_or_none(task)
    assert change is not None and not change.is_exact, "what was seen does not follow what was cleared"


@pytest.mark.wide
def test_another_worker_goes_on_without_what_the_first_one_had(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = world.start(line(world))
    run(bench, task)
    shutil.rmtree(bench.base)
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed" and origin.files()["new.txt"] == b"new\n"


@pytest.mark.wide
def test_the_branch_is_pushed_and_grows(world: World, bench: Bench, origin: RemoteRepository) -> None:
    stations = [
        command("fix", "open('n', 'a').write('1\\n')", to("push")),
        station("push", to("look"), kind="deliver", work={"to": "push"}),
        command("look", "pass", to("completed", gates=["review"])),
    ]
    gate = {**GATE, "on_reject": "reviewer_chooses"}
    workspace = {"git": {"repository": "app", "branch": "w/{{task.title}}"}}
    task = world.start(world.line(stations=stations, gates=[gate], workspace=workspace), title="one")
    run(bench, task)
    branch = "w/one"
    first = origin.head(branch)
    assert outcome_of(task, "push")["result"] == "success"
    assert origin.files(branch)["n"] == b"1\n" and first == Delivery.objects.get().commit
    world.vote(task, "reject", reason="More", route="fix")
    run(bench, task)
    assert origin.files(branch)["n"] == b"1\n1\n"
    assert first in [parent.decode() for parent in origin.commit(branch).parents]


@pytest.mark.wide
@pytest.mark.parametrize("with_git", [True, False])
def test_programs_of_a_station_can_use_git(
    world: World, bench: Bench, origin: RemoteRepository, with_git: bool
) -> None:
    """Where git is installed; what they do to its files is theirs, and goes with them."""
    if with_git and shutil.which("git") is None:
        pytest.skip("this machine has no git")
    show = (
        "import subprocess as s, os\n"
        "print(s.run(['git', 'log', '--format=%s'], capture_output=True, text=True).stdout)\n"
        "print(s.run(['git', 'status', '--porcelain'], capture_output=True, text=True).stdout)\n"
        "open('.git/hooks/post-checkout', 'w').write('#!/bin/sh\\ntouch /tmp/never')\n"
        if with_git
        else "import shutil, os; shutil.rmtree('.git')\n"
    )
    program = show + FIX + "; print(os.environ['HOME'] != os.getcwd())"
    task = world.start(line(world, program))
    run(bench, task, station_path=tuple(os.defpath.split(":")) if with_git else ("/nowhere",))
    text = text_of(done(task, "fix"))
    assert world.status(task) == "awaiting_review", text
    assert "True" in text
    assert not with_git or ("Begin" in text and "M app.py" not in text)
    tree = outcome_of(task, "check")["facts"]["git"]["tree"]
    assert GateVisit.objects.count() == 1 and len(tree) == 40


@pytest.mark.wide
def test_what_is_ignored_is_not_committed_and_goes_on(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    origin.add(
        {".gitignore": b"*.log\nbuild/\n!keep.log\n", "app.py": b"x = 1\n", "old.log": b"1\n"}, "Ignore"
    )
    program = (
        "import os; os.mkdir('build'); open('build/x', 'w'); open('a.log', 'w'); open('keep.log', 'w')\n"
        "open('old.log', 'w').write('2\\n')"
    )
    task = world.start(line(world, program))
    run(bench, task)
    assert outcome_of(task, "fix")["facts"]["git"]["paths"] == ["keep.log", "old.log"]
    assert "'a.log'" in text_of(done(task, "check")) and "'build'" in text_of(done(task, "check"))


def test_what_counts_runs_on_what_is_committed(world: World, bench: Bench, origin: RemoteRepository) -> None:
    hides = (
        "import os; open('.gitignore', 'w').write('helper.py\\nt.xml\\n'); open('helper.py', 'w')\n"
        "open('t.xml', 'w').write('<testsuite><testcase name=\"a\"/></testsuite>'); os.mkdir('empty')"
    )
    report = "print(sorted(__import__('os').listdir('.'))); open('r.xml', 'w').write('<testsuite/>')"
    files = [{"path": "r.xml", "kind": "junit"}, {"path": "t.xml", "kind": "junit", "required": False}]
    stations = [
        command("fix", hides, to("check")),
        command("check", report, to("completed"), artifacts=files),
    ]
    task = world.start(world.line(stations=stations, workspace={"git": {"repository": "app"}}))
    run(bench, task)
    text = text_of(done(task, "check"))
    assert (
        "['.git', '.gitignore', 'app.py', 'doc', 'tests']" in text
        and "starts with committed files alone" in text
    )
    assert outcome_of(task, "check")["facts"]["tests"]["passed"] == 0
    source = outcome_of(task, "check")["facts"]["tests"]["source"]
    assert source["before"] == outcome_of(task, "fix")["facts"]["git"]["tree"]


@pytest.mark.wide
def test_a_repository_that_is_not_connected_is_said(world: World, bench: Bench, tmp_path: Path) -> None:
    made = connect(world.project, remote(tmp_path / "origin.git", {"a": b"1"}))
    task = world.start(line(world, policy={"on_failure": "stuck"}))
    made.delete()
    run(bench, task)
    refused = outcome_of(task, "fix")
    assert refused["failure_type"] == "prepare_failed"
    assert refused["summary"].startswith("The repository app is not connected to this project.")


def test_changes_of_a_branch_are_those_since_its_base(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = world.start(line(world), title="Fix the answer")
    run(bench, task)
    shown = client_of(world.reviewer).get(f"/inbox/{world.visit(task).pk}/").content.decode()
    # Without the colours of the code
    plain = re.sub(r"</?span[^>]*>", "", shown)
    assert "<del>1</del>" in plain and "<ins>2</ins>" in plain
    assert "new.txt" in shown and "a.md" not in shown and "Changes" in shown


@pytest.mark.wide
def test_a_branch_of_somebody_is_looked_at_and_merged_with_its_commits(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    files = {"app.py": b"x = 1\n", "tests/test_app.py": b"", "doc/a.md": b"a\n"}
    origin.branch("feature")
    theirs = origin.add({**files, "app.py": b"x = 3\n"}, "Make it three", branch="feature")
    base = origin.add({**files, "doc/a.md": b"b\n"}, "Meanwhile")
    task = world.start(line(world, "pass", workspace={"head": "feature"}), title="Review it")
    run(bench, task)
    assert world.status(task) == "awaiting_review", text_of(done(task, "fix"))
    facts = outcome_of(task, "fix")["facts"]["git"]
    assert (facts["base"], facts["paths"], facts["commits"]) == (base, ["app.py"], 2)
    shown = client_of(world.reviewer).get(f"/inbox/{world.visit(task).pk}/").content.decode()
    assert "<del>1</del>" in shown and "<ins>3</ins>" in shown and "a.md" not in shown
    # Another worker, which has nothing of it yet.
    shutil.rmtree(bench.base / ".mirrors", ignore_errors=True)
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed", outcome_of(task, "merge")
    landed, taken = origin.commit(), origin.commit(facts["head"])
    assert landed.tree.decode() == facts["tree"]
    assert [each.decode() for each in landed.parents] == [base, facts["head"]]
    assert [each.decode() for each in taken.parents] == [theirs, base]
    assert origin.files()["app.py"] == b"x = 3\n" and origin.files()["doc/a.md"] == b"b\n"


@pytest.mark.parametrize("branch", ["gone", "apart", "clash"])
def test_a_branch_that_cannot_be_looked_at_is_said(
    world: World, bench: Bench, origin: RemoteRepository, branch: str
) -> None:
    origin.branch("clash")
    origin.add({"app.py": b"x = 3\n"}, branch="clash")
    origin.add({"app.py": b"x = 4\n"})
    origin.add({"other.py": b"y = 1\n"}, branch="apart")
    task = world.start(line(world, workspace={"head": branch}, policy={"on_failure": "stuck"}))
    run(bench, task)
    refused = outcome_of(task, "fix")
    said = {
        "gone": ("prepare_failed", "has no branch gone"),
        "apart": ("prepare_failed", "apart and main have no commit in common"),
        "clash": ("merge_conflict", "app.py"),
    }
    assert refused["failure_type"] == said[branch][0] and said[branch][1] in refused["summary"]
