"""A form of the editor as a value: sections of fields over one fragment of the line document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from pipelines.engine.moves.entitlement import EntitledPerson, entitled_people_by_id
from pipelines.models import Agent, Line, Project
from pipelines.routing.document.document_readers.names import KEY
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.line import DocumentError, Problem, read_line
from pipelines.routing.document.publishable import publishing_problems
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.fields import FormField, RestField
from pipelines.web.editor.forms.form_request import Outline, PartReference
from pipelines.web.editor.forms.fragment_paths import Place

Fragment = Any


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A list of objects, a row each, with its own fields. `new` makes the row that is added; `kinds`: what can be
    added, where there is more than one thing."""

    at: Place
    label: str
    row: Callable[[Fragment, Place], Sequence[FormField | Rows]]
    new: Callable[[Fragment, str], Any]
    title: Callable[[Any, int], str]
    add: str = ""
    kinds: Sequence[tuple[str, str]] = ()
    help: str = ""
    empty: str = ""
    ordered: bool = True
    rest: bool = True
    """Whether a row shows what no field of it covers."""
    folded: bool = False
    keeps_empty: bool = False
    """Whether a list without members still says something; else it goes."""
    css: str = ""

    @property
    def name(self) -> str:
        return fragment_paths.path_name(self.at)

    def members(self, fragment: Fragment) -> list[Any]:
        return list_members(fragment, self.at)

    def fields(self, fragment: Fragment, index: int) -> list[FormField | Rows]:
        at = (*self.at, index)
        known = list(self.row(fragment, at))
        if not self.rest:
            return known
        covered = [item.at[len(at) :] for item in known]
        other = RestField(at=at, label="", covered=tuple(covered), rows=3)
        return [*known, other] if other.remaining(fragment) is not fragment_paths.MISSING else known


def list_members(fragment: Fragment, at: Place) -> list[Any]:
    value = fragment_paths.value_at(fragment, at)
    return value if type(value) is list else []


def member_values(fragment: Fragment, at: Place, key: str) -> list[Any]:
    """Return the values of this key in the members of a list."""
    return [fragment_paths.value_at(member, (key,)) for member in list_members(fragment, at)]


def first_free_or_empty(names: Iterable[str], used_values: Sequence[Any]) -> str:
    """The first that is not taken, whatever stands among those; "" where all are."""
    return next((name for name in names if name not in used_values), "")


@dataclass(frozen=True, kw_only=True)
class Section:
    """`open`: unfolded from the start. `template`: something to show with `context` below the fields, or, `on_top`,
    above them."""

    title: str = ""
    fields: Sequence[FormField | Rows] = ()
    help: str = ""
    open: bool = False
    on_top: bool = False
    css: str = ""
    template: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FormSetting:
    """Line and project in which a form is open. `own`: the key of the fragment in the line; `within`: the key
    of the station that it is a part of, if any."""

    project: Project
    names: Outline
    own: str
    line: Line | None = None
    within: str = ""

    @cached_property
    def agents(self) -> list[str]:
        """Keys of the project's agents; looked up once, however often the form is made."""
        agents = Agent.objects.filter(project=self.project).order_by("key")
        return list(agents.values_list("key", flat=True))

    @cached_property
    def people(self) -> list[EntitledPerson]:
        """Members of the project, by name; looked up once, too."""
        return sorted(entitled_people_by_id(self.project.pk).values(), key=lambda person: person.username)


@dataclass(frozen=True)
class PlacedFragment:
    """A complete document that contains the fragment, for the readers. `path`: where the fragment is in it;
    `beside`: keys at that place that do not belong to this form."""

    document: dict[str, Any]
    path: str = ""
    beside: frozenset[str] = frozenset()


class PartForm(Protocol):
    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]: ...

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment: ...

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        """Return the problems that this form reports beyond the readers; paths start at the fragment."""


