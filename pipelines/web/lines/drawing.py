"""A line as pages draw it, only to look at: what the canvas is given (static/editor/shown), and the same as a list for
who has no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from pipelines.lines import drawings
from pipelines.models import Line, LineVersion
from pipelines.queries import rule_ranks, versions
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.transitions import rejection_target_by_gate
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.document.networks import document_to_publish
from pipelines.routing.sentences.changes import condition_text
from pipelines.routing.sentences.names import gate_name, target_name
from pipelines.templatetags.gateline import built_file_url_or_empty
from pipelines.web.lines.badges import rule_limits
from pipelines.web.lines.kinds import work_kind_fields
from pipelines.web.lines.overview import fallback_text
from pipelines.work.drawing import path_of_node_program_or_empty

STOPPED = " (stopped)"
"""Behind the key of a station: the id of the rule that stands for an end to which no rule led."""


@dataclass(frozen=True, slots=True)
class DrawnEnding:
    """Ending of a task that followed no rule to that end: a gate, the policy or a person ended it. `rule`:
    the one whose gate stopped it, "" where none did."""

    station: str
    rule: str
    end: str


@dataclass(frozen=True, slots=True)
class ListedStation:
    """`rules`: each in words, in their order, and last where the policy leads after them."""

    key: str
    name: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineDrawing:
    """`given`: what the script draws. `listed`: the same in words. `still`: the same as it is stored, as SVG, until
    the script has drawn it, and without one."""

    given: dict[str, Any]
    listed: tuple[ListedStation, ...]
    still: Mapping[str, SafeString]
    digest: str = ""
    """Set where nothing is stored and a browser has to draw."""


def picture_of(
    line: ParsedLine,
    endings: Iterable[DrawnEnding] = (),
    line_id: int | None = None,
    onward: Mapping[str, str] | None = None,
) -> LineDrawing:
    """Return what is drawn of a line that can be read. `endings`: additional endings of a task of it.
    `line_id`: the line whose tasks are its history, where it has one. `onward`: the policy's transitions,
    where already known."""
    document = line.to_document()
    ended = set()
    for ending in endings:
        _add_ending(document, ending)
        ended.add(ending.station)
    details = canvas_details(line, line_id, onward)
    # Where a station has no rules, what it came to is drawn in the place of where the policy leads.
    bare = {station.key for station in line.stations if not station.rules and station.key in ended}
    drawn = {key: target for key, target in details["onward"].items() if key not in bare}
    used = {station.kind for station in line.stations}
    canvas_data = {
        "document": _reduced_document(document, {station.key: station.kind for station in line.stations}),
        "conditions": {
            rule["id"]: condition_text(rule.get("when", {"always": True}), document, short=True)
            for rule in _rules_of_all_stations(document)
        },
        **details,
        "onward": drawn,
        "icons": built_file_url_or_empty("static/icons.json"),
        "kinds": [kind for kind in work_kind_fields() if kind["key"] in used],
    }
    return LineDrawing(canvas_data, tuple(_listed_stations(line, details["onward"])), {})


def drawing_with_stored_svg(
    drawing: LineDrawing, project_id: int | None, line_id: int | None = None
) -> LineDrawing:
    """Return a copy with the drawing of its picture, where that is stored. `project_id`: None for what ships with
    Gateline. `line_id`: the line that lists show by it."""
    stored = drawings.stored_drawing_or_request(project_id, drawing.given, line_id)
    if stored is None:
        return (
            drawing
            if path_of_node_program_or_empty()
            else replace(drawing, digest=drawings.picture_digest(drawing.given))
        )
    return replace(
        drawing, given={**drawing.given, "stored": stored.geometry}, still=safe_svg_of_stored_drawing(stored)
    )


def safe_svg_of_stored_drawing(stored: drawings.StoredDrawing) -> Mapping[str, SafeString]:
    # It is inert, and written anew when it was stored (pipelines/formats/drawings.py).
    return {"wide": mark_safe(stored.wide), "narrow": mark_safe(stored.narrow)}


def canvas_details(
    line: ParsedLine, line_id: int | None = None, onward: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the data beside the document that the canvas needs: policy targets of passed outcomes that no rule
    takes (and in words where rules come first), targets of rejections, limits of rules, and how often tasks
    took each rule."""
    if onward is None:
        onward = LintSubject(line).policy_target_by_station
    return {
        "onward": onward,
        "otherwise": {
            station.key: fallback_text(line, station)
            for station in line.stations
            if station.rules and station.key in onward
        },
        "rejected": rejection_target_by_gate(line),
        "limits": rule_limits(line),
        "taken": rule_ranks.rank_by_rule(line, line_id) if line_id else {},
    }


