"""Form of what the files of a repository propose: its environment, and the commands of the line. Typed values
count, not the proposed ones."""

from __future__ import annotations

import shlex
from typing import Any

from django import forms
from django.utils import timezone

from pipelines.errors import Invalid
from pipelines.lines.starters.commands import StationCommands
from pipelines.models import Repository, User
from pipelines.people import environment_settings, repositories
from pipelines.people.environment_settings import PreparationText, ServiceText, split_command
from pipelines.web.project.prepare_forms import PrepareForm, private_initial
from pipelines.work.spec.ecosystems import CORRECTED, Proposal
from pipelines.work.spec.preparation import Preparation

COMMANDS = ("lint", "tests", "audit", "update", "version", "publish")


class SetupForm(PrepareForm):
    """`command`, `cache` and `hosts` are the repository's environment; the others are commands of the line."""

    lint = forms.CharField(max_length=4000, required=False)
    tests = forms.CharField(max_length=4000, required=False)
    audit = forms.CharField(max_length=4000, required=False)
    update = forms.CharField(max_length=4000, required=False)
    version = forms.CharField(max_length=4000, required=False)
    publish = forms.CharField(max_length=4000, required=False)

    def station_commands(self) -> StationCommands:
        """:raises Invalid: with the field"""
        return StationCommands(**{name: split_command(self.cleaned_data[name], name) for name in COMMANDS})

    @property
    def has_rare_errors(self) -> bool:
        """Return whether a command that few templates use is wrong."""
        # The last three: update, version and publish
        return any(self[name].errors for name in COMMANDS[3:])


def repository_proposal(repository: Repository | None) -> Proposal:
    return repositories.corrected_proposal(repository) if repository else Proposal()


def initial_values(repository: Repository | None) -> dict[str, Any]:
    """An environment that is set stays as it is."""
    proposal = repository_proposal(repository)
    preparation = Preparation.of_dict((repository.prepare if repository else None) or {})
    command, cache, hosts = proposal.prepare, proposal.lock if proposal.prepare else "", proposal.hosts
    if preparation.argv:
        command, cache, hosts = shlex.join(preparation.argv), preparation.cache, preparation.hosts
    return {
        "command": command,
        "cache": cache,
        "hosts": "\n".join(hosts),
        **private_initial(preparation),
        **{name: getattr(proposal, name) for name in COMMANDS},
    }


def setup_form(repository: Repository | None, posted: Any = None) -> SetupForm:
    """A request that says nothing of the commands takes them as proposed."""
    defaults = initial_values(repository)
    if posted is None:
        return SetupForm(initial=defaults)
    values = {key: posted.get(key, value) for key, value in defaults.items()}
    # A box without its tick sends nothing: a default would tick it again.
    return SetupForm({**values, "private": posted.get("private")}, initial=defaults)


def save_environment(repository: Repository, form: SetupForm, *, by: User) -> None:
    """Image and services stay as they are. :raises Invalid: with the field"""
    preparation = Preparation.of_dict(repository.prepare)
    services = [
        ServiceText(
            service.name, service.image, shlex.join(service.argv), service.port, shlex.join(service.health)
        )
        for service in preparation.services
    ]
    form_data = {name: form.cleaned_data[name] for name in ("command", "cache", "hosts", "private")}
    environment_settings.change_environment(
        repository,
        PreparationText(**form_data, image=preparation.image, services=services),
        by=by,
        now=timezone.now(),
    )


def store_commands(repository: Repository, form: SetupForm) -> None:
    """Keep what was typed in place of the proposal; what was found of it before is looked at again."""
    typed = {name: form.cleaned_data[name] for name in CORRECTED}
    repositories.store_corrections(repository, typed, now=timezone.now())


def add_fault(form: SetupForm, fault: Invalid) -> None:
    if fault.path in form.fields:
        form.add_error(fault.path, fault.message)
    else:
        form.add_error(None, f"The services of this repository: {fault.message}")
