"""*Changes* of a task's page: since the start, and since this reader last looked."""

from __future__ import annotations

from django.http import QueryDict
from django.urls import reverse

from pipelines.models import Task, User
from pipelines.queries import versions
from pipelines.web.changes import viewed_content
from pipelines.web.changes.panel import ChangesPanel, Range
from pipelines.web.changes.tree_comparison import CountedFile, compare_trees, content_mark
from pipelines.web.changes.trees import TaskTrees
from pipelines.work.transport.local.station_values import task_masker


def task_changes_panel_or_none(task: Task, reader: User, query: QueryDict) -> ChangesPanel | None:
    """None where no station has left files. The reader is remembered to have seen them."""
    trees = TaskTrees(task.pk)
    latest = trees.token_id_and_time_of_latest_change_or_none()
    if latest is None:
        return None
    token, moment = latest
    now = trees.tree_at(token, moment)
    ranges = [Range("start", "Since start", trees.start_tree(token, moment))]
    ranges += ranges_since_viewed(trees, reader, task, now.digest)
    # After the ranges: they begin at what was seen before this
    viewed_content.record_view(reader, task, token, moment, now.digest)
    address = reverse("task", args=[task.project.owner.key, task.project.key, task.name])
    files = viewed_content.files_reader_viewed_and_marked(reader, task)
    panel = ChangesPanel(
        now,
        ranges,
        address,
        query,
        task_masker(task),
        patterns=versions.parsed_line_by_version_id(task.pinned_id).sensitive,
        viewed=files.viewed,
        opened=files.opened,
    )
    record_opened_file(panel, reader, task)
    return panel


def record_opened_file(panel: ChangesPanel, reader: User, task: Task) -> None:
    """Remember that the reader is shown the chosen file, if it is shown to its end. A group of files with the same edit
    counts for all of them: every line that changed in any of them is shown."""
    file = panel.file
    # Where white space is ignored, the reader was not shown all that changed.
    if panel.chosen is None or file is None or not file.is_complete or panel.ignores_space:
        return
    files = panel.group.files if panel.group else [panel.chosen]
    keys = [
        (counted.path, counted.content_mark)
        for counted in files
        if (counted.path, counted.content_mark) not in panel.opened and _is_read_from_start(panel, counted)
    ]
    if keys:
        viewed_content.record_opened(reader, task, keys)
        panel.opened = {*panel.opened, *keys}


def _is_read_from_start(panel: ChangesPanel, counted: CountedFile) -> bool:
    """Tell that the reader knows what the range leaves out: it begins where the file was at the start, or where they
    were shown it."""
    start = next(choice for choice in panel.ranges if choice.key == "start")
    from_start = compare_trees(start.base, panel.tree).find_file(counted.path)
    old, first = counted.change.old, from_start.change.old if from_start else None
    if from_start is None or content_mark(old or {}) == content_mark(first or {}):
        return True
    # A renamed file was opened under its former path.
    return old is not None and (counted.change.was or counted.path, content_mark(old)) in panel.opened


def ranges_since_viewed(trees: TaskTrees, reader: User, task: Task, digest: str) -> list[Range]:
    before = viewed_content.last_viewed_other_tree_or_none(reader, task, digest)
    if before is None:
        return []
    return [Range("seen", "Since you last looked", trees.tree_at(before.token_id, before.moment))]
