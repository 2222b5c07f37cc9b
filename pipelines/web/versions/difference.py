"""Two versions of a line beside each other: what goes elsewhere, in words, with a sample of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from pipelines.errors import Invalid
from pipelines.lines import version_comparison
from pipelines.models import Line
from pipelines.routing.analysis.difference.compare import Difference
from pipelines.routing.analysis.difference.samples import Sample
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import Problem
from pipelines.routing.sentences import definitions, differences
from pipelines.web.shell.page import SignedInRequest, costly_view, line_required, show_line

MAX_SHOWN = 200
"""Changes on one page; all of them are in the answer of the API."""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """`place`: the station or gate that it is about, "" for the line. `situation`: the sample as JSON."""

    place: str
    sentence: str
    old: str = ""
    new: str = ""
    situation: str = ""


@line_required("view")
@costly_view
@require_safe
def difference_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """`?from=` and `?to=`: the number of a version, `live` or `draft`."""
    problems: list[Problem] = []
    compared, sides = None, None
    if line.live is not None:
        try:
            sides = [
                version_comparison.comparison_side(line, request.GET.get(name) or default)
                for name, default in (("from", "live"), ("to", "draft"))
            ]
            compared = version_comparison.routing_difference(*sides)
        except Invalid as fault:
            problems = list(fault.problems)
    return show_line(
        request,
        "versions/difference.html",
        line,
        choices=_version_choices(line),
        old=sides[0].name if sides else "",
        new=sides[1].name if sides else "",
        names=[_side_name(side.name) for side in sides or ()],
        problems=problems,
        **difference_context(compared),
    )


def _version_choices(line: Line) -> list[tuple[str, str]]:
    numbers = line.versions.order_by("-number").values_list("number", flat=True)[:200]
    return [(version_comparison.DRAFT, "Draft"), *((str(n), f"v{n}") for n in numbers)]


def _side_name(side: str) -> str:
    return "the draft" if side == version_comparison.DRAFT else f"v{side}"


def difference_context(routing_difference: Difference | None, most: int = MAX_SHOWN) -> dict[str, Any]:
    """Return the context of a difference for the templates, with at most `most` changes."""
    if routing_difference is None:
        return {"verdict": "", "groups": [], "unknown": [], "left_out": 0}
    views = _change_views(routing_difference)
    groups: dict[str, list[ChangeView]] = {}
    for view in views[:most]:
        groups.setdefault(view.place, []).append(view)
    return {
        "verdict": routing_difference.verdict,
        "total": len(views),
        "groups": list(groups.items()),
        "unknown": [
            people_text(differences.region_change_sentence(routing_difference.pair, change))
            for change in routing_difference.unknown[:MAX_SHOWN]
        ],
        "left_out": max(0, len(views) - most),
    }


def _change_views(routing_difference: Difference) -> list[ChangeView]:
    """Return the changes of the whole line first, then those station by station."""
    changes = [
        (change.key, definitions.structural_sentence(routing_difference.pair, change), change.sample)
        for change in routing_difference.structure
    ]
    changes += [
        (change.station, differences.region_change_sentence(routing_difference.pair, change), change.sample)
        for change in routing_difference.changes
    ]
    return [
        _change_view(
            routing_difference,
            differences.name_in_versions_or_empty(routing_difference.pair, place),
            people_text(sentence),
            sample,
        )
        for place, sentence, sample in changes
    ]


def _change_view(
    routing_difference: Difference, place: str, sentence: str, sample: Sample | None
) -> ChangeView:
    if sample is None:
        return ChangeView(place, sentence)
    old, new = differences.past_and_present_text_of_routes(routing_difference.pair, sample)
    situation = jsontext.dumps(sample.situation, indent=2, ascii_only=False)
    return ChangeView(place, sentence, people_text(old), people_text(new), situation)
