"""manage.py load_demo and manage.py submit."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from pipelines import engine
from pipelines.demo import example, lint_example
from pipelines.lines import publishing, scenarios
from pipelines.management.commands import submit as submitting
from pipelines.models import Job, Line, LineVersion, Membership, Project, Role, Scenario, Status, Task, User
from pipelines.models import Repository as ConnectedRepository
from pipelines.ports.terms import SHIPPED
from tests.factories import make_member, make_project, make_user
from tests.work.remotes import RemoteRepository

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return make_user("admin", is_superuser=True)


@pytest.fixture
def demo(admin: User) -> User:
    call("load_demo")
    return admin


def call(*words: str, **options: Any) -> str:
    out = StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()


def refusal(*words: str, **options: Any) -> str:
    with pytest.raises(CommandError) as refused:
        call(*words, **options)
    return str(refused.value)


def basket() -> str:
    return ConnectedRepository.objects.get(name="basket").address


def check_line() -> Line:
    return Line.objects.get(project__owner__key="demo", project__key="app", key="repository-check")


# load_demo


def test_it_publishes_its_lines(demo: User) -> None:
    lines = Line.objects.filter(project__owner__key="demo", project__key="app")
    assert sorted(lines.values_list("key", flat=True)) == sorted(example.KEYS)
    assert all(line.live for line in lines)
    assert check_line().draft_text.startswith("# A branch of a repository")
    for key in example.IN_A_REPOSITORY:
        assert lines.get(key=key).live.document["inputs"][0]["default"] == "basket"
    assert Path(basket()).name == "basket.git", "never the checkout"


def test_the_lines_of_the_dialects_come_with_scenarios_that_hold(demo: User) -> None:
    for key in example.OF_DIALECTS:
        line = Line.objects.get(project__owner__key="demo", project__key="app", key=key)
        told = scenarios.run(line, now=timezone.now())
        assert [str(each) for result in told.results for each in result.failures] == []
        assert len(told.results) >= 3
    Scenario.objects.all().delete()
    call("load_demo")
    assert not Scenario.objects.exists(), "what a person deleted does not come back"


@pytest.mark.wide
def test_the_administrator_is_a_member_who_may_do_everything(demo: User) -> None:
    found = Membership.objects.get(project__key="app", project__owner__key="demo")
    assert (found.user, found.roles, found.execute) == (demo, [Role.ADMIN], True)


def test_loading_again_changes_nothing(demo: User) -> None:
    versions = set(LineVersion.objects.values_list("pk", flat=True))
    assert "up to date" in call("load_demo")
    assert set(LineVersion.objects.values_list("pk", flat=True)) == versions
    assert Membership.objects.count() == 1


@pytest.mark.wide
def test_an_untouched_line_is_brought_up_to_date(demo: User, settings: Any, tmp_path: Path) -> None:
    line = check_line()
    older = line.draft_text.replace('default: "basket"', 'default: "other"')
    assert older != line.draft_text
    line = publishing.save_draft(line, older, demo, line.draft_number)
    publishing.publish(line, user=demo, name=SHIPPED, based_on=line.draft_number)
    assert "published version 3" in call("load_demo")
    assert check_line().live.document["inputs"][0]["default"] == "basket"


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("publish", [False, True])
def test_what_a_person_changed_is_left_as_it_is(
    demo: User, settings: Any, tmp_path: Path, publish: bool
) -> None:
    line = check_line()
    text = line.draft_text + "# mine\n"
    line = publishing.save_draft(line, text, demo, line.draft_number)
    if publish:
        publishing.publish(line, user=demo, name="Mine", based_on=line.draft_number)
    live = check_line().live
    settings.DATA_DIR = tmp_path
    assert "repository-check: left unchanged, somebody has edited it" in call("load_demo")
    assert (check_line().draft_text, check_line().live) == (text, live)


@pytest.mark.wide
def test_a_role_that_somebody_changed_is_left_as_it_is(demo: User) -> None:
    Membership.objects.update(roles=[Role.ADMIN], execute=True)
    Membership.objects.create(project=Project.objects.get(), user=make_user("second"), roles=[Role.VIEWER])
    call("load_demo")
    assert Membership.objects.filter(roles=[Role.VIEWER]).count() == 1


def test_without_an_administrator_it_says_how_to_make_one() -> None:
    assert "createsuperuser" in refusal("load_demo")
    assert "nobody" in refusal("load_demo", user="nobody")
    assert not Project.objects.exists()


def test_a_repository_of_before_gets_the_branch_and_keeps_its_own(tmp_path: Path) -> None:
    origin = RemoteRepository(Path(lint_example.ready(tmp_path / "basket.git")))
    first, offered = origin.head(), origin.head(lint_example.OFFERED)
    assert first and offered and origin.commit(lint_example.OFFERED).parents == [first.encode()]
    origin.point(lint_example.OFFERED, "")
    lint_example.ready(origin.path)
    assert origin.head(lint_example.OFFERED) == offered
    moved = origin.add(origin.files("main"), branch=lint_example.OFFERED)
    lint_example.ready(origin.path)
    assert (origin.head(lint_example.OFFERED), origin.head()) == (moved, first)


# submit


def test_it_starts_a_task_and_prints_its_number_and_address(demo: User) -> None:
    out = call(
        "submit",
        "repository-check",
        title="Try it",
        input=["branch=main"],
    )
    task = Task.objects.get()
    assert out.split()[0] == task.name == "WI-app-1"
    assert out.split()[1].endswith("/p/demo/app/tasks/WI-app-1/")
    assert task.inputs == {"repository": "basket", "branch": "main"}
    assert (task.requester, task.title, task.priority) == (demo, "Try it", "medium")
    assert Job.objects.get(task=task).station == "lint"


@pytest.mark.wide
def test_every_option_arrives(demo: User) -> None:
    project = Project.objects.get()
    operator = make_member(project, Role.OPERATOR)
    options = {"title": "T", "description": "D", "priority": "high", "project": "demo/app"}
    call("submit", "agent-line", **options, user=operator.username, input=["goal=a=b"])
    task = Task.objects.get()
    assert (task.requester, task.description, task.priority) == (operator, "D", "high")
    assert task.inputs == {"goal": "a=b"}


@pytest.mark.wide
def test_a_folder_of_the_shell_becomes_absolute(demo: User, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(basket())
    monkeypatch.chdir(folder.parent)
    call("submit", "repository-check", title="T", input=[f"repository={folder.name}"])
    assert Task.objects.get().inputs["repository"] == str(folder)


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("words", "options", "says"),
    [
        (["nothing"], {}, "agent-line"),
        (["repository-check"], {"project": "other/app"}, "other/app"),
        (["repository-check"], {"user": "nobody"}, "nobody"),
        (["repository-check"], {"input": ["repository"]}, "KEY=VALUE"),
        (["repository-check"], {"input": ["repo=x"]}, "repository, branch"),
        (["repository-check"], {"input": ["repository=--upload-pack=x"]}, "inputs.repository"),
        (["agent-line"], {}, "inputs.goal"),
        (["repository-check"], {"title": "  "}, "title"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    demo: User, words: list[str], options: dict[str, Any], says: str
) -> None:
    assert says in refusal("submit", *words, **({"title": "T"} | options))
    assert not Task.objects.exists()


@pytest.mark.wide
def test_a_viewer_is_told_which_role_it_takes(demo: User) -> None:
    viewer = make_member(Project.objects.get(), Role.VIEWER)
    assert "operator" in refusal("submit", "agent-line", title="T", user=viewer.username)


@pytest.mark.wide
def test_a_line_in_two_projects_has_to_be_named_with_its_project(demo: User) -> None:
    other = make_project("app", "zeta")
    Membership.objects.create(project=other, user=demo, roles=[Role.ADMIN], execute=True)
    publishing.create_line(other, "agent-line", "Mine", {"gateline": 1}, demo)
    said = refusal("submit", "agent-line", title="T")
    assert "demo/app, zeta/app" in said
    assert "not published" in refusal("submit", "agent-line", title="T", project="zeta/app")


@pytest.mark.wide
def test_waiting_shows_the_moves_until_the_end(demo: User, monkeypatch: pytest.MonkeyPatch) -> None:
    moves = iter([lambda task: None, lambda task: engine.cancel(task.pk, actor=actor, reason="Enough")])
    actor = engine.Actor.person(demo)
    monkeypatch.setattr(submitting.time, "sleep", lambda _: next(moves)(Task.objects.get()))
    with pytest.raises(CommandError, match="Enough") as ended:
        call("submit", "repository-check", title="T", wait=True)
    assert ended.value.returncode == 1
    assert Task.objects.get().status == Status.CANCELLED


@pytest.mark.wide
def test_waiting_ends_when_its_time_is_up(demo: User) -> None:
    with pytest.raises(CommandError, match="has not ended") as ended:
        call("submit", "repository-check", title="T", wait=True, timeout=0.0)
    assert ended.value.returncode == 2
