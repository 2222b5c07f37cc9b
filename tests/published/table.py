"""Table of the published APIs by host, and what is wrong with the exchanges of a test."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from tests.published.forgejo import PublishedForgejo
from tests.published.github import PublishedGitHub
from tests.published.gitlab import PublishedGitLab
from tests.published.operations import Exchange, PublishedApi
from tests.published.packages import NotFetched

APIS: Mapping[str, type[PublishedApi]] = {
    "github": PublishedGitHub,
    "gitlab": PublishedGitLab,
    "gitea": PublishedForgejo,
}


@functools.cache
def published_api(host: str) -> PublishedApi:
    return APIS[host]()


def exchange_faults(host: str, exchanges: Iterable[Exchange]) -> list[str]:
    """Return each fault once, with the call that has it; none where nothing can be had to hold them against."""
    try:
        api = published_api(host)
    except NotFetched:
        return []
    return list(
        dict.fromkeys(f"{exchange}: {fault}" for exchange in exchanges for fault in api.faults(exchange))
    )
