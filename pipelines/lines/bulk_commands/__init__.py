"""Commands for many tasks (law §17): chosen by name or by what matches, planned, confirmed, worked on in the
background, stopped, and read afterwards. What happens to a task happens in `engine`, for each in a transaction of its
own."""

from __future__ import annotations

from pipelines.lines.bulk_commands.operation import (
    BulkRequest,
    create_bulk_command,
    delete_some_old_commands,
    delete_unstarted_bulk_command,
    get_bulk_command,
    own_bulk_commands_newest_first,
    readable_bulk_commands,
    start_bulk_command,
    stop_bulk_command,
)
from pipelines.lines.bulk_commands.selection import (
    BulkSelection,
    Chosen,
    Match,
    matching_selection,
    named_selection,
)
from pipelines.lines.bulk_commands.steps import work_on_bulk_command
from pipelines.lines.bulk_commands.summary import BulkSummary, EntryRow, bulk_summary

__all__ = [
    "BulkRequest",
    "BulkSelection",
    "BulkSummary",
    "Chosen",
    "EntryRow",
    "Match",
    "bulk_summary",
    "create_bulk_command",
    "delete_some_old_commands",
    "delete_unstarted_bulk_command",
    "get_bulk_command",
    "matching_selection",
    "named_selection",
    "own_bulk_commands_newest_first",
    "readable_bulk_commands",
    "start_bulk_command",
    "stop_bulk_command",
    "work_on_bulk_command",
]
