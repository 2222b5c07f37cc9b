"""The choice of one of the labels that the station's own rules ask for, by a model or a person (dialects B12)."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.basics.problems import Problem
from pipelines.routing.document.algebra import All, AnyOf, Condition, EvalTest
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.keys import ChoiceKey, FlagKey, Work
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.model_keys import question_keys

LABEL = "label"
"""The field in which a person names what was chosen."""


def route_labels(station: Station) -> tuple[str, ...]:
    """Return the possible choices: the evals that the station's own rules compare by `equals`, in their
    order."""
    rule_labels = (label for rule in station.rules for label in _condition_labels(rule.when))
    return tuple(dict.fromkeys(rule_labels))


def _condition_labels(condition: Condition) -> Iterator[str]:
    # Not below `not`: what a condition excludes is no choice.
    if isinstance(condition, (All, AnyOf)):
        for member in condition.members:
            yield from _condition_labels(member)
    elif isinstance(condition, EvalTest) and condition.op == "equals" and type(condition.value) is str:
        yield condition.value


def _is_by_person(work: Work) -> bool:
    return work.get("by") == "person"


def _label_problems(line: ParsedLine, station: Station, path: str) -> Iterator[Problem]:
    if not route_labels(station):
        message = "there is nothing to choose: no rule asks for an eval by equals"
        rules = f"{path.removesuffix('.work')}.rules"
        yield Problem(rules, message, "add a rule for each label, like when: {eval: {op: equals, …}}")


def _label_form(station: Station) -> tuple[Input, ...]:
    text = str(station.work.get("prompt") or "")
    known = route_labels(station)
    return (Input(LABEL, "choice", label="Label", help=text[:500], required=True, choices=known),)


KIND = Kind(
    key="route",
    name="Route",
    about="A model or a person chooses which rule is taken.",
    icon="route",
    docs="kinds.md#route",
    title="Choice of a route",
    keys={
        "by": ChoiceKey(
            {"model": "A model", "person": "A person"},
            default="model",
            label="Who chooses",
        ),
        **question_keys(
            "By what is chosen. The labels are those that the rules ask for: eval equals …",
            "say by what the model chooses",
            spared=_is_by_person,
            hidden=_is_by_person,
        ),
        "strict": FlagKey(
            label="An answer without a label is a failure",
            help="Otherwise it is for the rule that takes everything else.",
            hidden=_is_by_person,
        ),
    },
    fields=("by", "prompt", "system", "model", "temperature", "max_tokens", "strict"),
    lacks=_label_problems,
    asks_a_person=_is_by_person,
    form=_label_form,
    chooses=True,
    calls=True,
    asks_a_model=True,
    actor="agent",
    says=lambda station: ", ".join(route_labels(station)),
    said_as="One of: %(said)s",
)
