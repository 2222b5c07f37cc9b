"""Published versions as the values that decide: parsed once per process, cached by id (house §2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pipelines.models import LineVersion
from pipelines.routing.document.line import ParsedLine, read_line

HIDDEN = "••••••"


@lru_cache(maxsize=512)
def parsed_line_by_version_id(version_id: int) -> ParsedLine:
    """The parsed line of a version that is committed: versions never change, so an id is enough. Each is
    read under the revision of the law under which it was published (law §12)."""
    document, revision = LineVersion.objects.values_list("document", "revision").get(pk=version_id)
    return read_line(document, revision=revision)


def parsed_version(version: LineVersion) -> ParsedLine:
    return parsed_line_by_version_id(version.pk)


def inputs_with_secrets_hidden(version_id: int, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of a task as they may be shown: what stands in a secret field is hidden, whatever it is."""
    secret = {field.key for field in parsed_line_by_version_id(version_id).inputs if field.type == "secret"}
    return {key: HIDDEN if key in secret else value for key, value in inputs.items()}
