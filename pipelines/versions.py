"""Published versions as the values that decide: parsed once per process, cached by id (house §2)."""

from __future__ import annotations

from functools import lru_cache

from pipelines.models import LineVersion
from pipelines.routing.line import Line, read_line


@lru_cache(maxsize=512)
def by_id(version_id: int) -> Line:
    """The parsed line of a version that is committed: versions never change, so an id is enough."""
    return read_line(LineVersion.objects.values_list("document", flat=True).get(pk=version_id))


def parsed(version: LineVersion) -> Line:
    return by_id(version.pk)
