"""Preparation of a repository's environment: what people enter for it, checked and stored. Callers check who
may."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from django.db import transaction

from pipelines.errors import Invalid
from pipelines.models import Repository, User
from pipelines.ports import audit
from pipelines.queries.allowed_folders import may_see_server_folders
from pipelines.routing.document.work.network import MOST_HOSTS, name_and_port_of_host_or_none
from pipelines.work.spec.preparation import Preparation, ServiceProgram

# Not $, which permits the end of a line behind it
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")
MOST_SERVICES = 8
LONGEST_PATH = 255
# Such as python:3.13-slim or registry.example.com:5000/team/build; no hyphen in front
IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._/:@-]{0,254}\Z")


@dataclass(frozen=True)
class ServiceText:
    """Service as it was typed."""

    name: str = ""
    image: str = ""
    command: str = ""
    port: int | None = None
    health: str = ""

    def to_program(self, at: str) -> ServiceProgram:
        """Raises Invalid with the field."""
        if not NAME.match(self.name):
            raise Invalid.at(f"{at}name", "Use small letters, digits and “-”.")
        argv, health = split_command(self.command, f"{at}command"), split_command(self.health, f"{at}health")
        if not argv:
            raise Invalid.at(f"{at}command", "Enter the program that serves.")
        if self.port is None and not health:
            raise Invalid.at(f"{at}port", "Enter the port on which it answers, or a health command.")
        image = checked_image(self.image, f"{at}image")
        return ServiceProgram(self.name, argv, None if health else self.port, health, image=image)


@dataclass(frozen=True)
class PreparationText:
    image: str = ""
    command: str = ""
    cache: str = ""
    hosts: str = ""
    private: bool = False
    """Whether its hosts may have private addresses: the word of an administrator of the installation."""
    services: Sequence[ServiceText] = ()

    def to_preparation(self) -> Preparation:
        """Raises Invalid with the field; those of a service begin with `services-<index>-`."""
        argv, cache = split_command(self.command, "command"), self.cache.strip()
        if cache:
            path = PurePosixPath(cache)
            if (
                path.is_absolute()
                or ".." in path.parts
                or len(cache) > LONGEST_PATH
                or not cache.isprintable()
            ):
                raise Invalid.at("cache", "Enter a path inside the repository, like package-lock.json.")
        if not argv and (cache or self.hosts.strip()):
            raise Invalid.at("command", "Enter the command that prepares the folder.")
        hosts = checked_hosts(self.hosts.split())
        services = tuple(
            service.to_program(f"services-{index}-") for index, service in enumerate(self.services)
        )
        names = [service.name for service in services]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise Invalid.at(f"services-{index}-name", "Another service has this name.")
        return Preparation(argv, cache, hosts, services, checked_image(self.image, "image"))


def checked_hosts(typed: Sequence[str]) -> tuple[str, ...]:
    """Raises Invalid."""
    hosts = tuple(dict.fromkeys(typed))
    for host in hosts:
        if name_and_port_of_host_or_none(host) is None:
            wrong = "%(host)s is not the name of a host. Write it like example.com or example.com:8443."
            raise Invalid.at("hosts", wrong % {"host": host[:60]})
    if len(hosts) > MOST_HOSTS:
        raise Invalid.at("hosts", f"Enter at most {MOST_HOSTS} hosts.")
    return hosts


def checked_image(typed: str, field: str) -> str:
    """The name of an image as podman takes it, which is no option of its. Raises Invalid."""
    name = typed.strip()
    if name and not IMAGE.match(name):
        raise Invalid.at(
            field,
            "Enter the name of an image, like python:3.13-slim or registry.example.com/team/build:2.",
        )
    return name


def split_command(typed: str, field: str) -> tuple[str, ...]:
    """A command as a shell cuts it, though none runs it. Raises Invalid."""
    if "\x00" in typed:
        raise Invalid.at(field, "A command holds no NUL character.")
    try:
        return tuple(shlex.split(typed))
    except ValueError as fault:
        raise Invalid.at(field, "A quotation mark is not closed.") from fault


def change_environment(
    repository: Repository, prepare_text: PreparationText, *, by: User, now: datetime
) -> None:
    """Tasks that are under way are prepared so from their next station on. Others than administrators of the
    installation leave private addresses allowed for the hosts for which they are. Raises Invalid."""
    definition = prepare_text.to_preparation()
    allowed = definition.hosts if prepare_text.private else ()
    # Others may keep what was allowed, and add nothing to it
    if not may_see_server_folders(by):
        allowed = Preparation.of_dict(repository.prepare).private
    made = replace(definition, private=tuple(host for host in definition.hosts if host in allowed)).to_dict()
    _store_environment(repository, made, by=by, now=now)


def allow_hosts(
    repository: Repository, hosts: Sequence[str], private: Sequence[str], *, by: User, now: datetime
) -> None:
    """Let the command that prepares it reach these, too. `private`: names of listed hosts whose addresses may be
    private, which counts from administrators of the installation alone. Raises Invalid."""
    definition = Preparation.of_dict(repository.prepare)
    listed, inside = checked_hosts([*definition.hosts, *hosts]), set(definition.private)
    if may_see_server_folders(by):
        inside.update(host for host in listed if host.partition(":")[0] in private)
        # Where the tick holds for every host it holds for the ones that are added
        inside.update(hosts if definition.private == definition.hosts else ())
    allowed = tuple(host for host in listed if host in inside)
    _store_environment(
        repository, replace(definition, hosts=listed, private=allowed).to_dict(), by=by, now=now
    )


def _store_environment(repository: Repository, made: dict[str, Any], *, by: User, now: datetime) -> None:
    before = repository.prepare
    if made == before:
        return
    with transaction.atomic():
        Repository.objects.filter(pk=repository.pk).update(prepare=made)
        repository.prepare = made
        audit.record_administrative_act(
            "repository.prepare",
            by=by,
            at=now,
            project=repository.project,
            about=f"repository:{repository.pk}",
            name=repository.name,
            changed={"prepare": [before, made]},
        )
