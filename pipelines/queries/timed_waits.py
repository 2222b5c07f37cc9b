"""Positions that wait for a time (`work.kind: wait`): until when, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.models import Due, Job
from pipelines.routing.sentences.waits import Sentence


def timed_wait_sentences(last: Mapping[int, Job]) -> dict[int, Sentence]:
    """{token id: sentence}. `last`: the last job of each token."""
    waits = {job.pk: token for token, job in last.items() if job.kind == "wait" and job.state == "running"}
    if not waits:
        return {}
    sentences = {}
    for due in Due.objects.filter(job_id__in=waits, kind="wait"):
        text = f"Waiting until {due.due_at:%Y-%m-%d %H:%M:%S} UTC."
        sentences[waits[due.job_id or 0]] = Sentence(text, "Continues automatically.")
    return sentences
