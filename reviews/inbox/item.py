"""Inbox item: something that only a person can resolve, and the verbs that resolve it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import Model
from django.urls import reverse

from pipelines import access
from pipelines.engine.moves.roles import ProjectRoles, roles_by_project
from pipelines.models import ApiToken, Project, Task, User
from pipelines.routing.sentences.waits import ProblemAndRemedy


@dataclass
class InboxViewer:
    """Person with the projects they see and work in, each read once. `bearer`: the token of an API call,
    which may be limited to one project. `of`: the projects that the page is filtered to."""

    user: User
    bearer: ApiToken | None = None
    of: Sequence[Project] | None = None
    positions: dict[str, list[int]] | None = None
    """Ids of the tokens that wait, by how: read once by `reviews.inbox.item_queries`."""
    present: set[str] | None = None
    """Kinds of which there may be any: asked once by `reviews.inbox.item_queries`."""

    @cached_property
    def visible_projects(self) -> list[Project]:
        return list(
            access.visible_projects_with_owner(self.bearer or self.user) if self.of is None else self.of
        )

    @cached_property
    def roles(self) -> dict[int, ProjectRoles]:
        return roles_by_project([project.pk for project in self.visible_projects])

    @cached_property
    def operable_projects(self) -> list[Project]:
        """Projects where the person may answer, retry, complete and cancel."""
        return self._visible_projects_where("operate")

    @cached_property
    def designable_projects(self) -> list[Project]:
        return self._visible_projects_where("design")

    def _visible_projects_where(self, action: str) -> list[Project]:
        able = set(access.projects_where_role_allows(self.user, action).values_list("pk", flat=True))
        return [project for project in self.visible_projects if project.pk in able]


@dataclass(frozen=True)
class InboxItem:
    """Item of the inbox. `key` names its row within its kind; `version` is that of the visible position (0:
    none). `votes`: how many approvals there are of how many. `note`: in the list instead of the
    sentence, which others have, too. `branch`: it is one of several positions of its task. `about` is for the forms
    of its kind alone."""

    kind: str
    key: str
    task: Task
    place: str
    sentence: ProblemAndRemedy
    since: datetime
    status: str
    version: int = 0
    due_at: datetime | None = None
    shape: str = "station"
    icon: str = "other"
    votes: str = ""
    note: str = ""
    branch: bool = False
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Its id on the page and in the API."""
        return f"{self.kind}-{self.key}"

    @property
    def order(self) -> tuple[bool, datetime]:
        """Due first, then the oldest."""
        return (self.due_at is None, self.due_at or self.since)

    @property
    def question(self) -> str:
        """Its sentence, without the choices that are buttons."""
        return self.about.get("question") or self.sentence.text

    @property
    def choices(self) -> tuple[str, ...]:
        """Answers that its station offers."""
        return tuple(self.about.get("choices", ()))

    @property
    def owner_and_project_keys(self) -> tuple[str, str]:
        return (self.task.project.owner.key, self.task.project.key)

    @property
    def task_url(self) -> str:
        return reverse("task", args=[*self.owner_and_project_keys, self.task.name])


@dataclass(frozen=True)
class Link:
    """A verb that has a page of its own."""

    key: str
    label: str
    to: Callable[[InboxItem], str]
    offered: Callable[[InboxItem, InboxViewer], bool] = lambda need, viewer: True


@dataclass(frozen=True)
class Act:
    """A verb that is done in place: the fields of `form`, drawn by `templates/reviews/inbox/<fields>.html`. `act` goes
    through the engine and says what was done; it raises what the engine raises."""

    key: str
    label: str
    fields: str
    form: type[forms.Form]
    act: Callable[[InboxItem, User, dict[str, Any]], str]
    danger: bool = False
    offered: Callable[[InboxItem, InboxViewer], bool] = lambda need, viewer: True
    branch_label: str = ""
    """Label where the item is one of several positions; `%s` is its place."""

    @property
    def template(self) -> str:
        return f"reviews/inbox/{self.fields}.html"


Verb = Link | Act


@dataclass(frozen=True)
class InboxKind:
    """Row of the table in `kinds.py`. `query` selects what this person may act on, in a number of queries
    that does not grow with it; `sentence` says in one line what is asked of whoever looks at this kind.
    `model` names the subject, so that the page can say so to whoever comes too late: it has a `task`."""

    key: str
    label: str
    sentence: str
    model: type[Model]
    query: Callable[[InboxViewer], Iterable[InboxItem]]
    verbs: tuple[Verb, ...]
