"""A past moment of a task shows the commit and the files that its branch had then."""

from __future__ import annotations

import pytest

from pipelines.models import Task
from pipelines.queries.task_view import TaskView
from pipelines.web.tasks.task_moment import displayed_moment
from tests.factories import World
from tests.work.driving import Bench
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import origin, run
from tests.work.test_fork_files import in_repository, moments

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
CHANGES: list[dict[str, str]] = [
    {},
    {"a": "added"},
    {"b": "added"},
    {"b": "added", "app.py": "modified"},
]
"""Of the files since the base of the branch, after so many stations."""


def test_each_moment_has_the_tree_and_the_files_of_then(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = world.start(in_repository(world), title="Fix it")
    run(bench, task)
    assert world.status(task) == "completed"
    trees = moments(task)
    in_order = list(dict.fromkeys(tree for _number, tree in trees))
    assert len(in_order) == len(CHANGES)
    task = Task.objects.select_related("project__owner", "line", "pinned").get(pk=task.pk)
    for number, _tree in trees:
        moment = displayed_moment(TaskView(task, task.changed_at), number)
        # Events of one instant are one moment
        tree = trees[moment.number - 1][1]
        assert (moment.commit.tree if moment.commit else "") == tree, number
        files = {file.path: file.change.change for branch in moment.files for file in branch.changed}
        assert files == CHANGES[in_order.index(tree)], number
