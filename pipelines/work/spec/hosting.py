"""Host of a repository, with its pull or merge requests, as a worker knows it: values, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class HostAccess:
    """`host`: a key of `hosts.table`. `page`: where people open the repository there, `https://host/team/app`.
    `credential` never enters an attempt; `app`: of a GitHub App whose private key the credential is, else ""."""

    host: str
    page: str
    credential: str = field(default="", repr=False)
    app: str = ""


@dataclass(frozen=True)
class RequestText:
    """Text of a request to open. `body` is Markdown; `mark` is a line of it that names the delivery, so that
    whoever comes after a crash recognizes its request. `page`: of the task."""

    title: str
    body: str
    mark: str
    page: str = ""
