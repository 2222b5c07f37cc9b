"""Templates of prompts and arguments (law §8a): look-ups, nothing else; no loops, calls or arithmetic.

`{{task.x}}`, `{{input.x}}`, `{{context.x}}`, `{{variables.x}}`, and `{{.x}}`, which tries variables, inputs, context,
task, then what stations said: `{{.previous_output}}`, `{{.last_error}}`, `{{.<station>}}`, `{{.<station>_error}}`.
`{{"…"}}` is a text as it stands, for braces that are meant. A name is looked up flat first, then dotted through
objects. Text is written as it is, every other value as JSON. The macros of the dialects are in `template_variables`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.values import MISSING, texts_of_values
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import template_variables
from pipelines.routing.document.paths import value_at_key
from pipelines.routing.document.template_variables import TemplateError, UndefinedVariable

__all__ = [
    "TemplateError",
    "UndefinedVariable",
    "counted_edges",
    "placeholder_names",
    "render_template",
    "template_lookups",
    "template_texts",
    "work_lookups",
]

PREVIOUS, LAST_ERROR, ERROR = "previous_output", "last_error", "_error"
EARLIER = (PREVIOUS, LAST_ERROR)
"""What earlier stations left, whichever they were; of one station it is its key, and with ERROR behind it."""
TASK = ("name", "number", "title", "description", "requester", "priority", "labels", "due_at")
"""Fields of the task that are there."""
FAMILIES = ("task", "input", "context", "variables")
SHORT_ORDER = ("variables", "input", "context", "task", "said")
MAX_RENDERED = 4_000_000
"""Characters of a rendered text: values are inserted, so a short template may grow."""

_PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
# `task.title`, `input.key`, `.x`
_NAME = re.compile(r"(task|input|context|variables)?\.([^\s{}|()\"']+)\Z")


def render_template(text: str, scope: Mapping[str, Any]) -> str:
    """`scope` has a mapping each for task, input, context, variables, `said` (by stations) and `macros` (absent =
    empty; see `template_variables.render_macro`).

    Raises UndefinedVariable, or TemplateError for braces that hold no look-up.
    """
    parts: list[str] = []
    length = end = 0
    for match in _placeholders(text):
        parts += [text[end : match.start()], _placeholder_value(match, text, scope)]
        length += len(parts[-2]) + len(parts[-1])
        # While it grows: a short template may name a large value many times
        if length > MAX_RENDERED:
            raise TemplateError(_("the rendered text is longer than %(most)s characters", most=MAX_RENDERED))
        end = match.end()
    return "".join([*parts, text[end:]])


def placeholder_names(text: str) -> tuple[str, ...]:
    """Return the names in a template, each once, in order: `task.title`, `.x`, `chain:id`. Raises
    TemplateError."""
    return tuple(dict.fromkeys(_names_in_placeholders(text)))


def template_texts(work: Any) -> Iterator[str]:
    """Every text in a station's work that may be a template."""
    return (text for text in texts_of_values(work) if "{{" in text)


def work_lookups(work: Any) -> frozenset[tuple[str, str]]:
    """Return the look-ups of all templates of a station's work, in the form of `template_lookups`. Texts that are no
    template are reported elsewhere."""
    lookups: set[tuple[str, str]] = set()
    for text in template_texts(work):
        try:
            lookups.update(template_lookups(text))
        except TemplateError:
            continue
    return frozenset(lookups)


def template_lookups(text: str) -> tuple[tuple[str, str], ...]:
    """The look-ups of a template as (family, name): `("task", "title")`, `("", "x")` for `{{.x}}`. Macros are none, but
    `{{var:x}}` asks for `("variables", "x")`. Raises TemplateError."""
    lookups = []
    for place in _placeholders(text):
        inner = place[1].strip()
        macro = template_variables.read_macro_or_none(inner)
        if macro is not None:
            lookups += [("variables", name) for name in template_variables.required_variables(macro)]
        elif _literal_text_or_none(place) is None:
            family, _, name = _family_dot_and_name_of_lookup(place, text)
            lookups.append((family, name))
    return tuple(dict.fromkeys(lookups))


def counted_edges(text: str) -> tuple[tuple[str, str], ...]:
    """The edges that a template counts, each once, in order."""
    macros = (template_variables.read_macro_or_none(place[1].strip()) for place in _placeholders(text))
    counted_edges = (
        template_variables.stations_of_counted_edge_or_none(macro) for macro in macros if macro is not None
    )
    return tuple(dict.fromkeys(edge for edge in counted_edges if edge is not None))


def _placeholders(text: str) -> Iterator[re.Match[str]]:
    """Yield the placeholders of a text. The search stops after the last closing sign: otherwise each opening
    sign would search the whole remainder."""
    return _PLACE.finditer(text, 0, text.rfind("}}") + 2)


def _names_in_placeholders(text: str) -> Iterator[str]:
    for match in _placeholders(text):
        macro = template_variables.read_macro_or_none(match[1].strip())
        if macro is not None:
            yield macro.text
        elif _literal_text_or_none(match) is None:
            yield "".join(_family_dot_and_name_of_lookup(match, text))


def _placeholder_value(match: re.Match[str], text: str, scope: Mapping[str, Any]) -> str:
    macro = template_variables.read_macro_or_none(match[1].strip())
    if macro is not None:
        return template_variables.render_macro(macro, scope)
    literal = _literal_text_or_none(match)
    if literal is not None:
        return literal
    family, _, name = _family_dot_and_name_of_lookup(match, text)
    # `{{.x}}` tries variables, inputs, context, task, in this order (law §8a).
    for scope_name in (family,) if family else SHORT_ORDER:
        value = value_at_key(dict(scope.get(scope_name) or {}), name)
        if value is not MISSING:
            return value if type(value) is str else jsontext.dumps(value)
    raise UndefinedVariable(f"{family}.{name}")


def _family_dot_and_name_of_lookup(match: re.Match[str], text: str) -> tuple[str, str, str]:
    """(family or nothing, dot, name)."""
    name = _NAME.match(match[1].strip())
    if name is None:
        line = text.count("\n", 0, match.start()) + 1
        known = ", ".join(f"{{{{{family}.…}}}}" for family in FAMILIES)
        raise TemplateError(
            _(
                "line %(line)s: %(found)s is no look-up; there are %(known)s and {{.…}}",
                line=line,
                found=match[0][:60],
                known=known,
            )
        )
    return name[1] or "", ".", name[2]


def _literal_text_or_none(match: re.Match[str]) -> str | None:
    inner = match[1].strip()
    if not inner.startswith('"'):
        return None
    try:
        return str(jsontext.loads(inner))
    except jsontext.JsonTextError as error:
        raise TemplateError(_("%(found)s: %(error)s", found=match[0][:60], error=str(error))) from None
