"""Two tenants with the same of everything, and how one asks for what is of the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.access import matrix_api
from tests.access.tenants import (
    CANARY,
    Tenant,
    Untouched,
    apart,
    body_of,
    difference,
    ghost,
    make_tenant,
    page,
    shape_of,
    tried,
)

A, B, NOBODY = "-aa", "-bb", "-gg"


# A tenant may use any such name itself; it names nothing of another.
# Whoever calls has to sign, wherever: an unknown place answers like a wrong signature.
SIGNED = ("/hook", "/interactions")
FREE = {"name", "key", "gate", "line"}


class Two:
    """`other` was there first. What it has is fixed from then on."""

    def __init__(self) -> None:
        apart()
        self.other = make_tenant(A, CANARY)
        self.untouched = Untouched()
        self.me = make_tenant(B, "mine")
        self.faults: list[str] = []

    def replay(
        self, what: str, ask: Callable[[dict[str, Any]], Any], foreign: set[str], code: int = 404
    ) -> None:
        """`ask` sends a request with the arguments it gets: those of the other have to be answered as a ghost's."""
        mine = arguments(self.me, what)
        theirs, never = arguments(self.other, what), arguments_of_ghost(what)
        answers = []
        for source in (theirs, never):
            given = mine | {each: source[each] for each in foreign}
            response, violations = tried(lambda given=given: ask(given), self.untouched)  # type: ignore[misc]
            self.faults += [f"{what}: {each}" for each in violations]
            asked = [given[each] for each in foreign]
            answers.append((response.status_code, CANARY in body_of(response), shape_of(response, *asked)))
        (status, leaks, shape), (_, _, expected) = answers
        if leaks:
            self.faults.append(f"{what} with the other's {sorted(foreign)}: says what is theirs")
        if shape != expected:
            self.faults.append(f"{what} with the other's {sorted(foreign)}: {difference(shape, expected)}")
        if status != (401 if what.endswith(SIGNED) else code) and not foreign <= FREE:
            self.faults.append(f"{what} with the other's {sorted(foreign)}: {status}")


def arguments(tenant: Tenant, what: str) -> dict[str, Any]:
    name = what.split()[1]
    if not name.startswith("/api/"):
        own = {"job": tenant.place.task.jobs.get().pk} if name.startswith("task-log") else {}
        return tenant.arguments(name) | own
    return tenant.arguments("api") | {"visit": tenant.place.task.jobs.get().pk}


def arguments_of_ghost(what: str) -> dict[str, Any]:
    number = {"visit": 2_000_000_007} if what.partition(" ")[2].startswith("/api/") else {}
    return ghost(NOBODY) | number


def ask_page(tenant: Tenant, row: str) -> Callable[[dict[str, Any]], Any]:
    method, name = row.split()
    query = "?job={job}" if name.startswith("task-log") else ""
    return lambda given: tenant.client.generic(method, page(name, given) + query.format(**given))


@pytest.fixture
def two(db: None) -> Two:
    return Two()


class Named:
    """What a tenant has that a body or a query can name; of a ghost: what never was."""

    def __init__(self, tenant: Tenant | None) -> None:
        never = ghost(NOBODY)
        self.owner = tenant.place.world.project.owner.key if tenant else never["owner"]
        self.key = tenant.place.world.project.key if tenant else never["project"]
        self.project = f"{self.owner}/{self.key}"
        self.line = tenant.place.line if tenant else never["line"]
        self.task = tenant.place.task.name if tenant else never["task"]
        self.file = (
            tenant.file if tenant else {"name": f"{CANARY}.txt", "digest": "7" * 64, "size": len(CANARY)}
        )
        self.stored = tenant.place.value.name if tenant else never["name"].upper()
        self.member = tenant.place.member.pk if tenant else never["member"]
        self.user = tenant.admin.pk if tenant else never["member"]
        self.username = tenant.admin.username if tenant else never["name"]
        self.group = tenant.place.group.pk if tenant else never["group"]
        self.job = tenant.place.task.jobs.get().pk if tenant else never["job"]
        self.visit = tenant.place.visit.pk if tenant else never["visit"]
        self.position = tenant.place.visit.token_id if tenant else never["token"]
        self.comment = tenant.place.comment.pk if tenant else never["comment"]
        self.session = tenant.session if tenant else never["name"]
        self.notification = tenant.place.notification.pk if tenant else never["notification"]
        self.agent = tenant.place.agent.pk if tenant else never["agent"]
        self.value = tenant.place.value.pk if tenant else never["value"]
        self.token = tenant.place.machine.pk if tenant else never["token"]
        self.invitation = tenant.place.invitation.pk if tenant else never["invitation"]


DRAFTS, TASKS, PROJECT = matrix_api.DRAFTS, matrix_api.LINE, matrix_api.PROJECT
