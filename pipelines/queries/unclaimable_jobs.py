"""Queued jobs that no worker offers to do: how many there are, and why for one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pipelines.models import Job, Purpose, Task
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.leases import WorkOffer, offers_of_live_workers
from pipelines.ports.vault.value_lookup import ValueScope, needs_met_by_stored_secrets_of_each
from pipelines.queries import environments, queued_work, versions
from pipelines.queries.queued_work import QueuedWork
from pipelines.queries.statements import UNOFFERED_COUNT
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.agents import PRESETS
from pipelines.routing.document.kinds import (
    DEFAULT_MODEL,
    IMAGES,
    MODEL_SERVER,
    SEVERAL_OWNERS,
    kind_executes,
    required_offers,
)
from pipelines.routing.document.kinds.agent import SIGNED_IN
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.document.kinds.runner import KIND as ALP_RUNNER
from pipelines.routing.document.line import Station
from pipelines.routing.sentences.waits import ProblemAndRemedy

MOST_COUNTED = 1_000


@dataclass(frozen=True)
class Unclaimed:
    """Jobs of one station that no worker offers to do. `number`: at most `MOST_COUNTED`, or exact where all count."""

    work: QueuedWork
    number: int
    sentence: ProblemAndRemedy

    @property
    def title(self) -> str:
        """Return where they wait, and how many."""
        names = {
            "number": self.number,
            "station": self.work.published_station.name,
            "line": versions.parsed_line_by_version_id(self.work.version).name,
        }
        if self.number == MOST_COUNTED:
            return "{number} or more tasks wait at {station} of {line}.".format(**names)
        return (
            singular_or_plural(
                "%(number)d task waits at %(station)s of %(line)s.",
                "%(number)d tasks wait at %(station)s of %(line)s.",
                self.number,
            )
            % names
        )


def count_unclaimable() -> int:
    """Count the jobs that wait for a worker that is not there."""
    return sum(row.number for row in _unclaimed_stations(queued_work.queued_work_everywhere(), most=None))


def unclaimable_in_project(project: int) -> list[Unclaimed]:
    """Return the stations of a project where work waits that no worker offers to do."""
    return _unclaimed_stations(queued_work.queued_work_in_project(project), MOST_COUNTED)


def unclaimable_in_line(line: int) -> list[Unclaimed]:
    return _unclaimed_stations(queued_work.queued_work_in_line(line), MOST_COUNTED)


def _unclaimed_stations(queued_work: Sequence[QueuedWork], most: int | None) -> list[Unclaimed]:
    # A person's work, which is queued only while it is held, counts nowhere: its token is held.
    queued_work = [work for work in queued_work if work.purpose == Purpose.STATION]
    if not queued_work:
        return []
    offered = offers_of_live_workers()
    images = environments.ImageRepositories.of_projects({work.project for work in queued_work})
    lacking = []
    for work, secrets in zip(
        queued_work,
        needs_met_by_stored_secrets_of_each([(work.reach, work.published_station) for work in queued_work]),
        strict=True,
    ):
        # Where an input names the repository, each task has its own: those are not counted.
        besides = (IMAGES,) if images.all_need_images(work) else ()
        offers_there = _offers_in_project(offered, work.project)
        if not any(
            offer.can_do_station(work.owner, work.published_station, secrets, besides)
            for offer in offers_there
        ):
            lacking.append(
                (work, unclaimed_reason(work.owner, work.published_station, offers_there, secrets, besides))
            )
    if not lacking:
        return []
    rows = [{"version": work.version, "station": work.station, "kind": work.kind} for work, _why in lacking]
    numbers = [number for (number,) in fetch(UNOFFERED_COUNT, [most, json.dumps(rows)])]
    counted = zip(lacking, numbers, strict=True)
    return [Unclaimed(work, number, sentence) for (work, sentence), number in counted if number]


def unclaimed_sentence_by_token_id(task: Task, last: Mapping[int, Job]) -> dict[int, ProblemAndRemedy]:
    """{token id: why nobody does it now, and what would help}. `last`: the last job of each token."""
    queued = {token: job for token, job in last.items() if job.state == Job.State.QUEUED}
    if not queued:
        return {}
    offered, owner = _offers_in_project(offers_of_live_workers(), task.project_id), task.project.owner.key
    sentences = {}
    for token, job in queued.items():
        station = versions.parsed_line_by_version_id(job.pinned_id).station(job.station)
        brought = ValueScope.scope_of_task(task).needs_met_by_stored_secrets(station)
        # It was begun, and looks again at that time: it waits for no worker.
        if job.not_before is not None and station.kind == DELIVER.key:
            sentences[token] = ProblemAndRemedy(
                "Waits for another delivery to this branch. It looks again within half a minute."
            )
            continue
        if job.not_before is not None:
            sentences[token] = ProblemAndRemedy(
                "Waits for checks of the host. It looks again every two minutes at most."
            )
            continue
        line = versions.parsed_line_by_version_id(job.pinned_id)
        besides = environments.offers_required_of_worker(task.project_id, line, station, task.inputs)
        if not any(offer.can_do_station(owner, station, brought, besides) for offer in offered):
            sentences[token] = unclaimed_reason(owner, station, offered, brought, besides)
    return sentences


def _offers_in_project(offered: Sequence[WorkOffer], project: int) -> list[WorkOffer]:
    return [offer for offer in offered if offer.works_in_project(project)]


def unclaimed_reason(
    owner: str,
    station: Station,
    offered: Sequence[WorkOffer],
    brought: Collection[str] = (),
    besides: Collection[str] = (),
) -> ProblemAndRemedy:
    serving = [offer for offer in offered if offer.serves_owner(owner)]
    if not serving:
        remedy = (
            _worker_command(station)
            if station.labels
            else "Ask the operator of the server to start a worker (.venv/bin/python manage.py worker),"
            " or add a runner under Settings › Runners."
        )
        return ProblemAndRemedy("No active runner serves this project.", remedy)
    labels = [label for label in station.labels if not any(label in offer.labels for offer in serving)]
    if not labels and not any(set(station.labels) <= offer.labels for offer in serving):
        labels = list(station.labels)
    if labels:
        return ProblemAndRemedy(
            singular_or_plural(
                "No active runner has the label %(labels)s.",
                "No active runner has the labels %(labels)s.",
                len(labels),
            )
            % {"labels": ", ".join(labels)},
            _worker_command(station),
        )
    for need in (*required_offers(station), *besides):
        if need not in brought and not any(offer.meets_need(need) for offer in serving):
            several = any(SEVERAL_OWNERS in (offer.offers or ()) for offer in serving)
            return (
                _several_owners_sentence()
                if several and kind_executes(need.partition(":")[2])
                else _missing_need_with_remedy(need)
            )
    return ProblemAndRemedy(
        "No active runner has everything that this station needs.",
        "Start one that has all of it: labels, model and secrets.",
    )


def _worker_command(station: Station) -> str:
    """Return the command that starts a worker with all labels of the station, where it can be done."""
    arguments = shlex.join(word for label in station.labels for word in ("--label", label))
    format_values = {"labels": ", ".join(station.labels), "arguments": arguments}
    if station.kind == ALP_RUNNER.key:
        return (
            "Add a runner with {labels} under Settings › Runners, and give its token to your program.".format(
                **format_values
            )
        )
    if f"kind:{station.kind}" in queued_work.SERVER_ONLY:
        return "Ask the operator of the server to start a worker: .venv/bin/python manage.py worker {arguments}".format(
            **format_values
        )
    return (
        "Add a runner with {labels} under Settings › Runners, and run the command shown there on its machine."
        " Or ask the operator of the server to start a worker: .venv/bin/python manage.py worker {arguments}"
    ).format(**format_values)


def _several_owners_sentence() -> ProblemAndRemedy:
    return ProblemAndRemedy(
        "The active runners start no program: they serve several owners, whom Landlock does not keep apart.",
        "Install bubblewrap there, start a runner for each owner, or add one under Settings › Runners.",
    )


def _missing_need_with_remedy(need: str) -> ProblemAndRemedy:
    family, _colon, name = need.partition(":")
    if need == MODEL_SERVER:
        return ProblemAndRemedy("No active runner has a model.", "Set GATELINE_MODEL_URL for a runner.")
    if need == DEFAULT_MODEL:
        return ProblemAndRemedy(
            "No active runner has a default model.",
            "Name a model at the station, or set GATELINE_MODEL.",
        )
    if need == IMAGES:
        return ProblemAndRemedy(
            "No active runner has podman or docker, which the images of this repository take.",
            "Install podman and bubblewrap on a runner, and start it again.",
        )
    if family == SIGNED_IN:
        agent = {"agent": PRESETS[name].name if name in PRESETS else name, "key": name}
        return ProblemAndRemedy(
            "No active runner is signed in with {agent}.".format(**agent),
            "Sign in on its machine, and start the runner there with --signed-in {key}.".format(**agent),
        )
    if family == "secret":
        words = f"No active runner has the secret {name}."
        return ProblemAndRemedy(
            words,
            f"Add it under Settings › Secrets and variables, or set GATELINE_SECRET_{name} for a runner.",
        )
    if kind_executes(name):
        return ProblemAndRemedy(
            "No active runner runs programs: the server leaves them to runners.",
            "Add a runner under Settings › Runners, or start yours again.",
        )
    return ProblemAndRemedy(
        f"No active runner handles work of the kind {name}.", "Start a runner of this version."
    )
