"""Explanations, in words, of what is no line and no document of any known system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pipelines.routing.basics.wording import Wording as _

CHOOSE: Final = "choose a document of a line: JSON or YAML, or a .zip of the folder .agentics"
_CODE = (
    r"(?:import\s[^\n]*\bfrom\s*['\"]|import\s+['\"]|export\s+(?:default|const|function|type|interface|async)\b"
    r"|(?:const|let|var|function|interface)\s+\w+|use\s+\w+::|fn\s+\w+|pub\s+\w+\s|package\s+\w+\s*$"
    r"|from\s+\S+\s+import\s|import\s+\w+\s*$|def\s+\w+\(|class\s+\w+\s*[({:])"
)
_REMARKS = r"\A\s*(?:(?:--|//)[^\n]*\n\s*|/\*(?:(?!\*/).)*\*/\s*)*"
TEXTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(
            _REMARKS + r"(?:create|alter|drop|insert|update|delete|pragma|begin|select|with)\s+"
            r"(?:table|index|into|or|unique|trigger|view|from|transaction|\w+\s+(?:set|as|from)|foreign_keys|\*)",
            re.IGNORECASE | re.DOTALL,
        ),
        "this is SQL, and no document of a line",
    ),
    (
        re.compile(_REMARKS + _CODE, re.DOTALL | re.MULTILINE),
        "this is the source of a program, and no document of a line",
    ),
    (
        re.compile(r"\A\s*<(?:!doctype|\?xml|html|svg|[a-z])", re.IGNORECASE),
        "this is a page or XML, and no document of a line",
    ),
    (
        re.compile(r"\A\s*(?:---\n(?:[^\n]*\n){1,40}?---\n\s*)?#{1,6} [^\n]+\n(?=\s*\n|[^\n]*$|[A-Z*>-])"),
        "this is a text in Markdown, and no document of a line",
    ),
)
"""By what it begins with."""
KEYS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("$schema", "properties"), "this is a JSON Schema, and no line"),
    (("$schema", "$defs"), "this is a JSON Schema, and no line"),
    (("openapi", "paths"), "this is a description of an API (OpenAPI), and no line"),
    (
        ("default_action", "rules"),
        "this is a policy that says what a person approves (contenox), and no line",
    ),
    (("dependencies", "name"), "this describes a package of programs, and no line"),
    (("devDependencies",), "this describes a package of programs, and no line"),
    (("lockfileVersion",), "this describes a package of programs, and no line"),
    (("automations",), "these are automations of ALP, and no line"),
    (("tunables",), "these are tunables of ALP, and no line"),
)
"""By the keys that it has all of."""


def describe_non_document(text: str) -> str | None:
    """Return what a text is that is neither JSON nor YAML."""
    # The beginning tells, and bounds what a pattern can cost.
    return next((what for pattern, what in TEXTS if pattern.match(text[:20_000])), None)


def describe_non_line(document: Any, text: str) -> str | None:
    """Return what `text` is, which reads as `document`, and is no line: one has `gateline`, stations or a
    key."""
    what = describe_non_document(text)
    if isinstance(document, Mapping):
        if "gateline" in document or "stations" in document:
            return None
        of_keys = next((message for keys, message in KEYS if all(key in document for key in keys)), None)
        if of_keys is None and "key" in document:
            return None  # begun by hand: what is missing is said of a line
        listed_keys = ", ".join(map(str, document))[:80]
        return (
            of_keys
            or what
            or _("this is no document of a system that is known: it has %(keys)s", keys=listed_keys)
        )
    return "this is a text, and no document of a line" if what is None and isinstance(document, str) else what
