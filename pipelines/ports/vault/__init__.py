"""Secrets and variables of owners, projects and lines: stored, found by name, given out to stations (house §5)."""
