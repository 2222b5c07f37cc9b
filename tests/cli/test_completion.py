"""What a shell offers behind `gateline … <Tab>`: the real program, asked as typer's script for bash asks it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Gateline
from tests.factories import World, station

pytestmark = pytest.mark.django_db(transaction=True)


def offered(gateline: Gateline, typed: str, **env: str) -> list[str]:
    """The words for the last one of what is typed."""
    words = typed.split(" ")
    asked = {
        "_GATELINE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    said = gateline.run(**asked, **env)
    assert said.stderr == "", said.stderr
    return said.stdout.split()


@pytest.mark.wide
def test_it_offers_lines_tasks_and_projects_of_the_server(world: World, cli: Callable[..., Gateline]) -> None:
    gateline, other = cli(world.operator), cli(world.stranger)
    version = world.line(stations=[station("build")], key="ship-it")
    task = world.start(version)
    project = f"acme/{world.project.key}"
    assert offered(gateline, "gateline submit shi") == ["ship-it"]
    assert offered(gateline, f"gateline submit {project}/s") == [f"{project}/ship-it"]
    assert offered(gateline, "gateline watch WI-") == [task.name]
    assert offered(gateline, f"gateline logs {task.name[:-1]}") == [task.name]
    assert offered(gateline, "gateline logs WI-none-") == []
    assert offered(gateline, "gateline lines --project ac") == [project]
    assert offered(other, "gateline watch WI-") == offered(other, "gateline submit s") == []


def test_it_is_quiet_and_quick_where_nobody_answers(
    world: World, cli: Callable[..., Gateline], tmp_path: Any
) -> None:
    gateline = cli(world.operator)
    nobody = {"GATELINE_CONFIG": str(tmp_path / "none.json"), "GATELINE_URL": "", "GATELINE_TOKEN": ""}
    assert offered(gateline, "gateline submit s", **nobody) == []
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # takes the connection, and says nothing
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        told = {"GATELINE_URL": address, "GATELINE_TOKEN": "gl_x"}
        assert offered(gateline, "gateline submit s", **told) == []
        assert offered(gateline, "gateline watch WI-", **told) == []
