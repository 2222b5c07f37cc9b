"""Rehearsals: one task of a line is played through the real engine, on the database, by a script; nothing stays."""

from pipelines.lines.dry_run.run import Rehearsed, Shown, rehearse

__all__ = ["Rehearsed", "Shown", "rehearse"]
