"""Triggers: one file for each kind, a table of them, and what happens on an occasion."""
