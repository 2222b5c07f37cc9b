"""Documents that were read are written back, and read again."""

from __future__ import annotations

import copy
from typing import Any

from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import export_document
from pipelines.routing.document.line import read_line


def meaning(document: Any) -> Any:
    """The line in full, without what is only kept."""
    said = document if isinstance(document, list) else read_line(document).to_document()
    return _bare(copy.deepcopy(said))


def _bare(given: Any) -> Any:
    if isinstance(given, dict):
        return {key: _bare(said) for key, said in given.items() if key != "extra"}
    return [_bare(each) for each in given] if isinstance(given, list) else given


def back_and_forth(opened: document_import.ImportedDocument) -> None:
    made = export_document(opened.document, opened.dialect)
    again = document_import.import_document(made.text)
    assert again.dialect == opened.dialect
    assert meaning(again.document) == meaning(opened.document), "equal in meaning"
    assert made.losses == ()
    assert export_document(again.document, again.dialect).text == made.text, "and it stays so"
