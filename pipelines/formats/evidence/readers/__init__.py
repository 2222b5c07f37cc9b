"""Readers of tool reports, from their files: one reader for each kind."""
