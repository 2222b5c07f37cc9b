"""A worker knows every task of its queues, or does not start."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from pipelines.ports import queue
from pipelines.ports.queue_tasks import TASKS
from pipelines.work.scheduler.scheduler import QUEUES
from tests.fixtures.site import environment

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """
from config.settings import *
PROCRASTINATE_IMPORT_PATHS = [path for path in PROCRASTINATE_IMPORT_PATHS if path != "{module}"]
"""


def start_worker(**more: str) -> subprocess.CompletedProcess[str]:
    """Until it ends by itself."""
    command = [sys.executable, "manage.py", "worker"]
    return subprocess.run(
        command, cwd=ROOT, env=environment(**more), capture_output=True, text=True, check=False
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "module",
    ["pipelines.work.host_notifications.tasks", pytest.param("reviews.tasks", marks=pytest.mark.wide)],
)
def test_a_worker_without_a_task_of_its_queues_does_not_start(tmp_path: Path, module: str) -> None:
    """The check of the installation refuses it, before the worker looks at its queues."""
    (tmp_path / "without.py").write_text(WITHOUT.format(module=module))
    ended = start_worker(DJANGO_SETTINGS_MODULE="without", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert ended.returncode == 1, ended.stderr
    assert f"The settings lack PROCRASTINATE_IMPORT_PATHS: {module}." in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.django_db(transaction=True)
def test_a_ticket_of_another_release_is_left_to_it() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES ('hosts', 'pipelines.sing', '{}')"
        )
    ended = start_worker()
    assert ended.returncode == os.EX_CONFIG, ended.stderr
    assert "The queue hosts holds the task pipelines.sing" in ended.stderr and "Traceback" not in ended.stderr


def test_every_queue_of_a_task_is_served() -> None:
    assert {place for places in TASKS.values() for place in places} == set(QUEUES)


@pytest.mark.django_db
def test_what_no_worker_would_know_is_not_enqueued() -> None:
    for name, place in (("pipelines.sing", "hosts"), ("pipelines.tell_host", "mail")):
        with pytest.raises(LookupError, match=name):
            queue.enqueue_queue_jobs(name, place, {"notice_id": 1})


def test_nothing_defers_beside_the_table() -> None:
    """Neither by a decorated task nor by the period of one."""
    calls = ("defer_async", "configure_task", "batch_defer", "batch_defer_async", "periodic")
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ("pipelines", "reviews", "config")
        for path in sorted((ROOT / room).rglob("*.py"))
        if any(name in path.read_text() for name in calls)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in calls
    ]
    assert not found
