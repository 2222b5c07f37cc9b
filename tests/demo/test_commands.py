"""manage.py load_demo."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from pipelines.lines import publishing, scenarios
from pipelines.lines.demo import example, lint_example
from pipelines.models import Line, LineVersion, Membership, Project, Role, Scenario, User
from pipelines.models import Repository as ConnectedRepository
from pipelines.ports.terms import SHIPPED
from tests.factories import make_user
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
        assert all(scenario.runs["live"]["holds"] for scenario in line.scenarios.all()), (
            "its page shows them run"
        )
        told = scenarios.run_stored_scenarios(line, now=timezone.now())
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
    publishing.publish_draft(line, user=demo, name=SHIPPED, based_on=line.draft_number)
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
        publishing.publish_draft(line, user=demo, name="Mine", based_on=line.draft_number)
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
    origin = RemoteRepository(Path(lint_example.ensure_repository_and_return_folder(tmp_path / "basket.git")))
    first, offered = origin.head(), origin.head(lint_example.OFFERED)
    assert first and offered and origin.commit(lint_example.OFFERED).parents == [first.encode()]
    origin.point(lint_example.OFFERED, "")
    lint_example.ensure_repository_and_return_folder(origin.path)
    assert origin.head(lint_example.OFFERED) == offered
    moved = origin.add(origin.files("main"), branch=lint_example.OFFERED)
    lint_example.ensure_repository_and_return_folder(origin.path)
    assert (origin.head(lint_example.OFFERED), origin.head()) == (moved, first)
