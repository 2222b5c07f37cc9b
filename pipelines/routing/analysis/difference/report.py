"""A difference as text for people and as JSON for machines: the same for every window."""

from __future__ import annotations

from pipelines.routing.analysis.difference.compare import NONE, UNKNOWN, Difference
from pipelines.routing.basics import jsontext

NOTHING = "No routing changes: proved for every outcome."
NOT_PROVED = "Nothing was found that goes elsewhere, but not everything could be proved:"


def difference_text(difference: Difference, *, as_json: bool = False) -> str:
    """Return the text to print."""
    if as_json:
        return jsontext.dumps(difference.to_dict(), indent=2, ascii_only=False)
    if difference.verdict == NONE:
        return NOTHING
    head = [NOT_PROVED] if difference.verdict == UNKNOWN else []
    return "\n".join([*head, *difference.sentences()])
