"""The form that protects a repository, and what its page shows of that (law §14)."""

from __future__ import annotations

from typing import Any

from django import forms

from pipelines import access
from pipelines.models import Repository, User
from pipelines.people import protections
from pipelines.queries.protections import repository_protection
from pipelines.routing.guarantees.protection import ADMIN, OWNER, Protection

ALL = "all"


class ProtectionForm(forms.Form):
    """`groups`, `gates`: keys with spaces or commas between them. `scope`: admin, owner or all."""

    approvals = forms.IntegerField(min_value=0, required=False)
    groups = forms.CharField(max_length=2000, required=False)
    gates = forms.CharField(max_length=2000, required=False)
    four_eyes = forms.BooleanField(required=False)
    scope = forms.CharField(max_length=8)

    @property
    def typed_protection(self) -> Protection:
        data = self.cleaned_data
        groups, gates = (tuple(data[key].replace(",", " ").split()) for key in ("groups", "gates"))
        changed_by = OWNER if data["scope"] == ALL else data["scope"]
        return Protection(data["approvals"] or 0, groups, gates, changed_by, data["four_eyes"])


def protection_context(repository: Repository, person: User) -> dict[str, Any]:
    """Return what the page shows: what holds, and the form with what this person may change."""
    owner = repository.project.owner
    of_owner = access.can_in_every_project_of_owner(person, "repositories", owner)
    own = protections.protection_set_by_owner_or_project(repository, include_owner=of_owner)
    lists = {"groups": " ".join(own.groups), "gates": " ".join(own.gates)}
    scopes = [(ADMIN, "This repository in this project, changed by its administrators")]
    if of_owner:
        names = {"owner": owner.name}
        scopes += [
            (
                OWNER,
                "This repository in every project of {owner}, changed by administrators of all".format(
                    **names
                ),
            ),
            (ALL, "Every repository of {owner}, changed by administrators of all".format(**names)),
        ]
    return {
        "protection": repository_protection(repository),
        "protection_form": ProtectionForm(initial={**own.to_dict(), **lists, "scope": own.changed_by}),
        "protection_scopes": scopes,
    }
