"""Notices of a task at its issue and its request: written down with the move, sent by a worker (law §15)."""
