"""Calls of clients and runners of other systems, in their words (docs/dialects.md). Everything behind it is
the same engine: a job is leased, an outcome is reported."""
