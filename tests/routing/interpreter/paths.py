"""§3: paths into a document."""

from collections.abc import Mapping, Sequence

from . import jsonpath
from .values import Json


def dotted(document: Json, path: str) -> list[Json]:
    """ "Otherwise a key: the flat key first, then dotted through objects (no indices)." """
    if not isinstance(document, Mapping):
        return []
    if path in document:
        return [document[path]]
    here: Json = document
    for part in path.split("."):
        if not isinstance(here, Mapping) or part not in here:
            return []
        here = here[part]
    return [here]


def nodes(document: Sequence[Json], path: str) -> list[Json]:
    """The nodes of a path in a document; `document` is empty where there is none, else holds just it."""
    if not document:
        return []
    if path.startswith("$"):  # "Path starting with `$`: RFC 9535 JSONPath."
        return jsonpath.find(path, document[0])
    return dotted(document[0], path)
