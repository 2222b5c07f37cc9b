"""Guarantees of a line and the maximum cost of a task: as it is live, and as the draft would have it."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.lines import project_lint, publishing
from pipelines.lines.publish_plan import max_cost_or_empty_if_unlimited
from pipelines.models import Line
from pipelines.queries import versions
from pipelines.routing.document.networks import published_document
from pipelines.web.lines.guarantees import GuaranteeView, guarantee_view, own_and_required_guarantee_views


@dataclass(frozen=True, slots=True)
class GuaranteeRow:
    """Row of a promise. `before`: its state in the live version, "" where it was not stated; `stated`: the
    promise there, where the draft promises another thing under the same name. `now`: None where the draft
    does not promise it, and for the cost, which `word` says."""

    sentence: str
    before: str
    stated: str = ""
    now: GuaranteeView | None = None
    word: str = ""


def guarantee_rows(line: Line) -> list[GuaranteeRow]:
    """Return the rows of the draft in their order, then those that it drops, then the cost. None for a draft
    that is no line."""
    examination = publishing.check_draft(line)
    if examination.line is None:
        return []
    live = versions.parsed_line_by_version_id(line.live_id) if line.live_id else None
    before = {
        guarantee.id: guarantee
        for guarantee in (own_and_required_guarantee_views(live, line.live_id, line.project) if live else [])
    }
    same = {
        guarantee.id for guarantee in examination.line.guarantees if live and guarantee in live.guarantees
    }
    now = [guarantee_view(promise) for promise in examination.guarantee_findings]
    rows = [_guarantee_row(before.get(view.id), view, view.id in same) for view in now]
    gone = [view for key, view in before.items() if key not in {one.id for one in now}]
    return [*rows, *(GuaranteeRow(view.sentence, view.label) for view in gone), *_cost_rows(line)]


def _guarantee_row(before: GuaranteeView | None, now: GuaranteeView, same: bool) -> GuaranteeRow:
    stated = before.sentence if before and not same else ""
    return GuaranteeRow(now.sentence, before.label if before else "", stated, now)


def _cost_rows(line: Line) -> list[GuaranteeRow]:
    """Return the row of the cost; no row where nothing costs in either."""
    now = max_cost_or_empty_if_unlimited(publishing.check_draft(line))
    live = published_document(line.live.document, line.live.revision) if line.live else None
    before = (
        None
        if live is None
        else max_cost_or_empty_if_unlimited(project_lint.examine_document(live, line.project))
    )
    if now is None and before is None:
        return []
    return [
        GuaranteeRow(
            "A task costs at most",
            _nothing_unlimited_or_cost_text(before) if line.live else "",
            word=_nothing_unlimited_or_cost_text(now),
        )
    ]


def _nothing_unlimited_or_cost_text(amount: str | None) -> str:
    # None: nothing in it costs. An empty text: it costs, without a limit.
    return f"${amount}" if amount else "No limit" if amount == "" else "Nothing"
