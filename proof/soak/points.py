"""A worker that stops at a point of its work when it is asked to, so that something can be killed right there.

    python -m proof.soak.points worker        POINTS: a folder

A file `<repository>.<point>.<before|after>` in the folder asks for it, once: it is renamed to `….reached`, and the work
goes on when `<repository>.go` is there. Nothing is replaced: what is called at a point is the product's own."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

PAUSE = 0.01


def asked(key: str, point: str, when: str) -> Path | None:
    folder = Path(os.environ["POINTS"])
    try:
        (folder / f"{key}.{point}.{when}").rename(folder / f"{key}.{point}.reached")
    except FileNotFoundError:
        return None
    return folder / f"{key}.go"


def pausing(work: Callable[..., Any], point: str, key_of: Callable[..., str]) -> Callable[..., Any]:
    @wraps(work)
    def wrapped(*given: Any, **more: Any) -> Any:
        wait(asked(key_of(*given), point, "before"))
        found = work(*given, **more)
        wait(asked(key_of(*given), point, "after"))
        return found

    return wrapped


def wait(go: Path | None) -> None:
    while go is not None and not go.exists():
        time.sleep(PAUSE)


def reporting(work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    async def wrapped(transport: Any, started: Any, *given: Any) -> Any:
        key = key_of(started.orders.git.address) if started.orders.git else ""
        await asyncio.to_thread(wait, asked(key, "report", "before"))
        found = await work(transport, started, *given)
        await asyncio.to_thread(wait, asked(key, "report", "after"))
        return found

    return wrapped


def key_of(address: str) -> str:
    return Path(address).stem


def set_up() -> None:
    """The points. `run` is in the program of a station, see `repository_kills`."""
    from pipelines.work.git import attempt, branch_joins  # noqa: PLC0415  # Django is set up first
    from pipelines.work.git.remote import Remote  # noqa: PLC0415  # as above
    from pipelines.work.transport.local.transport import LocalTransport  # noqa: PLC0415  # as above

    def by_access(access: Any, *rest: Any) -> str:
        return key_of(access.order.address)

    def by_remote(remote: Remote, *rest: Any) -> str:
        return key_of(remote.address.path)

    changed: list[tuple[Any, str, Callable[..., Any]]] = [
        (Remote, "fetch", pausing(Remote.fetch, "fetch", by_remote)),
        (Remote, "push", pausing(Remote.push, "push", by_remote)),
        (attempt, "_new_commit", pausing(attempt._new_commit, "commit", by_access)),
        (
            branch_joins,
            "create_merge_commit_and_tree",
            pausing(branch_joins.create_merge_commit_and_tree, "merge", by_access),
        ),
        (LocalTransport, "report", reporting(LocalTransport.report)),
    ]
    for place, name, work in changed:
        setattr(place, name, work)


def main() -> None:
    from config.embedded import layout  # noqa: PLC0415  # reads the folder's name from the environment
    from config.embedded.server_share import acquire_share  # noqa: PLC0415  # as above

    os.environ["GATELINE_ROLE"] = "worker"
    acquire_share(layout.state_folder())
    import django  # noqa: PLC0415  # reads the settings, which read the server's connection

    import manage  # noqa: PLC0415  # as above

    django.setup()
    set_up()
    manage.main()


if __name__ == "__main__":
    main()
