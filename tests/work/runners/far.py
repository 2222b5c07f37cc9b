"""A runner in the process of the test: its own code, over HTTP in the same process, honest or lying."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from django.core.handlers.wsgi import WSGIHandler

from pipelines.work.config import WorkerConfig
from pipelines.work.processes.isolation import Isolation
from pipelines.work.transport.http.calls import ServerCalls
from pipelines.work.transport.http.transport import HttpTransport
from pipelines.work.worker.drive import Driver
from pipelines.work.workspaces import Folders

# Changes what is sent: (path of the call, its document) -> the document
Lie = Callable[[str, Any], Any]
FACTS = {
    "name": "far",
    "host": "far",
    "pid": 1,
    "labels": [],
    "offers": sorted(WorkerConfig(Path(), Isolation("none")).offers),
    "isolation": "none",
    "concurrency": 4,
}


class LyingCalls(ServerCalls):
    lie: Lie = staticmethod(lambda path, document: document)

    def call_once(
        self, method: str, path: str, document: Any = None, *, lease: uuid.UUID | None = None
    ) -> Any:
        return super().call_once(method, path, self.lie(path, document), lease=lease)


@dataclass
class FarAway:
    """`config`: what else its configuration says."""

    home: Path
    secret: str
    config: Mapping[str, Any] = field(default_factory=dict)
    lie: Lie = field(default=lambda path, document: document)
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    refused: list[str] = field(default_factory=list)

    def calls(self) -> LyingCalls:
        by = httpx2.WSGITransport(app=WSGIHandler())  # type: ignore[arg-type]
        made = LyingCalls("http://testserver", self.secret, self.id, self.refused.append, by)
        made.lie = self.lie  # type: ignore[method-assign]
        return made

    def work(self) -> None:
        """Until nothing waits that it may have."""
        asyncio.run(self._work())

    async def _work(self) -> None:
        calls = self.calls()
        transport = HttpTransport(calls, {})
        roots = (str(self.home.parent),)
        config = WorkerConfig(self.home, Isolation("none"), repository_roots=roots, **self.config)
        offered = {"offers": sorted(config.offers), "answers": sorted(config.answers)}
        await transport.register({**FACTS, **offered})
        folders = await asyncio.to_thread(Folders, self.home, uuid.uuid4())
        driver = Driver(config, transport, folders)
        try:
            while found := await transport.waiting({"drive": 4, "evaluate": 4, "quick": 4}):
                await asyncio.gather(*(driver.drive_job(job, queue) for job, queue in found.items()))
                if driver.running.abandoned:
                    break
        finally:
            await driver.cancel_every_drive()
            await asyncio.to_thread(transport.close)
            folders.close()

    def call(
        self, path: str, document: Any = None, lease: Any = None, method: str = "POST"
    ) -> httpx2.Response:
        """One call by hand."""
        headers = {
            "Authorization": f"Bearer {self.secret}",
            **({"Gateline-Lease": str(lease)} if lease else {}),
        }
        by = httpx2.WSGITransport(app=WSGIHandler())  # type: ignore[arg-type]
        with httpx2.Client(transport=by, base_url="http://testserver", headers=headers) as client:
            content = document if isinstance(document, bytes) else None
            sent = None if content is not None else document
            return client.request(method, f"/api/v1/runner/{self.id}{path}", content=content, json=sent)
