"""Rehearsals: one task of a line is played through the real engine, on the database, by a script; nothing stays."""

from pipelines.lines.dry_run.run import DryRunStep, Rehearsed, rehearse

__all__ = ["DryRunStep", "Rehearsed", "rehearse"]