def drawing_of_version(
    version: LineVersion, project_id: int, endings: Sequence[DrawnEnding] = ()
) -> LineDrawing:
    """A version never changes: without `endings` it is worked out once. What tasks took does."""
    if endings:
        onward = version_policy_targets(version.pk)
        return drawing_with_stored_svg(
            picture_of(versions.parsed_version(version), endings, version.line_id, onward), project_id
        )
    return drawing_with_stored_svg(picture_of_version(version), project_id)


def drawing_of_live_version_or_draft(line: Line, draft: ParsedLine | None) -> LineDrawing | None:
    """Return the drawing of the live version, or before there is one, of the draft, if it could be parsed."""
    if line.live:
        drawing = picture_of_version(line.live)
    elif draft:
        drawing = picture_of(draft)
    else:
        return None
    return drawing_with_stored_svg(drawing, line.project_id, line.pk)


def picture_of_version(version: LineVersion) -> LineDrawing:
    """Return what is drawn of a version, with the ranks of its rules as they are now."""
    drawn = _version_drawing(version.pk)
    # A copy: the one in the cache is for everybody.
    ranks = rule_ranks.rank_by_rule(versions.parsed_version(version), version.line_id)
    return replace(drawn, given={**drawn.given, "taken": ranks})


def picture_of_draft(line: Line) -> LineDrawing:
    """Return what is drawn of a draft. :raises DocumentError: it is no line that can be read"""
    parsed = read_line(document_to_publish(line.draft), keep_faulty_rules=True)
    return picture_of(parsed, line_id=line.pk if line.live_id else None)


# By its id alone: a version never changes
@lru_cache(maxsize=64)
def _version_drawing(version_id: int) -> LineDrawing:
    return picture_of(
        versions.parsed_line_by_version_id(version_id), onward=version_policy_targets(version_id)
    )


@lru_cache(maxsize=512)
def version_policy_targets(version_id: int) -> Mapping[str, str]:
    """`LintSubject.policy_target_by_station`, which every look at a task asks for: a version never changes."""
    return LintSubject(versions.parsed_line_by_version_id(version_id)).policy_target_by_station


DRAWN = {
    "stations": ("key", "name", "agent", "gate", "join"),
    "rules": ("id", "label", "when", "to", "gates"),
    "gates": ("key", "name", "mode"),
    "ends": ("key", "kind", "label"),
    "inputs": ("key",),
}


def _reduced_document(document: Mapping[str, Any], kinds_of: Mapping[str, str]) -> dict[str, Any]:
    """No more of it than can be seen: a page with many lines stays light, and tells nothing besides."""
    parts = {
        part: [_picked_keys(member, DRAWN[part]) for member in document.get(part, ())]
        for part in ("gates", "ends", "inputs")
    }
    stations = [
        {
            **_picked_keys(station, DRAWN["stations"]),
            "work": {"kind": kinds_of[station["key"]]},
            "rules": [_picked_keys(rule, DRAWN["rules"]) for rule in station["rules"]],
        }
        for station in document["stations"]
    ]
    return {**_picked_keys(document, ("key", "name", "start")), **parts, "stations": stations}


def _picked_keys(part: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: part[key] for key in keys if part.get(key) is not None}


def _add_ending(document: dict[str, Any], ending: DrawnEnding) -> None:
    """An end that no rule leads to hangs at its station by a rule that is none, so that it is not drawn by itself."""
    for station in document["stations"]:
        ids = [rule["id"] for rule in station["rules"]]
        if station["key"] == ending.station and f"{ending.station}{STOPPED}" not in ids:
            label = "Stopped at the gate" if ending.rule else "Ended without a rule"
            rule = {"id": f"{ending.station}{STOPPED}", "label": label, "to": ending.end}
            # A rule that is none: an end to which nothing leads would be drawn somewhere by itself
            station["rules"] = [*station["rules"], rule]


def _listed_stations(line: ParsedLine, onward: Mapping[str, str]) -> Iterable[ListedStation]:
    document = line.to_document()
    whens = {rule["id"]: rule.get("when", {"always": True}) for rule in _rules_of_all_stations(document)}
    refused = rejection_target_by_gate(line)
    for station in line.stations:
        rules = []
        for rule in station.rules:
            label = rule.label or condition_text(whens[rule.id], document, short=True)
            words = f"{label} → {', '.join(target_name(line, key) for key in rule.to)}"
            gates = ", ".join(gate_name(line, key) for key in rule.gates)
            rules.append(f"{words} ({gates})" if gates else words)
            rules += [
                f"Rejected by {gate_name(line, key)} → {target_name(line, refused[key])}"
                for key in rule.gates
                # A rejection that leads back to this station is no edge to tell of.
                if refused.get(key, station.key) != station.key
            ]
        if station.rules and station.key in onward:
            rules.append(f"Otherwise → {target_name(line, onward[station.key])}")
        yield ListedStation(station.key, station.name, tuple(rules))


def _rules_of_all_stations(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for station in document["stations"]:
        yield from station["rules"]
