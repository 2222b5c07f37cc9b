"""GitLab, as version 4 of its REST API is documented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pipelines.work.hosts.calling import HostCaller
from pipelines.work.hosts.errors import AlreadyOpen, HostError
from pipelines.work.hosts.host import OpenedRequest, RequestState, inner, link, number, rows, text
from pipelines.work.hosts.page import HostPage
from pipelines.work.outgoing.guard import Guard

STATES: Mapping[str, RequestState] = {"opened": "open", "locked": "open", "merged": "merged"}
DEVELOPER = 30


class GitLab:
    key, name, request, sign = "gitlab", "GitLab", "merge request", "!"
    servers = ("gitlab.com",)

    def __init__(self, page: HostPage, token: str, guard: Guard) -> None:
        self._page = page
        self._project = f"/projects/{quote(page.path, safe='')}"
        own = {"authorization": f"Bearer {token}"} if token else {}
        self._host = HostCaller(self.name, f"{page.origin}/api/v4", page.path, guard, own)

    async def look(self) -> bool:
        said = inner(await self._host.call("GET", self._project), "permissions")
        levels = (number(inner(said, each), "access_level") for each in ("project_access", "group_access"))
        return max(levels) >= DEVELOPER

    async def requests(self, head: str, base: str) -> list[OpenedRequest]:
        path = f"{self._project}/merge_requests"
        found = await self._host.call(
            "GET", path, source_branch=head, target_branch=base, state="all", per_page=100
        )
        return [self._request(each) for each in rows(found)]

    async def open(self, head: str, base: str, title: str, body: str) -> OpenedRequest:
        said = {"source_branch": head, "target_branch": base, "title": title, "description": body}
        try:
            return self._request(await self._host.call("POST", f"{self._project}/merge_requests", said))
        except HostError as error:
            if error.status == 409:
                raise AlreadyOpen(str(error), error.status) from error
            raise

    async def update(self, number: int, body: str) -> OpenedRequest:
        path = f"{self._project}/merge_requests/{number}"
        return self._request(await self._host.call("PUT", path, {"description": body}))

    def _request(self, said: Mapping[str, Any]) -> OpenedRequest:
        which = number(said, "iid")
        url = link(text(said, "web_url"), f"{self._page}/-/merge_requests/{which}")
        state = STATES.get(text(said, "state"), "closed")
        return OpenedRequest(which, url, state, text(said, "title"), text(said, "description"))
