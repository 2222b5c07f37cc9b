"""Queued jobs that no worker offers to do: how many there are, and why for one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db import connection
from django.utils.translation import gettext as _

from pipelines.models import Job, Task
from pipelines.ports.leases import Claim, claims
from pipelines.ports.vault.finding import Reach
from pipelines.queries import environments, versions
from pipelines.routing.document.agents import PRESETS
from pipelines.routing.document.kinds import DEFAULT_MODEL, IMAGES, MODEL_SERVER, executes, needs
from pipelines.routing.document.kinds.agent import SIGNED_IN
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.document.line import Station
from pipelines.routing.sentences.waits import Sentence

# As many rows as there are stations at which something waits, however many jobs there are.
WAITING = """
    SELECT job.pinned_id, job.station, owner.key, owner.id, project.id, task.line_id, count(*) FROM pipelines_job job
    JOIN pipelines_token token ON token.id = job.token_id
    JOIN pipelines_task task ON task.id = job.task_id
    JOIN pipelines_project project ON project.id = task.project_id
    JOIN pipelines_owner owner ON owner.id = project.owner_id
    WHERE job.state = 'queued' AND job.purpose = 'station' AND token.status = 'queued'
    GROUP BY job.pinned_id, job.station, owner.key, owner.id, project.id, task.line_id"""


def count() -> int:
    """How many jobs wait for a worker that is not there."""
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        groups = cursor.fetchall()
    if not groups:
        return 0
    offered, lost = claims(), 0
    for pinned, key, owner, *ids, number in groups:
        station = versions.by_id(pinned).station(key)
        brought, here = Reach(*ids).brings(station), _in_project(offered, ids[1])
        # Where an input names the repository, each task has its own: those are not counted.
        besides = environments.asked(ids[1], versions.by_id(pinned), station, {})
        if not any(claim.can(owner, station, brought, besides) for claim in here):
            lost += number
    return lost


def without_a_worker(task: Task, last: Mapping[int, Job]) -> dict[int, Sentence]:
    """{token id: why nobody does it now, and what would help}. `last`: the last job of each token."""
    queued = {token: job for token, job in last.items() if job.state == Job.State.QUEUED}
    if not queued:
        return {}
    offered, owner = _in_project(claims(), task.project_id), task.project.owner.key
    found = {}
    for token, job in queued.items():
        station = versions.by_id(job.pinned_id).station(job.station)
        brought = Reach.of(task).brings(station)
        if job.not_before is not None and station.kind == DELIVER.key:
            found[token] = Sentence(
                _("Waits for another delivery to this branch. It looks again within half a minute.")
            )
            continue
        if job.not_before is not None:
            found[token] = Sentence(
                _("Waits for checks of the host. It looks again every two minutes at most.")
            )
            continue
        line = versions.by_id(job.pinned_id)
        besides = environments.asked(task.project_id, line, station, task.inputs)
        if not any(claim.can(owner, station, brought, besides) for claim in offered):
            found[token] = why(owner, station, offered, brought, besides)
    return found


def _in_project(offered: Sequence[Claim], project: int) -> list[Claim]:
    return [claim for claim in offered if claim.works_in(project)]


def why(
    owner: str,
    station: Station,
    offered: Sequence[Claim],
    brought: Collection[str] = (),
    besides: Collection[str] = (),
) -> Sentence:
    serving = [claim for claim in offered if claim.serves(owner)]
    if not serving:
        return Sentence(_("No active runner serves this project."), _("Start one: manage.py worker"))
    labels = [label for label in station.labels if not any(label in claim.labels for claim in serving)]
    if labels:
        words = {"labels": ", ".join(labels)}
        remedy = _("Start a runner with it: manage.py worker --label %s") % labels[0]
        return Sentence(_("No active runner has the label %(labels)s.") % words, remedy)
    for need in (*needs(station), *besides):
        if need not in brought and not any(claim.has(need) for claim in serving):
            return _lacking(need)
    return Sentence(
        _("No active runner has everything that this station needs."),
        _("Start one that has all of it: labels, model and secrets."),
    )


def _lacking(need: str) -> Sentence:
    family, _colon, name = need.partition(":")
    if need == MODEL_SERVER:
        return Sentence(_("No active runner has a model."), _("Set GATELINE_MODEL_URL for a runner."))
    if need == DEFAULT_MODEL:
        return Sentence(
            _("No active runner has a default model."),
            _("Name a model at the station, or set GATELINE_MODEL."),
        )
    if need == IMAGES:
        return Sentence(
            _("No active runner has podman or docker, which the images of this repository take."),
            _("Install podman and bubblewrap on a runner, and start it again."),
        )
    if family == SIGNED_IN:
        agent = {"agent": PRESETS[name].name if name in PRESETS else name, "key": name}
        return Sentence(
            _("No active runner is signed in with %(agent)s.") % agent,
            _("Sign in on its machine, and start the runner there with --signed-in %(key)s.") % agent,
        )
    if family == "secret":
        words = _("No active runner has the secret %s.") % name
        return Sentence(
            words,
            _("Add it under Settings, Secrets and variables, or set GATELINE_SECRET_%s for a runner.") % name,
        )
    if executes(name):
        return Sentence(
            _("No active runner runs programs: the server leaves them to runners."),
            _("Add a runner under Settings, Runners, or start yours again."),
        )
    return Sentence(
        _("No active runner handles work of the kind %s.") % name, _("Start a runner of this version.")
    )
