"""The decision form of a review."""

from __future__ import annotations

from typing import Any

from django import forms

from pipelines.errors import Invalid
from pipelines.models import Word
from pipelines.routing.document.line import Gate, Problem
from pipelines.web.tasks.start import StartField, input_values_of_form, start_fields

FIELDS = "fields"


class DecisionForm(forms.Form):
    """A word, bound to the token version and the evidence that were on the page."""

    word = forms.ChoiceField(choices=Word.choices, error_messages={"required": "Choose a decision."})
    reason = forms.CharField(required=False, max_length=20_000, strip=False)
    route = forms.CharField(required=False, max_length=64)
    seat = forms.CharField(required=False, max_length=150)
    # PostgreSQL's integer
    token_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    evidence_digest = forms.CharField(max_length=64)
    unopened = forms.BooleanField(required=False)

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.problems: list[Problem] = []

    def add_problems(self, problem: Invalid) -> None:
        """Show each problem of the engine at its field, or else above the form. Those of the gate's own fields are kept
        for them."""
        for fault in problem.problems:
            if fault.path.startswith(f"{FIELDS}."):
                self.problems.append(fault)
            else:
                self.add_error(fault.path if fault.path in self.fields else None, fault.message)

    def typed_or_initial_gate_fields(self, gate: Gate) -> list[StartField]:
        """Return the fields that an approval fills in, as typed, or as they begin."""
        return start_fields(gate.fields, self.data if self.is_bound else None, self.problems, FIELDS)

    def gate_values_if_approving(self, gate: Gate) -> dict[str, Any]:
        """The values for the engine: of an approval only."""
        approves = gate.fields and self.data.get("word") == Word.APPROVE
        return input_values_of_form(gate.fields, self.data, FIELDS) if approves else {}
