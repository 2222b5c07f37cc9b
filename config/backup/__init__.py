"""Backup and restore of a whole installation: its database, its state folder and its keys, in one file."""
