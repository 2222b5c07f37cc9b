"""Recorded outcomes decided again under another version of their line; nothing is written and nothing is locked."""

from pipelines.lines.backtest.counting import Cell, Progress, Result, Sample, TaskLine
from pipelines.lines.backtest.run import back_test
from pipelines.lines.backtest.selection import Selection, read_selection
from pipelines.lines.backtest.target import Target, of_document, target_of

__all__ = [
    "Cell",
    "Progress",
    "Result",
    "Sample",
    "Selection",
    "Target",
    "TaskLine",
    "back_test",
    "of_document",
    "read_selection",
    "target_of",
]
