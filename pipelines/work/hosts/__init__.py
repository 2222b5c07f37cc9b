"""Hosts of repositories: pull and merge requests, issues, statuses and checks. One file each (law §15)."""
