"""The decision form of a review."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from pipelines.errors import Invalid
from pipelines.models import Word


class DecisionForm(forms.Form):
    """A word, bound to the token version and the evidence that were on the page."""

    word = forms.ChoiceField(choices=Word.choices, error_messages={"required": _("Choose a decision.")})
    reason = forms.CharField(required=False, max_length=20_000, strip=False)
    route = forms.CharField(required=False, max_length=64)
    token_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    evidence_digest = forms.CharField(max_length=64)

    def refuse(self, problem: Invalid) -> None:
        """Show each problem of the engine at its field, or else above the form."""
        for each in problem.problems:
            self.add_error(each.path if each.path in self.fields else None, each.message)
