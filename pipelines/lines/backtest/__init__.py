"""Recorded outcomes decided again under another version of their line; nothing is written and nothing is locked."""

from pipelines.lines.backtest.backtest_result import (
    BacktestResult,
    BacktestTask,
    Progress,
    ResultCell,
    SampleDecision,
)
from pipelines.lines.backtest.run import UnreadableDecision, back_test_events
from pipelines.lines.backtest.selection import Selection, read_selection
from pipelines.lines.backtest.target import BacktestTarget, backtest_target, target_of_document

__all__ = [
    "BacktestResult",
    "BacktestTarget",
    "BacktestTask",
    "Progress",
    "ResultCell",
    "SampleDecision",
    "Selection",
    "UnreadableDecision",
    "back_test_events",
    "backtest_target",
    "read_selection",
    "target_of_document",
]
