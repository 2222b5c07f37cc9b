"""List that an address names: its tab, what narrows it, how it is sorted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.http import urlencode

from pipelines.models import Line, Word
from pipelines.queries import versions
from pipelines.queries.dates import EVER, DateRange
from pipelines.queries.line_filter import find_option, line_choices, line_condition
from pipelines.web.shell.page import PageScope, page_scope, requested_date_range
from reviews.decision.review_access import Place, ReviewFilter
from reviews.inbox.kinds import BY_KEY

OLDEST = "oldest"
OPEN_STATES = (
    ("unclaimed", "Not claimed"),
    ("claimed", "Claimed"),
    ("asked", "Requester asked"),
)
STATES_OF = {
    "needs-me": (*OPEN_STATES, ("snoozed", "Snoozed")),
    "mine": OPEN_STATES,
    "others": OPEN_STATES,
    "done": tuple(Word.choices),
}
"""What a list can be narrowed to, by its tab."""
NEEDS_ME = "needs-me"
TABS = (
    (NEEDS_ME, "Needs you"),
    ("mine", "Requested by you"),
    ("others", "Team"),
    ("done", "Decided"),
)
"""The first is the page of everything that needs somebody; of it the list beside a dossier has the gates."""


NOTHING = {
    NEEDS_ME: "Nothing needs you.",
    "mine": "No open reviews of your tasks.",
    "others": "No open reviews.",
    "done": "No decisions yet.",
}


def parsed_time_and_visit_or_none(text: str) -> Place | None:
    """The place that an address names; what is none begins at the first row."""
    at, _tilde, key = text.partition("~")
    try:
        moment, visit = parse_datetime(at), UUID(key)
    except (ValueError, OverflowError):
        return None
    # A time of the year 1 may leave the calendar in another time zone
    return (moment, visit) if moment and timezone.is_aware(moment) and moment.year > 1 else None


@dataclass(frozen=True)
class ReviewList:
    """List of reviews of the projects that are in view. The address of each of its reviews names the list and
    the projects, so that the list stays beside it."""

    tab: str
    scope: PageScope
    line: str = ""
    kind: str = ""
    sort: str = ""
    gate: str = ""
    state: str = ""
    dates: DateRange = EVER
    """When the gate opened; of what was decided, when it was."""

    @property
    def chosen(self) -> dict[str, str]:
        """The values that stand in the address of the list."""
        tab = "" if self.tab == NEEDS_ME else self.tab
        narrowed = {"kind": self.kind, "line": self.line, "gate": self.gate, "state": self.state}
        filters = {**narrowed, "sort": self.sort, **self.dates.query}
        return {
            key: value
            for key, value in {"tab": tab, "project": self.scope.project_key, **filters}.items()
            if value
        }

    @property
    def query(self) -> str:
        return urlencode(self.chosen)

    @property
    def is_filtered(self) -> bool:
        return bool(self.kind or self.line or self.gate or self.state or self.dates)

    @property
    def empty_text(self) -> str:
        """Text of an empty list."""
        return NOTHING[self.tab]

    def address_of_tab_without_filters(self, tab: str) -> str:
        """Return the address of another list of the same projects."""
        return replace(self, tab=tab, line="", kind="", gate="", state="", sort="", dates=EVER).address

    def address_with_values(self, **changed: str) -> str:
        """The address of the list with these values instead."""
        query = urlencode({key: value for key, value in {**self.chosen, **changed}.items() if value})
        return self.page + (f"?{query}" if query else "")

    @property
    def page(self) -> str:
        return reverse(NEEDS_ME if self.tab == NEEDS_ME else "inbox")

    @property
    def all_kinds_url(self) -> str:
        return self.address_with_values(kind="")

    @property
    def next_rows_url(self) -> str:
        """Address of the rows after a place, which is to be appended."""
        return self.page + "?" + (f"{self.query}&" if self.query else "") + "after="

    @property
    def unfiltered_url(self) -> str:
        return self.address_with_values(kind="", line="", gate="", state="", since="", until="")

    @property
    def to_filter(self) -> ReviewFilter:
        """The filter of the list for SQL."""
        # What asks a person is of projects that are theirs anyway.
        own = self.tab == NEEDS_ME and not self.scope.asked
        projects = None if own else [project.pk for project in self.scope.projects]
        chosen = (
            Line.objects.filter(line_condition(self.line, ""), project__in=self.scope.projects)
            if self.line
            else None
        )
        lines = None if chosen is None else list(chosen.values_list("pk", flat=True))
        since, until = self.dates.first_moment_and_first_after
        return ReviewFilter(
            projects, lines, self.gate, since=since, until=until, oldest=self.sort == OLDEST, state=self.state
        )

    @property
    def gates(self) -> list[tuple[str, str]]:
        """(key, name) of the gates of the chosen line as it is live; none where no line is chosen."""
        if not self.line:
            return []
        chosen_line = Line.objects.filter(
            line_condition(self.line, ""), project__in=self.scope.projects
        ).first()
        line = (
            versions.parsed_line_by_version_id(chosen_line.live_id)
            if chosen_line and chosen_line.live_id
            else None
        )
        return [(gate.key, gate.name) for gate in line.gates] if line else []

    @property
    def only_gates(self) -> bool:
        """Return whether what narrows the list is known of reviews only."""
        return bool(self.gate or self.state)

    @property
    def suffix(self) -> str:
        return f"?{self.query}" if self.query else ""

    @property
    def address(self) -> str:
        """Address of the list alone."""
        return self.page + self.suffix


def review_list_from_address(request: HttpRequest, tab: str = "") -> ReviewList:
    """The list that an address names."""
    tab = tab or request.GET.get("tab", "")
    tab = tab if tab in dict(TABS) else NEEDS_ME
    scope = page_scope(request, NEEDS_ME if tab == NEEDS_ME else "inbox")
    line = request.GET.get("line", "")
    line = find_option(line, line_choices(scope.projects), scope.projects) if line else ""
    kind = request.GET.get("kind", "") if tab == NEEDS_ME else ""
    sort = OLDEST if request.GET.get("sort") == OLDEST and tab != "done" else ""
    selection = ReviewList(
        tab, scope, line, kind if kind in BY_KEY else "", sort, dates=requested_date_range(request)
    )
    gate, state = request.GET.get("gate", ""), request.GET.get("state", "")
    return replace(
        selection,
        gate=gate if gate in dict(selection.gates) else "",
        state=state if state in dict(STATES_OF[tab]) else "",
    )
