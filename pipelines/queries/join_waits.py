"""Waits of branches at a join, and what it came to, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.models import ENDED, Token
from pipelines.queries import versions
from pipelines.queries.branches import living_branches
from pipelines.routing.decide.branch_joins.join_decision import JoinGroup, join_groups_with_waiting_tokens
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.waits import ProblemAndRemedy

CAME = {"pass": "passed", "fail": "failed", "blocked": "blocked"}


def join_wait_sentence_by_token(tokens: Iterable[Token]) -> dict[int, ProblemAndRemedy]:
    """Return the sentence of each token that waits at a join, by its id. Their tasks are loaded."""
    waiting = {token.task_id: token.task for token in tokens if token.waits_at_join}
    living: defaultdict[int, list[Token]] = defaultdict(list)
    if waiting:
        for token in Token.objects.filter(task__in=waiting).exclude(status__in=ENDED).order_by("pk"):
            living[token.task_id].append(token)
    sentences: dict[int, ProblemAndRemedy] = {}
    for task_id, theirs in living.items():
        line = versions.parsed_line_by_version_id(waiting[task_id].pinned_id)
        for group in join_groups_with_waiting_tokens(line, living_branches(theirs)):
            sentences |= {branch.id: join_wait_sentence(line, group) for branch in group.arrived}
    return sentences


def join_wait_sentence(line: ParsedLine, group: JoinGroup) -> ProblemAndRemedy:
    names = ", ".join(
        station_name(line, key) for key in group.missing_stations_still_reachable or group.missing
    )
    return ProblemAndRemedy(
        f"Waits for {names}.",
        f"{station_name(line, group.station)} starts when every branch has arrived, or can no longer arrive.",
    )


def join_result_words(line: ParsedLine, join: Mapping[str, Any], contradictions: Sequence[str] = ()) -> str:
    """Return the result of a join as its event records it, such as `QA passed, Security never arrived`."""
    parts = [
        f"{station_name(line, key)} {'never arrived' if key in join['never'] else CAME[verdict]}"
        for key, verdict in join["branches"].items()
    ]
    if contradictions:
        keys = ", ".join(contradictions)
        parts.append(f"they contradict each other about {keys}")
    return ", ".join(parts)
