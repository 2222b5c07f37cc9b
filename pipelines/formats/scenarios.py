"""The text of scenarios, so that they can live in a repository: a YAML or JSON list, to values and back."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from pipelines.formats import native, yamltext
from pipelines.formats.yamltext import TextError
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.basics.values import check_storable
from pipelines.routing.document.line import DocumentError, Problem
from pipelines.routing.simulate.scenario import ScenarioScript, read_scenarios

T = TypeVar("T")


def loads(text: str | bytes) -> tuple[ScenarioScript, ...]:
    """Raises DocumentError with line and column of the first fault."""
    return parse_scenarios_with(text, read_scenarios)


def parse_scenarios_with(text: str | bytes, read: Callable[[Any], T]) -> T:
    """Read what the text says, by `read`. Raises DocumentError with line and column of the first fault."""
    try:
        parsed = yamltext.parse_yaml(native.checked_utf8_text(text), exact=False)
    except TextError as error:
        raise DocumentError([Problem("", error.message, "", error.line, error.column)]) from None
    try:
        check_storable(parsed.value, "")
        return read(parsed.value)
    except Malformed as fault:
        line, column = parsed.place_of_nearest_part(fault.path)
        raise DocumentError([replace(Problem(fault.path, fault.message), line=line, column=column)]) from None


def dumps(scenarios: Iterable[ScenarioScript]) -> str:
    """YAML that `loads` reads back to equal scenarios."""
    out = io.StringIO()
    native.yaml_writer().dump([scenario.to_dict() for scenario in scenarios], out)
    return out.getvalue()
