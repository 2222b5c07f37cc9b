"""The programs that the proposed commands of a repository begin with, and the workers that have them."""

from __future__ import annotations

from datetime import datetime

from pipelines.models import Repository
from pipelines.queries.workers import with_programs
from pipelines.work.git.probe import ConnectionFact
from pipelines.work.spec.ecosystems import Proposal
from pipelines.work.spec.preparation import Preparation


def programs_of(repository: Repository, proposal: Proposal, now: datetime) -> ConnectionFact | None:
    """Say which of the programs lie on the path of stations; None where there are none to look for, since an image has
    its own, or nothing is proposed."""
    names = proposal.programs
    if not names or Preparation.of_dict(repository.prepare).image:
        return None
    project = repository.project
    workers = {
        worker.name: worker.programs
        for worker in with_programs(now, project.pk)
        if worker.programs is not None and (worker.owners is None or project.owner.key in worker.owners)
    }
    if not workers:
        text = "No runner that is online says whether it has them. Start one, and test the connection again."
        return ConnectionFact(", ".join(names), warning=text)
    lacking = {name: [worker for worker, has in workers.items() if name not in has] for name in names}
    warnings = [
        f"{name} is not on the path of stations on {', '.join(on)}." for name, on in lacking.items() if on
    ]
    if warnings:
        warnings.append(
            "Install what is missing there, choose an image under Environment, or enter other commands."
        )
    return ConnectionFact(", ".join(names), warning=" ".join(warnings))
