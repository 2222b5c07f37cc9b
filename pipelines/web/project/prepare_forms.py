"""The forms of a repository's environment: the command that prepares it, what that may reach, and services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from pipelines.errors import Invalid
from pipelines.models import Repository
from pipelines.people.environment_settings import MOST_SERVICES, ServiceText
from pipelines.routing.basics.command_text import command_text
from pipelines.work.spec.preparation import Preparation

PREFIX = "services"


class PrepareForm(forms.Form):
    image = forms.CharField(max_length=255, required=False)
    command = forms.CharField(max_length=4000, required=False)
    cache = forms.CharField(max_length=255, required=False)
    hosts = forms.CharField(max_length=10_000, required=False)
    private = forms.BooleanField(required=False)


class ServiceForm(forms.Form):
    name = forms.CharField(max_length=40, required=False)
    image = forms.CharField(max_length=255, required=False)
    command = forms.CharField(max_length=4000, required=False)
    port = forms.IntegerField(min_value=1, max_value=65535, required=False)
    health = forms.CharField(max_length=4000, required=False)


if TYPE_CHECKING:
    # At run time the class of Django takes no type argument.
    _FormSet = forms.BaseFormSet[ServiceForm]
else:
    _FormSet = forms.BaseFormSet


class ServiceFormSet(_FormSet):
    """Rows that are left empty are none."""

    def service_texts(self) -> list[ServiceText]:
        rows = [ServiceText(**{"port": None, **service_form.cleaned_data}) for service_form in self.forms]
        return [row for row in rows if row != ServiceText()]


ServiceForms = forms.formset_factory(
    ServiceForm,
    formset=ServiceFormSet,
    extra=1,
    max_num=MOST_SERVICES,
    # One row more is read, so that the form can refuse it.
    absolute_max=MOST_SERVICES + 1,
    validate_max=True,
)


def private_initial(definition: Preparation) -> dict[str, Any]:
    """The tick for private addresses as it is shown: set where it holds for every host, so that who saves something
    else allows none that was added since. `allowed` names the hosts for which it holds then."""
    # Set only where it holds for all: who saves something else must not allow a host that was added since
    for_all = bool(definition.private) and definition.private == definition.hosts
    return {"private": for_all, "allowed": "" if for_all else ", ".join(definition.private)}


def prepare_forms(repository: Repository, posted: Any = None) -> dict[str, Any]:
    """Make both forms, with the values of the repository, or with what was typed."""
    definition = Preparation.of_dict(repository.prepare)
    values = {
        "image": definition.image,
        "command": command_text(definition.argv),
        "cache": definition.cache,
        "hosts": "\n".join(definition.hosts),
        **private_initial(definition),
    }
    rows = [
        {
            "name": service.name,
            "image": service.image,
            "command": command_text(service.argv),
            "port": service.port,
            "health": command_text(service.health),
        }
        for service in definition.services
    ]
    return {
        "prepare_form": PrepareForm(posted, initial=values),
        "services": ServiceForms(posted, initial=rows, prefix=PREFIX),
    }


def add_fault(form: PrepareForm, services: ServiceFormSet, fault: Invalid) -> None:
    """Add the fault to its field. Rows that are left empty do not count."""
    # `services-0-image` is a field of a row.
    prefix, _sign, rest = fault.path.partition(f"{PREFIX}-")
    if prefix or not rest:
        form.add_error(fault.path if fault.path in form.fields else None, fault.message)
        return
    index, _sign, field = rest.partition("-")
    # The fault counts the rows as `service_texts` gave them: without empty ones.
    filled = [service_form for service_form in services.forms if any(service_form.cleaned_data.values())]
    filled[int(index)].add_error(field, fault.message)
