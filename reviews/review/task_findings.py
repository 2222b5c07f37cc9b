"""Findings of tools in the work of a task, each with its file, its line and its text, as a review shows it."""

from __future__ import annotations

from functools import cached_property

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines.models import Task
from pipelines.web.changes.tree_comparison import TreeComparison, compare_trees
from pipelines.web.changes.trees import TaskTrees
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, render_in_shell, task_required
from reviews.review.evidence import changed_path_or_none
from reviews.review.task_work import TaskWork


class TaskFindings(TaskWork):
    """Reports of the last run of each station of a task, with links into its changes since the start."""

    @cached_property
    def _comparison_or_none(self) -> TreeComparison | None:
        trees = TaskTrees(self.task.pk)
        latest = trees.token_id_and_time_of_latest_change_or_none()
        return compare_trees(trees.start_tree(*latest), trees.tree_at(*latest)) if latest else None

    @cached_property
    def _tree_file_paths(self) -> frozenset[str]:
        manifest = self._comparison_or_none.new.manifest if self._comparison_or_none else ()
        return frozenset(str(entry["path"]) for entry in manifest)

    def address_of_changed_line_or_empty(self, path: str, line: int) -> str:
        files = self._comparison_or_none.files if self._comparison_or_none else ()
        matched_path = changed_path_or_none(path, (file.path for file in files))
        if matched_path is None:
            return ""
        keys = (self.task.project.owner.key, self.task.project.key, self.task.name)
        query = {"tab": "changes", "range": "start", "file": matched_path}
        return reverse("task", args=keys, query=query) + (f"#new-{line}" if line else "")


@task_required()
@require_safe
def task_findings_page(request: SignedInRequest, task: Task) -> HttpResponse:
    address = reverse("task", args=[task.project.owner.key, task.project.key, task.name])
    return render_in_shell(
        request,
        "reviews/task_findings.html",
        project=task.project,
        section="tasks",
        trail=breadcrumbs((task.name, address), "Findings"),
        task=task,
        evidence=TaskFindings(task, request.GET),
    )
