"""Differences between two stored trees: which files, and which of their lines."""
