"""Role × action, every cell (pipelines/access.py)."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from pipelines import access
from pipelines.errors import Forbidden, NotFound
from pipelines.models import Role
from pipelines.people import accounts
from tests.factories import World, make_member, make_project

pytestmark = pytest.mark.django_db

ACTIONS = (
    "view",
    "submit",
    "operate",
    "report",
    "design",
    "comment",
    "publish",
    "execute",
    "decide",
    "secrets",
    "repositories",
    "settings",
    "admin",
)
# y: may · -: may not. `execute` asks for the membership's flag, which only the standing admin has.
CELLS = """
          view submit operate report design comment publish execute decide secrets repositories settings admin
anonymous -    -      -       -      -      -       -       -       -      -       -            -        -
stranger  -    -      -       -      -      -       -       -       -      -       -            -        -
viewer    y    -      -       -      -      y       -       -       y      -       -            -        -
operator  y    y      y       y      -      y       -       -       y      -       -            -        -
designer  y    y      y       y      y      y       y       -       y      -       -            -        -
reviewer  y    y      y       y      -      y       -       -       y      -       -            -        -
admin     y    y      y       y      y      y       y       y       y      y       y            y        y
machine   y    y      y       y      -      -       -       -       -      -       -            -        -
"""


pytestmark = pytest.mark.smoke(100)  # every cell of who may what


def rows() -> dict[str, dict[str, bool]]:
    head, *lines = [line.split() for line in CELLS.strip().splitlines()]
    assert tuple(head) == ACTIONS
    return {
        words[0]: {action: cell == "y" for action, cell in zip(head, words[1:], strict=True)}
        for words in lines
    }


def who(world: World, name: str) -> access.Who:
    if name == "anonymous":
        return AnonymousUser()
    if name == "machine":
        return world.machine("read", "submit", "report", "design")[0]
    found: access.Who = getattr(world, name)
    return found


@pytest.mark.parametrize("name", rows())
def test_each_cell_of_the_table(world: World, name: str) -> None:
    found = {action: access.is_permitted(who(world, name), action, world.project) for action in ACTIONS}
    assert found == rows()[name]


def test_the_table_and_this_test_name_the_same_actions() -> None:
    assert set(access.TABLE) == set(ACTIONS)
    assert set(rows()) >= {role.value for role in Role}


@pytest.mark.parametrize(
    ("roles", "allowed"),
    [
        (("designer",), {"design", "publish"}),
        (("reviewer",), set()),
        (("designer", "reviewer"), {"design", "publish"}),
        (("viewer", "designer"), {"design", "publish"}),
        (("admin",), {"design", "publish", "admin"}),
    ],
)
def test_a_set_of_roles_gives_what_its_members_give(
    world: World, roles: tuple[str, ...], allowed: set[str]
) -> None:
    member = make_member(world.project, roles)
    token, _ = world.token_of(member)
    asked = ("design", "publish", "execute", "admin")
    assert {action for action in asked if access.is_permitted(member, action, world.project)} == allowed
    assert {action for action in asked if access.is_permitted(token, action, world.project)} == allowed - {
        "admin"
    }
    for action in asked[:2]:
        assert (world.project in access.projects_where_role_allows(member, action)) == (action in allowed)
    assert access.projects_where_role_allows(member, "operate").count() == 1


def test_superuser_status_gives_nothing_in_a_project(world: World) -> None:
    world.stranger.is_superuser = True
    world.stranger.save()
    assert not any(access.is_permitted(world.stranger, action, world.project) for action in ACTIONS)


def test_who_may_not_sign_in_may_nothing(world: World) -> None:
    admin = world.admin
    admin.is_active = False
    admin.save()
    assert not access.is_permitted(admin, "view", world.project)
    assert not access.visible_projects_with_owner(admin).exists()


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("read", {"view"}),
        ("submit", {"submit"}),
        ("report", {"operate", "report"}),
        ("decide", {"decide"}),
        ("design", {"design", "comment", "publish", "execute"}),
        ("settings", {"secrets", "repositories", "settings"}),
    ],
)
def test_a_persons_token_acts_as_them_within_its_scopes(world: World, scope: str, allowed: set[str]) -> None:
    token, _ = world.token_of(world.admin, scope)
    assert {action for action in ACTIONS if access.is_permitted(token, action, world.project)} == allowed


def test_a_persons_token_gives_no_more_than_the_person_has(world: World) -> None:
    token, _ = world.token_of(world.viewer, "read", "submit", "design", "decide", "report")
    may = {action for action in ACTIONS if access.is_permitted(token, action, world.project)}
    assert may == {"view", "comment", "decide"}


def test_a_machine_acts_in_its_own_project_only(world: World) -> None:
    token, _ = world.machine("read", "submit", "report", role=Role.ADMIN)
    other = make_project("other")
    assert not any(access.is_permitted(token, action, other) for action in ACTIONS)
    assert list(access.visible_projects_with_owner(token)) == [world.project]


def test_a_revoked_token_may_nothing(world: World) -> None:
    token, _ = world.token_of(world.admin)
    accounts.revoke_token(token, timezone.now(), None)
    assert not any(access.is_permitted(token, action, world.project) for action in ACTIONS)
    assert not access.visible_projects_with_owner(token).exists()


def test_what_one_may_not_see_is_not_found_and_what_one_may_not_do_is_forbidden(world: World) -> None:
    with pytest.raises(NotFound):
        access.require_permission(world.stranger, "submit", world.project)
    with pytest.raises(Forbidden):
        access.require_permission(world.viewer, "submit", world.project)
    access.require_permission(world.operator, "submit", world.project)


# The path Owner › Project › Line › Task


def test_everything_is_found_down_the_path_only(world: World) -> None:
    version = world.line()
    task = world.start(version)
    owner, project = world.project.owner.key, world.project.key
    assert access.visible_project_by_keys(world.viewer, owner, project) == world.project
    assert access.line_of_visible_project_by_keys(world.viewer, owner, project, "line") == version.line
    assert access.task_of_line_by_name(world.viewer, owner, project, "line", task.name) == task
    assert access.task_by_number_in_project(world.viewer, owner, project, task.name) == task
    for words in ((owner, "nowhere"), ("nobody", project)):
        with pytest.raises(NotFound):
            access.visible_project_by_keys(world.viewer, *words)


@pytest.mark.parametrize(
    "name", ["WI-{p}-2", "WI-{p}-01", "WI-{p}-", "WI-other-1", "{p}-1", "1", "WI-{p}-1٣", ""]
)
def test_a_number_that_is_none_is_not_found(world: World, name: str) -> None:
    world.start(world.line())
    words = (world.project.owner.key, world.project.key, "line", name.format(p=world.project.key))
    with pytest.raises(NotFound):
        access.task_of_line_by_name(world.viewer, *words)


def test_a_task_of_another_line_or_project_is_not_found(world: World) -> None:
    task = world.start(world.line())
    world.line(key="another", stations=["x"])
    owner, project = world.project.owner.key, world.project.key
    with pytest.raises(NotFound):
        access.task_of_line_by_name(world.viewer, owner, project, "another", task.name)
    foreign = make_project("foreign", owner)
    make_member(foreign, Role.ADMIN)
    with pytest.raises(NotFound):
        access.task_by_number_in_project(world.viewer, owner, foreign.key, task.name)
    with pytest.raises(NotFound):
        access.task_by_number_in_project(world.stranger, owner, project, task.name)


def test_members_says_who_may_see_which_of_many_projects(world: World) -> None:
    people = {world.viewer.pk, world.stranger.pk}
    assert access.user_and_project_ids_of_members(people, {world.project.pk}) == {
        (world.viewer.pk, world.project.pk)
    }
