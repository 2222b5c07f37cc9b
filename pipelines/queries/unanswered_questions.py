"""Questions of rules that no worker answers now, because none is there that could: why, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pipelines.models import Job, Project, Purpose, Status, Token
from pipelines.ports import leases
from pipelines.ports.leases import WorkOffer
from pipelines.queries import unclaimable_jobs, versions
from pipelines.routing.document.evaluations import MACHINES, MODEL
from pipelines.routing.document.kinds import required_offers
from pipelines.routing.sentences.waits import ProblemAndRemedy

# A hook and a tool run wherever commands run.
PROGRAMS: Final = "kind:command"


def unanswered_sentence_by_token(project: Project, tokens: Iterable[Token]) -> dict[int, ProblemAndRemedy]:
    """Return {token id: why nobody answers, and what would help}: three statements, however many tokens there are."""
    waiting = [token.pk for token in tokens if token.status == Status.EVALUATING]
    if not waiting:
        return {}
    questions = Job.objects.filter(token__in=waiting, state=Job.State.QUEUED).exclude(purpose=Purpose.STATION)
    jobs = list(questions.only("token_id", "kind", "pinned_id", "station"))
    if not jobs:
        return {}
    owner = project.owner.key
    able, offered = (
        leases.evaluations_live_workers_can_answer(owner, project.pk),
        [item for item in leases.offers_of_live_workers() if item.works_in_project(project.pk)],
    )
    sentences = {}
    for job in jobs:
        sentence = (
            _missing_machine_sentence_or_none(job.kind, able)
            if job.kind in MACHINES
            else _missing_program_sentence_or_none(job, owner, offered)
        )
        if sentence:
            sentences[job.token_id] = sentence
    return sentences


def _missing_machine_sentence_or_none(kind: str, able: frozenset[str]) -> ProblemAndRemedy | None:
    if kind in able:
        return None
    if kind == MODEL:
        return ProblemAndRemedy(
            "No active runner has a model that could answer the question of a rule.",
            "Set GATELINE_MODEL_URL and GATELINE_MODEL for a runner, or answer it yourself.",
        )
    return ProblemAndRemedy(
        "No active runner has the evaluator that answers the question of a rule.",
        (
            "Set GATELINE_EVALUATOR_COMMAND and start a runner with the label evaluator, or beside the server "
            ".venv/bin/python manage.py worker --label evaluator."
            " Or answer the question yourself."
        ),
    )


def _missing_program_sentence_or_none(
    job: Job, owner: str, offered: Sequence[WorkOffer]
) -> ProblemAndRemedy | None:
    station = versions.parsed_line_by_version_id(job.pinned_id).station(job.station)
    if any(
        offer.serves_owner_and_labels(owner, station.labels) and offer.meets_need(PROGRAMS)
        for offer in offered
    ):
        return None
    return unclaimable_jobs.unclaimed_reason(
        owner, station, offered, brought=required_offers(station), besides=(PROGRAMS,)
    )
