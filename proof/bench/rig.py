"""What measurements share: a server of their own, a real browser beside a web process, and where results are kept."""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config.embedded.server_share import acquire_share
from proof.soak.kills import free_port, prepare

RESULTS = Path(__file__).resolve().parent / "results"
Json = dict[str, Any]


@contextmanager
def database(kept: Path | None = None) -> Iterator[Path]:
    """The folder of a PostgreSQL that writes to disk, with the tables of the product in it; gone afterwards, unless it
    is one that is `kept`. Only from then on can what needs Django's settings be imported."""
    home = kept or Path(tempfile.mkdtemp(prefix="gl-bench-"))
    prepare(home)
    from django.core.management import call_command  # noqa: PLC0415  # after `prepare`
    from django.db import connections  # noqa: PLC0415  # after `prepare`

    call_command("migrate", verbosity=0)
    try:
        yield home
    finally:
        connections.close_all()
        if kept is None:
            # Before its folder goes: at the end of the process there would be nothing to stop it by.
            acquire_share(home).release()
            shutil.rmtree(home, ignore_errors=True)


@contextmanager
def browser(
    name: str, home: Path, user: Any, *, redis_url: str = "", **context: Any
) -> Iterator[tuple[Any, str]]:
    """A page of Chromium with a session of the user, and the address of a web process that answers. Without a Chromium
    the measurement of this name ends, and says so."""
    from django.conf import settings  # noqa: PLC0415  # after `prepare`
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # after `prepare`

    from proof.soak.fleet import Fleet  # noqa: PLC0415  # after `prepare`
    from tests.fixtures.browser import FLAGS, find_chromium  # noqa: PLC0415  # after `prepare`
    from tests.live.conftest import session_of  # noqa: PLC0415  # after `prepare`

    # Who has no password is asked for one before any page.
    user.set_password("correct horse battery")
    user.save()
    port = free_port()
    fleet, address = Fleet(home, (), port, redis_url=redis_url), f"http://127.0.0.1:{port}"
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's loop runs in this thread
    try:
        fleet.tend()
        with sync_playwright() as playwright:
            program = find_chromium(playwright.chromium.executable_path)
            if program is None:
                print(f"proof.bench.{name}: skipped, there is no Chromium here", file=sys.stderr)
                sys.exit(0)
            chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
            opened = chromium.new_context(**context)
            cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session_of(user)}
            opened.add_cookies([{**cookie, "domain": "127.0.0.1", "path": "/"}])
            answering(address)
            yield opened.new_page(), address
            chromium.close()
    finally:
        fleet.stop()


def answering(address: str) -> None:
    """Wait until the web process answers."""
    from tests.fixtures.site import health  # noqa: PLC0415  # after `prepare`

    deadline = time.monotonic() + 60
    while health(address) == 0:
        assert time.monotonic() < deadline, "the web process did not answer"
        time.sleep(0.1)


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """Of (size, cost): 0 where size makes no difference, 1 where twice the size costs twice as much."""
    sizes, costs = zip(*((math.log(size), math.log(cost)) for size, cost in points), strict=True)
    return round(statistics.linear_regression(sizes, costs).slope, 2)


def keep(name: str, answer: Json) -> None:
    """Print it, and write it to proof/bench/results."""
    text = json.dumps({"cores": os.cpu_count(), **answer}, indent=2, ensure_ascii=False)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(text + "\n")
    print(text)
