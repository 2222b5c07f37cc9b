"""A start notices what is missing of the product, and the record of what there is to miss is up to date."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.wiring import record, references
from proof.bench.wiring import Copy

RENEW = "run .venv/bin/python manage.py wiring, and commit config/wiring/record.json"


def test_the_record_is_up_to_date() -> None:
    """Whoever adds a page, a template or a setting has it recorded, so that its loss is noticed."""
    assert record.recorded_entries("files") == record.required_files(), RENEW
    assert record.recorded_entries("routes") == references.route_names(), RENEW
    assert record.recorded_entries("tasks") == references.queue_task_names(), RENEW
    # Those of the tests have some more.
    assert record.recorded_entries("settings") <= record.names_of_settings(), RENEW
    assert record.recorded_entries("paths_of_settings") <= record.paths_of_settings(), RENEW


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def start(copy: Copy, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=copy.folder,
        env=copy.environment | {"DATABASE_URL": os.environ["DATABASE_URL"]},
        capture_output=True,
        text=True,
        check=False,
    )


def test_web_and_worker_do_not_start_where_a_file_or_a_setting_is_missing(copy: Copy) -> None:
    (copy.folder / "templates" / "tasks" / "task.html").unlink()
    settings = copy.folder / "config" / "settings.py"
    settings.write_text(
        settings.read_text().replace(
            '    "reviews.notifications.retention.delete_batch_of_expired_notifications",\n', ""
        )
    )
    for command in ("web", "worker"):
        done = start(copy, command)
        assert done.returncode == 1 and "templates/tasks/task.html is missing" in done.stderr, done.stderr
        assert "EXPIRES: reviews.notifications.retention.delete_batch_of_expired_notifications" in done.stderr
        assert "Install this release anew" in done.stderr and "Traceback" not in done.stderr


def test_check_notices_names_that_lead_nowhere(copy: Copy) -> None:
    page = copy.folder / "templates" / "tasks" / "choose.html"
    page.write_text(page.read_text().replace("'task-new'", "'task-knew'").replace("<c-card", "<c-cart", 1))
    routes = copy.folder / "pipelines" / "web" / "urls.py"
    routes.write_text("".join(line for line in routes.open() if 'name="task-receipt"' not in line))
    done = start(copy, "check")
    assert done.returncode == 1
    for words in ("names the route task-knew", "names the component cart", "task-receipt"):
        assert words in done.stderr, done.stderr


def test_check_accepts_an_installation_without_the_extra_mcp(copy: Copy) -> None:
    # Found before the installed one, and as if there were none
    absent = """raise ModuleNotFoundError("No module named 'mcp'", name="mcp")\n"""
    (copy.folder / "mcp.py").write_text(absent)
    done = start(copy, "check")
    assert done.returncode == 0, done.stderr
