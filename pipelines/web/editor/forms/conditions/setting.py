"""Setting of a condition in a form: what its fields may name, and its text there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.document_readers.conditions import read_condition
from pipelines.routing.document.document_readers.reader import Problems
from pipelines.routing.sentences.conditions import condition_words
from pipelines.web.editor.forms.fields import FieldRefused
from pipelines.web.editor.forms.form_request import Outline
from pipelines.web.editor.forms.fragment_paths import MISSING


@dataclass(frozen=True)
class ConditionSetting:
    """Names that the fields of a condition may use. `station`: the station that its rule leaves. `paths`:
    recorded paths with an example each."""

    names: Outline
    station: str
    paths: Sequence[tuple[str, str]] = ()

    def name_of(self, key: str) -> str:
        """The name of a station or an end."""
        options = (*self.names.options("stations"), *self.names.options("ends"))
        return dict(options).get(key, key)


def condition_text(condition: Any, condition_setting: ConditionSetting) -> str:
    """Return the condition in words; "" where it cannot be read."""
    if condition is MISSING:
        return "always"
    problems = Problems()
    read = read_condition(condition, "", problems, _station_and_end_keys(condition_setting))
    return "" if problems else condition_words(read, called=condition_setting.name_of)


def require_valid(condition: Any, condition_setting: ConditionSetting) -> None:
    """Raise FieldRefused with the path of the first fault, if the condition cannot be read."""
    problems = Problems()
    read_condition(condition, "when", problems, _station_and_end_keys(condition_setting))
    for problem in problems.found[:1]:
        values = {"place": problem.path, "message": people_text(problem.message)}
        raise FieldRefused("at {place}: {message}".format(**values), problem.hint)


def _station_and_end_keys(condition_setting: ConditionSetting) -> list[str]:
    return [part.key for part in (*condition_setting.names.stations, *condition_setting.names.ends)]