def flat_fields(items: Sequence[FormField | Rows], fragment: Fragment) -> list[FormField]:
    """List all fields, those of rows among them."""
    fields: list[FormField] = []
    for item in items:
        if isinstance(item, Rows):
            for index in range(len(item.members(fragment))):
                fields += flat_fields(item.fields(fragment, index), fragment)
        else:
            fields.append(item)
    return fields


def flat_rows(items: Sequence[FormField | Rows], fragment: Fragment) -> Iterator[Rows]:
    for item in items:
        if isinstance(item, Rows):
            yield item
            for index in range(len(item.members(fragment))):
                yield from flat_rows(item.fields(fragment, index), fragment)


def sections_with_uncovered_rest(
    sections: Sequence[Section], fragment: Fragment, title: str, words: str, *elsewhere: Place
) -> list[Section]:
    """The sections and, last, what none of them covers. `elsewhere`: what has its field outside the form."""
    covered = [
        item.at
        for section in sections
        for item in section.fields
        # Rows cover a list; whatever else stands there is left to JSON.
        if not isinstance(item, Rows) or type(fragment_paths.value_at(fragment, item.at)) is list
    ]
    rest = RestField(at=(), label=title, help=words, covered=(*covered, *elsewhere), rows=6)
    return [*sections, Section(title=title, fields=[rest])]


@dataclass(frozen=True)
class FragmentProblems:
    """Problems of a fragment. `faults` keep a draft from being read, `later` only from being published."""

    faults: Sequence[Problem]
    later: Sequence[Problem]


def form_problems(form: PartForm, fragment: Fragment, setting: FormSetting) -> FragmentProblems:
    placed = form.placed_fragment(fragment, setting)
    more = list(form.extra_problems(fragment, setting))
    try:
        line = read_line(placed.document)
    except DocumentError as fault:
        return FragmentProblems([*_problems_within_fragment(fault.problems, placed), *more], [])
    return FragmentProblems(more, _problems_within_fragment(publishing_problems(line), placed))


def _problems_within_fragment(problems: Sequence[Problem], placed: PlacedFragment) -> list[Problem]:
    """Return the problems of the fragment, with paths that start there."""
    own_problems = []
    for problem in problems:
        rest = problem.path[len(placed.path) :]
        inside = problem.path.startswith(placed.path) and (not placed.path or rest[:1] in ("", ".", "["))
        rest = rest.removeprefix(".")
        # The first step: of `rules[0].to` it is `rules`.
        if inside and re.split(r"[.\[]", rest)[0] not in placed.beside:
            own_problems.append(Problem(rest, problem.message, problem.hint))
    return own_problems


def skeleton_document(names: Outline, **parts: Any) -> dict[str, Any]:
    """A document of nothing but names, for the readers to look them up, and these parts."""
    settings = {"preset": names.preset, "policy": names.policy, "flags": names.flags}
    ends = [{"key": end.key, "kind": end.kind or "completed"} for end in names.ends]
    return {
        "gateline": 1,
        "key": "line",
        **{key: value for key, value in settings.items() if value is not None},
        "stations": [bare_station(station) for station in names.stations],
        "gates": [{"key": gate.key} for gate in names.gates],
        "ends": ends,
        # A key that is no key is a fault of the inputs, not of this fragment.
        "inputs": [{"key": key} for key in dict.fromkeys(names.inputs) if KEY.match(key)],
        **parts,
    }


def bare_station(station: PartReference) -> dict[str, Any]:
    """Return a station with no more of its work than the kind: others may name it for that."""
    return {"key": station.key, "work": {"kind": station.kind if station.kind in KINDS else "noop"}}


def other_skeletons(members: Sequence[PartReference], own: str) -> list[dict[str, Any]]:
    """The skeletons of all but the first of this key, which is the fragment itself."""
    rest = list(members)
    own_member = next((member for member in rest if member.key == own), None)
    if own_member is not None:
        rest.remove(own_member)
    return [bare_station(member) for member in rest]
