"""The queue's entry point for what is told at a host."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models.functions import Now
from django.utils import timezone
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from pipelines.models import Delivery, HostNotice, Job, Task
from pipelines.ports import clock
from pipelines.ports.code_host_notices import (
    LATEST,
    STATUS,
    WITHDRAW,
    mark_notice_failed_unless_queued_again,
    unchanged_queued_row,
)
from pipelines.ports.queue_tasks import HOSTS, TELL_HOST
from pipelines.ports.vault import value_lookup
from pipelines.work.host_notifications import texts
from pipelines.work.hosts.errors import HostAway, HostError
from pipelines.work.hosts.host import CommitState, Thing
from pipelines.work.hosts.table import open_host
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess
from pipelines.work.transport.local.host_access import (
    host_access_or_none,
    nearest_secrets,
    secret_and_reason_for_absence,
)

TELLERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="hosts")
# A worker that is stopped in the middle leaves the ticket to the next.
STOPPED: tuple[Any, ...] = (asyncio.CancelledError,)
# For five and a half hours.
RETRY = RetryStrategy(
    max_attempts=6,
    exponential_wait=5,
    retry_exceptions=[HostAway, DatabaseError, InterfaceError, *STOPPED],
)
EARLIER = timedelta(hours=1)
"""Clocks of hosts may be that far behind."""
AGAIN = 5


@app.task(name=TELL_HOST, queue=HOSTS, retry=RETRY)
async def tell_host(notice_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(TELLERS, send_queued_notice, notice_id)


def send_queued_notice(notice_id: int) -> None:
    """Send a queued notice and mark it; a comment that is there already is left alone, and so is what is too late.

    :raises HostAway: to be tried again later"""
    try:
        notices = HostNotice.objects.select_related(
            "link__task__project__owner", "link__task__line", "link__repository__project"
        ).filter(pk=notice_id, state=HostNotice.State.QUEUED)
        notice = notices.first()
        if notice is not None and notice.queued_at > clock.now() - LATEST:
            _send_notice_to_host(notice)
    finally:
        # A thread of a pool has no request at whose end Django would close it
        connection.close()


def _send_notice_to_host(notice: HostNotice) -> None:
    try:
        access, guard = (
            _notice_access(notice),
            Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES)),
        )
        if notice.about == STATUS:
            _set_current_status(notice, access, guard)
        elif notice.about == WITHDRAW:
            if not _is_delivered_again(notice):
                asyncio.run(_withdraw_from_queue(access, guard, notice.link.number))
        else:
            text = texts.notice_comment(notice)
            asyncio.run(_post_comment_once(notice, text, access, guard))
    except HostError as error:
        if isinstance(error, HostAway):
            unchanged_queued_row(notice).update(error=str(error))
            raise
        mark_notice_failed_unless_queued_again(notice, str(error))
        return
    # A status that was asked for again meanwhile stays queued: its own ticket sends it.
    unchanged_queued_row(notice).update(state=HostNotice.State.SENT, sent_at=Now(), error="")


def _notice_access(notice: HostNotice) -> HostAccess:
    repository = notice.link.repository
    if repository is None:
        raise HostError("The repository is no longer connected to this project.")
    credential, missing = secret_and_reason_for_absence(repository, repository.name_of_host_secret)
    access = host_access_or_none(repository, credential)
    if access is None or not credential:
        raise HostError(missing or "The repository has no host, or no token for it.")
    value_lookup.record_use_if_not_lately_recorded(
        nearest_secrets(repository, repository.name_of_host_secret).values(), timezone.now()
    )
    return access


def _is_delivered_again(notice: HostNotice) -> bool:
    """Return whether a later delivery has given the same request to the queue by now."""
    under_way = Delivery.objects.filter(task=notice.link.task_id, at_host=True, landed_at=None)
    under_way = under_way.filter(job__state__in=(Job.State.QUEUED, Job.State.RUNNING))
    return any((delivery.request or {}).get("number") == notice.link.number for delivery in under_way)


async def _withdraw_from_queue(access: HostAccess, guard: Guard, number: int) -> None:
    """The delivery ended otherwise: nothing of it lands any more by itself."""
    await (await open_host(access, guard)).leave_merge_queue(number, "queue")


async def _post_comment_once(notice: HostNotice, text: str, access: HostAccess, guard: Guard) -> None:
    host, link = await open_host(access, guard), notice.link
    kind: Thing = "issue" if link.kind == "issue" else "request"
    there = await host.comments_since(kind, link.number, notice.created_at - EARLIER)
    if not any(texts.notice_marker(notice) in comment for comment in there):
        await host.add_comment(kind, link.number, text)


def _set_current_status(notice: HostNotice, access: HostAccess, guard: Guard) -> None:
    """Two may be under way at once: whoever comes second looks again what is so now."""
    last_status = None
    for _time in range(AGAIN):
        task = Task.objects.get(pk=notice.link.task_id)
        commit = texts.last_pushed_head_or_empty(notice.link)
        state, words = texts.commit_state_and_description(task, commit)
        if (commit, words) == last_status or not commit:
            return
        last_status = (commit, words)
        asyncio.run(
            _set_commit_status(access, guard, commit, state, words, texts.task_page_url(notice.link.task))
        )


async def _set_commit_status(
    access: HostAccess, guard: Guard, commit: str, state: CommitState, description: str, url: str
) -> None:
    await (await open_host(access, guard)).set_status(commit, state, description, url)
