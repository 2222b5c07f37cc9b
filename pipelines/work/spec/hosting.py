"""What a worker is told of the host of a repository, which keeps its pull or merge requests: values, nothing else."""

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
    """What a request is opened with. `body` is Markdown; `mark` is a line of it that names the delivery, so that
    whoever comes after a crash knows its request again. `page`: of the task."""

    title: str
    body: str
    mark: str
    page: str = ""
