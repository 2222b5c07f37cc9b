"""The trees of a task, by the moment at which a branch of it had them."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from pipelines.models import GateVisit, Job, Snapshot, Task, User
from pipelines.web.changes import viewed_content
from pipelines.web.changes.tree_comparison import EMPTY, StoredTree, compare_trees
from pipelines.work.transport.local.branch_states import BranchStates
from pipelines.work.transport.local.workspace_history import WorkspaceTrees, task_trees
from pipelines.work.workspaces import manifest_digest


class TaskTrees:
    """Trees of one task; within one request each is read once."""

    def __init__(self, task_id: int) -> None:
        self.task_id = task_id

    @cached_property
    def _family(self) -> WorkspaceTrees:
        return task_trees(self.task_id)

    def tree_at(self, token_id: int, moment: datetime) -> StoredTree:
        """The files that the branch had at that moment; the empty tree before there were any."""
        stored = self._family.digest_and_manifest_at_or_none(token_id, moment)
        return StoredTree(*stored) if stored else EMPTY

    def start_tree(self, token_id: int, moment: datetime) -> StoredTree:
        """Return the tree that the task began with, as seen from that moment: the base of its branch in a
        repository, for a retry the files of the previous task, else nothing."""
        changed = BranchStates(Task.objects.get(pk=self.task_id)).base_entries_of_changed_files_or_none(
            token_id, moment
        )
        if changed is None:
            base = self._family.base
            return StoredTree(*base) if base else EMPTY
        now = self.tree_at(token_id, moment)
        unchanged = [entry for entry in now.manifest if str(entry["path"]) not in changed]
        # An empty entry: the file was not there at the start.
        before = (*unchanged, *(entry for entry in changed.values() if entry))
        return StoredTree(manifest_digest(before), before)

    def token_id_and_time_of_latest_change_or_none(self) -> tuple[int, datetime] | None:
        """The branch that changed files last, and when; None where none has."""
        done = Snapshot.objects.filter(task=self.task_id, job__state=Job.State.DONE)
        row = done.order_by("-job__ended_at", "-job_id").values_list("job__token_id", "job__ended_at").first()
        return (row[0], row[1]) if row and row[1] else None


def unopened_count(visit: GateVisit, reader: User) -> int:
    """Count the changed files under review that the reader was not shown to their end, wherever they decide."""
    trees, here = TaskTrees(visit.task_id), (visit.token_id, visit.opened_at)
    opened = viewed_content.files_reader_viewed_and_marked(reader, visit.task).opened
    changed = compare_trees(trees.start_tree(*here), trees.tree_at(*here)).files
    return sum((file.path, file.content_mark) not in opened for file in changed)
