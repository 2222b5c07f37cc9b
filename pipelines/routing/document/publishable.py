"""Obstacles to publishing a readable line: the problems that only matter for a version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.wording import PartName, Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.algebra import AnswerTest, condition_leaf_tests
from pipelines.routing.document.document_readers.reader import expected_hint, quoted_value
from pipelines.routing.document.kinds import KINDS, is_unattended, work_templates
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.document.templates import TemplateError, counted_edges, template_lookups
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.network import EGRESS, egress_entries_or_none, input_keys
from pipelines.routing.document.workspace import NONE as NO_COMMITS

SWITCH_ON = Wording.of(
    "set flags: {agentic_conditions: true}",
    "let conditions ask an evaluator or a hook, in the settings of the line",
)


def publishing_problems(line: ParsedLine) -> tuple[Problem, ...]:
    """Return all problems that prevent publishing, in the order of the document; none means that the line may
    become a version."""
    return (*_workspace_problems(line), *_station_problems(line), *_number_problems(line))


def _workspace_problems(line: ParsedLine) -> Iterator[Problem]:
    """A repository needs its templates, its input, and a worker where branches are merged."""
    workspace = line.workspace
    yield from _delivery_problems(line)
    if workspace is None:
        return
    path = "workspace.git"
    inputs = {line_input.key: line_input for line_input in line.inputs}
    if workspace.input_key and workspace.input_key not in inputs:
        message = _("the line has no input “%(key)s”", key=workspace.input_key)
        yield Problem(f"{path}.repository", message, "declare the input, or name a repository")
    elif workspace.input_key and inputs[workspace.input_key].type != "repository":
        message = _("the input “%(key)s” is no repository", key=workspace.input_key)
        yield Problem(f"{path}.repository", message, "give the input the type repository")
    for key in ("base", "head", "branch"):
        yield from _template_problems(line, f"{path}.{key}", getattr(workspace, key))
    for s, station in enumerate(line.stations):
        # A join first merges the trees of its branches, which only a worker does (law §15, Git).
        if station.join and is_unattended(station):
            message = _(
                "%(station)s joins branches of a repository, and no worker does its work",
                station=_station_name(station),
            )
            hint = "join them at a station before it, of the kind No-op for example"
            yield Problem(f"stations[{s}].join", message, hint)


def _delivery_problems(line: ParsedLine) -> Iterator[Problem]:
    """A station that delivers needs commits."""
    workspace = line.workspace
    delivers = next((station for station in line.stations if station.kind == DELIVER.key), None)
    if delivers is None or (workspace is not None and workspace.commit != NO_COMMITS):
        return
    name = _station_name(delivers)
    if workspace is None:
        message = _("is missing, and %(station)s delivers to it", station=name)
        yield Problem("workspace.git.repository", message, "choose a repository")
    else:
        message = _("%(station)s delivers, and the line makes no commits", station=name)
        hint = "make a commit for each visit, or one for the whole task"
        yield Problem("workspace.git.commit", message, hint)


def _station_problems(line: ParsedLine) -> Iterator[Problem]:
    for s, station in enumerate(line.stations):
        path = member_path("stations", s)
        yield from _work_problems(line, station, f"{path}.work")
        for r, rule in enumerate(station.rules):
            yield from _rule_problems(line, rule, f"{path}.rules[{r}]")
        # A draft may be without them; a task would be stuck there
        if not station.rules and line.policy.no_rules == "refuse":
            people = _(
                "%(station)s has no rules, and this line needs them at every station",
                station=_station_name(station),
            )
            machine = f"{station.key} has no rules, and the policy no_rules: refuse wants some"
            message = Wording.of(machine, people)
            yield Problem(f"{path}.rules", message, "add a rule, or choose another policy")


def _station_name(station: Station) -> PartName:
    return PartName(station.key, lambda: station.name)


def _rule_problems(line: ParsedLine, rule: Rule, path: str) -> Iterator[Problem]:
    if rule.fault is not None:
        yield rule.fault
    elif not line.flags.get("agentic_conditions") and any(
        isinstance(leaf, AnswerTest) for leaf in condition_leaf_tests(rule.when)
    ):
        message = "agentic and hook conditions are switched off in this line"
        yield Problem(f"{path}.when", message, SWITCH_ON)


def _work_problems(line: ParsedLine, station: Station, path: str) -> Iterator[Problem]:
    kind = KINDS.get(station.kind)
    if kind is None:
        yield Problem(
            f"{path}.kind",
            _("%(kind)s is not run here", kind=quoted_value(station.kind)),
            expected_hint(station.kind, KINDS),
        )
    if kind is not None:
        yield from _host_problems(line, station, kind, f"{path}.network.{EGRESS}")
        yield from kind.publishing_problems(line, station, path)
    for where, text in work_templates(station.work, path):
        yield from _template_problems(line, where, text)


def _host_problems(line: ParsedLine, station: Station, kind: Kind, path: str) -> Iterator[Problem]:
    """Yield the problems of a list of hosts; an agent's own hosts are not in it."""
    entries = egress_entries_or_none(station.work.get("network"))
    if entries is None:
        return
    # An empty list is that of an agent, which reaches its model alone.
    if not entries and not kind.hosts(station.work):
        yield Problem(path, "names no host", "name one, or set the network to none")
    repositories = {line_input.key for line_input in line.inputs if line_input.type == "repository"}
    for key in input_keys(entries):
        if key not in repositories:
            message = _("%(key)s is no input of the type Repository", key=quoted_value(key))
            yield Problem(path, message, "name an input of that type, or a host")


def _template_problems(line: ParsedLine, where: str, text: str) -> Iterator[Problem]:
    """Yield the problems of placeholders that no task of this line could ever fill (law §8a, an undefined one
    is an error)."""
    try:
        names = template_lookups(text)
    except TemplateError as error:
        yield Problem(where, str(error))
        return
    inputs = {line_input.key for line_input in line.inputs}
    for family, name in names:
        if family == "input" and name not in inputs and name.partition(".")[0] not in inputs:
            message = _(
                "%(place)s asks for an input that the line does not have", place=f"{{{{input.{name}}}}}"
            )
            yield Problem(where, message, "declare the input, or take the place out")
    for source, target in counted_edges(text):
        for key in (source, target):
            if key not in line.stations_by_key and key not in line.ends_by_key:
                place = f"{{{{edge_count:{source}->{target}}}}}"
                message = _("%(place)s names %(key)s, which the line does not have", place=place, key=key)
                yield Problem(where, message, "name stations of the line")


def _number_problems(line: ParsedLine) -> Iterator[Problem]:
    """Numbers that stores and browsers would round. A line is written out only where it has one."""
    places = _exact_number_paths(line.to_document(), "") if _has_exact_number(line) else ()
    for path in places:
        yield Problem(path, "more digits than a number keeps here", "write it as a text, in quotes")


def _has_exact_number(value: Any) -> bool:
    if is_dataclass(value):
        return any(_has_exact_number(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        return any(map(_has_exact_number, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_exact_number, value))
    return isinstance(value, Decimal)


def _exact_number_paths(value: Any, path: str) -> Iterator[str]:
    """Paths of numbers in a document."""
    if type(value) is Decimal:
        yield path
    elif type(value) is dict:
        for key, member in value.items():
            yield from _exact_number_paths(member, member_path(path, key))
    elif type(value) is list:
        for index, member in enumerate(value):
            yield from _exact_number_paths(member, member_path(path, index))
