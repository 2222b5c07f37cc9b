"""The repositories of a project: connecting, changing, testing and disconnecting them. Callers ask who may."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.views.decorators.debug import sensitive_variables

from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Line, Project, Repository, User, Worker
from pipelines.models.repositories import repository_name
from pipelines.people import allowed_folders
from pipelines.people.program_requirements import (
    named_checks_of_requirements,
    needed_programs_fact_or_none,
    serving_runners,
)
from pipelines.ports import audit
from pipelines.ports.vault import value_lookup
from pipelines.ports.vault.store import SECRET
from pipelines.queries.allowed_folders import (
    may_see_server_folders,
    reason_against_folder,
    server_folders_of_owner,
)
from pipelines.queries.protections import canonical_address
from pipelines.work.git.addresses import LONGEST, parsed_repository_address
from pipelines.work.git.commits import is_branch
from pipelines.work.git.probe import SECONDS, ConnectionCheck, Probe, run_timed_check
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import Remote
from pipelines.work.hosts import table
from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.github_app import git_credential
from pipelines.work.hosts.probe import probe_host
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.ecosystems import READ, Proposal, proposed_environment
from pipelines.work.transport.local.host_access import (
    host_access_or_none,
    nearest_secrets,
    secret_and_reason_for_absence,
)

TYPED = "typed"
"""Beside a proposal: {command: what people typed in its place}."""
NEEDS = ("programs", "hosts")
APP = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class RepositorySettings:
    """Settings of a repository as people enter them; `name` "" is the last part of its address."""

    address: str
    name: str = ""
    default_branch: str = ""
    credential: str = ""
    pushing: str = Repository.Pushing.EXECUTE
    host: str = ""
    page: str = ""
    host_credential: str = ""
    host_app: str = ""
    hook_secret: str = ""

    def checked_settings(self, project: Project) -> RepositorySettings:
        """Raises Invalid with the field."""
        try:
            address = parsed_repository_address(
                self.address.strip(), server_folders_of_owner(project.owner_id)
            )
        except GitRefused as refused:
            raise Invalid.at("address", str(refused)) from refused
        name = self.name.strip() or address.path.rstrip("/").rpartition("/")[2].removesuffix(".git")
        try:
            repository_name(name)
        except ValidationError as fault:
            raise Invalid.at("name", str(repository_name.message)) from fault
        branch = self.default_branch.strip()
        if branch and not is_branch(branch):
            raise Invalid.at("default_branch", "This is not a valid name for a branch.")
        if self.pushing not in Repository.Pushing.values:
            raise Invalid.at("pushing", "Choose one of the options.")
        # By its name alone: a secret is chosen here, and never typed or shown
        known = value_lookup.ValueScope(project.owner_id, project.pk).sorted_names_of_kind(SECRET)
        for field in ("credential", "host_credential", "hook_secret"):
            secret_name = getattr(self, field)
            if secret_name and secret_name not in known:
                message = f"The project has no secret {secret_name}. Store it first."
                raise Invalid.at(field, message)
        app = self.host_app.strip()
        if app and not APP.fullmatch(app):
            raise Invalid.at("host_app", "Enter the client ID or the App ID, as GitHub shows it.")
        page = self._page_or_empty_if_implied(address.text)
        return replace(self, address=address.text, name=name, default_branch=branch, page=page, host_app=app)

    def _page_or_empty_if_implied(self, address: str) -> str:
        """Return the page as it is stored: "" where the address implies it."""
        page = self.page.strip()
        try:
            host_page = table.find_host_key_and_page(self.host, address, page)
        except ValueError as fault:
            # That there is no such host is a fault of the choice, and not of its page
            raise Invalid.at("page" if self.host in table.HOSTS else "host", str(fault)) from fault
        if page and host_page is None and self.host != table.NONE:
            raise Invalid.at("host", "Choose which host this page is of.")
        if (
            host_page
            and host_page[1].origin.startswith("http:")
            and not _configured_guard().is_listed_host(host_page[1].server)
        ):
            raise Invalid.at(
                "page",
                "Use https. Over http a token is sent only to hosts of GATELINE_PRIVATE_HOSTS.",
            )
        return str(host_page[1]) if host_page and page else ""

    @property
    def field_values(self) -> dict[str, str]:
        return {
            "name": self.name,
            "address": self.address,
            "default_branch": self.default_branch,
            "credential": self.credential,
            "pushing": self.pushing,
            "host": self.host,
            "page": self.page,
            "host_credential": self.host_credential,
            "host_app": self.host_app,
            "hook_secret": self.hook_secret,
        }


def _configured_guard() -> Guard:
    return Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES))


def require_allowed_folder(
    project: Project,
    repository_settings: RepositorySettings,
    allow: bool | str,
    *,
    by: User,
    now: datetime,
) -> None:
    """Check that a folder of the server may be used, and allow it if an administrator says so. `allow`: True,
    or the resolved folder that the page asked about. Callers roll back if something fails later. Raises
    Forbidden, Invalid, FolderToAllow."""
    if allow and not may_see_server_folders(by):
        raise Forbidden("Only an administrator of the installation can allow a folder of the server.")
    text = repository_settings.address.strip()
    # What is wrong with such an address says `checked`, which comes after it
    if not text.startswith("/") or not text.isprintable() or len(text) > LONGEST:
        return
    if not reason_against_folder(project.owner_id, text):
        return
    if not may_see_server_folders(by):
        raise Invalid.at(
            "address",
            "This folder of the server is not allowed for this owner.",
            "Ask an administrator of the installation to connect it, or use an https or ssh address.",
        )
    question = allowed_folders.question_to_allow_folder(project.owner, text)
    if not allow or (isinstance(allow, str) and allow != question.folder):
        # Nobody is asked to allow what is refused afterwards
        question.obstacle = _folder_obstacle_or_empty(project, question.folder, repository_settings)
        raise question
    allowed_folders.allow_folder(project.owner, text, by=by, now=now)


def _folder_obstacle_or_empty(project: Project, folder: str, repository_settings: RepositorySettings) -> str:
    """Look at a folder for the administrator who is asked about it. Return why nothing can be merged into it as it is
    now, or "". Raises Invalid: it cannot be used."""
    allowed = server_folders_of_owner(project.owner_id)
    # First: a folder that was allowed at this path before may be another one
    folders = replace(allowed, allowed=(allowed.permitted_folder_of_path(folder), *allowed.allowed))
    branch, pushes = repository_settings.default_branch.strip(), repository_settings.pushing
    try:
        remote = Remote(parsed_repository_address(folder, folders), seconds=SECONDS, folders=folders)
    except GitRefused as refused:
        raise Invalid.at("address", str(refused)) from refused
    checks = Probe(remote, branch, pushes != Repository.Pushing.NOBODY).connection_checks()
    failed = next((check for check in checks if check.ok is False), None)
    if failed is None or failed.check == "push":
        return failed.said if failed else ""
    raise Invalid.at("default_branch" if branch and failed.check == "branch" else "address", failed.said)


@transaction.atomic
def connect_repository(
    project: Project,
    repository_settings: RepositorySettings,
    *,
    by: User,
    now: datetime,
    allow: bool | str = False,
) -> Repository:
    """`allow`: see `require_allowed_folder`. Raises Forbidden, Invalid, Conflict (the name is taken)."""
    require_allowed_folder(project, repository_settings, allow, by=by, now=now)
    fields = repository_settings.checked_settings(project).field_values
    _refuse_duplicate(project, fields["address"])
    try:
        # A block of its own: after an error PostgreSQL takes no more statements in the outer one
        with transaction.atomic():
            made = Repository.objects.create(project=project, connected_at=now, **fields)
            _record_in_audit("repository.connected", made, by, now, address=made.title)
    except IntegrityError as conflict:
        raise _name_conflict(fields["name"]) from conflict
    return made


@transaction.atomic
def change_repository(
    repository: Repository,
    repository_settings: RepositorySettings,
    *,
    by: User,
    now: datetime,
    allow: bool | str = False,
) -> None:
    """Change the settings of a repository. Earlier results about it count no longer. A folder of the server
    that is named by the name of its repository stays as it is. `allow`: see `require_allowed_folder`. Raises Forbidden,
    Invalid, Conflict."""
    if repository.is_folder and repository_settings.address.strip() == repository.name:
        # Who may not see the path was shown the name, and sends that back.
        repository_settings = replace(repository_settings, address=repository.address)
    require_allowed_folder(repository.project, repository_settings, allow, by=by, now=now)
    fields = repository_settings.checked_settings(repository.project).field_values
    before = {key: getattr(repository, key) for key in fields}
    if before == fields:
        return
    since = repository.connected_at
    if before["address"] != fields["address"]:
        _refuse_duplicate(repository.project, fields["address"])
        if canonical_address(before["address"]) != canonical_address(fields["address"]):
            # Another repository under the same name: who published lines for it before did not mean this one.
            since = now
    try:
        with transaction.atomic():
            Repository.objects.filter(pk=repository.pk).update(
                **fields, connected_at=since, tested=None, tested_at=None, proposed=None
            )
            repository.refresh_from_db()
            changed = {
                key: [_audit_value_without_path(key, before), _audit_value_without_path(key, fields)]
                for key in fields
                if before[key] != fields[key]
            }
            _record_in_audit("repository.changed", repository, by, now, changed=changed)
    except IntegrityError as conflict:
        raise _name_conflict(fields["name"]) from conflict


def _audit_value_without_path(key: str, fields: Mapping[str, Any]) -> Any:
    """A value for the record of the project, which never holds a path of the server."""
    value = fields[key]
    return fields["name"] if key == "address" and str(value).startswith("/") else value


def _refuse_duplicate(project: Project, address: str) -> None:
    """Tasks name a repository by its address. Raises Invalid."""
    if known := Repository.objects.filter(project=project, address=address).first():
        raise Invalid.at("address", f"This repository is connected already, as {known.name}.")


def disconnect_repository(repository: Repository, *, by: User, now: datetime) -> None:
    """Its branches and commits stay where they are."""
    with transaction.atomic():
        # Before: a row that was deleted has no number any more, by which the record names it
        _record_in_audit("repository.disconnected", repository, by, now, address=repository.title)
        repository.delete()


def _name_conflict(name: str) -> Conflict:
    return Conflict(f"The project already has a repository {name}.")


def _record_in_audit(kind: str, repository: Repository, by: User, now: datetime, **data: Any) -> None:
    about = f"repository:{repository.pk}"
    audit.record_administrative_act(
        kind, by=by, at=now, project=repository.project, about=about, name=repository.name, **data
    )


@sensitive_variables("credential")
def test_connection(repository: Repository, *, by: User, now: datetime) -> list[dict[str, Any]]:
    """Try the connection, and keep what was found. It takes as long as the server does, within bounds. The server gets
    the secret: that is a use of it, and kept in the audit log."""
    credential, missing = secret_and_reason_for_absence(repository, repository.credential)
    of_host, none_of_host = secret_and_reason_for_absence(repository, repository.name_of_host_secret)
    with transaction.atomic():
        # Before the connection is tried: the use is recorded whatever comes of it.
        if credential or of_host:
            value_lookup.record_use_if_not_lately_recorded(
                nearest_secrets(repository, repository.credential, repository.name_of_host_secret).values(),
                now,
            )
        _record_in_audit(
            "repository.tested",
            repository,
            by,
            now,
            address=repository.title,
            credential=repository.credential,
        )
    guard, access, proposal, probe = _configured_guard(), host_access_or_none(repository, of_host), None, None
    pushes = repository.pushing != Repository.Pushing.NOBODY
    try:
        if missing:
            raise GitRefused(missing)
        folders = server_folders_of_owner(repository.project.owner_id)
        address = parsed_repository_address(repository.address, folders)
        https = address.scheme == "https"
        credential = asyncio.run(git_credential(access, https, credential, guard))
        # A known_hosts of this test alone
        with tempfile.TemporaryDirectory(prefix="gateline-hosts-") as folder:
            remote = Remote(
                address, guard, credential, Path(folder) / "known_hosts", SECONDS, folders=folders
            )
            probe = Probe(remote, repository.default_branch, pushes, READ)
            checks = [check.to_dict() for check in probe.run_all_checks()]
        if probe.files is not None:
            workers, typed = (
                serving_runners(now, repository.project),
                (repository.proposed or {}).get(TYPED, {}),
            )
            proposal = proposed_environment(probe.files, probe.commit).with_hosts(
                worker.registries for worker in workers
            )
            checks += _proposal_need_results(repository, proposal.with_typed_commands(typed), guard, workers)
    except (GitRefused, HostError) as refused:
        checks = [ConnectionCheck("reach", False, str(refused)).to_dict()]
    if access is not None and (of_host or none_of_host):
        began = time.monotonic()
        host = probe_host(access, guard, none_of_host, repository.default_branch)
        check = ConnectionCheck("host", host.ok, host.said, seconds=round(time.monotonic() - began, 1))
        checks.append({**check.to_dict(), "branch": host.branch, "required": list(host.required)})
    stored_proposal = {**proposal.to_dict(), TYPED: typed} if proposal else None
    if probe is not None and probe.settled:
        # What is checked out there changes with the work of people: the next look must mean the same branch
        Repository.objects.filter(pk=repository.pk, default_branch="").update(default_branch=probe.branch)
    # These fields alone: settings that somebody changed during the test stay changed
    Repository.objects.filter(pk=repository.pk).update(tested=checks, tested_at=now, proposed=stored_proposal)
    return checks


def _proposal_need_results(
    repository: Repository, proposal: Proposal, guard: Guard, workers: Sequence[Worker]
) -> list[dict[str, Any]]:
    return [
        run_timed_check(name, look).to_dict()
        for name, look in named_checks_of_requirements(repository, proposal, guard, workers)
    ]


def corrected_proposal(repository: Repository) -> Proposal:
    """Return what is proposed for it, with what people typed in place of it."""
    stored = repository.proposed or {}
    return Proposal.of_dict(stored).with_typed_commands(stored.get(TYPED, {}))


def store_corrections(repository: Repository, typed: Mapping[str, str], *, now: datetime) -> None:
    """Store the commands that people typed in place of the proposed ones, and check the requirements again
    without contacting the repository. `typed`: {} if only the environment changed."""
    repository.refresh_from_db(fields=["proposed", "prepare", "tested"])
    if repository.proposed is None:
        return
    repository.proposed = {**repository.proposed, TYPED: {**repository.proposed.get(TYPED, {}), **typed}}
    needs = {
        check["check"]: check
        for check in _proposal_need_results(
            repository,
            corrected_proposal(repository),
            _configured_guard(),
            serving_runners(now, repository.project),
        )
    }
    others = [check for check in repository.tested or () if check["check"] not in NEEDS]
    # In front of the check of the host, where `test_connection` puts them.
    place = next((at for at, check in enumerate(others) if check["check"] == "host"), len(others))
    repository.tested = [*others[:place], *needs.values(), *others[place:]]
    repository.save(update_fields=["proposed", "tested"])


def last_test_with_programs_now(repository: Repository, workers: Sequence[Worker]) -> list[dict[str, Any]]:
    """Return what the last test said, and of programs what the runners say now."""
    checks = []
    for check in repository.tested or ():
        if check["check"] != "programs":
            checks.append(check)
        elif fact := needed_programs_fact_or_none(repository, corrected_proposal(repository), workers):
            checks.append({**check, "said": fact.said, "warning": fact.warning})
    return checks


def lines_by_repository(project: Project) -> dict[str, list[Line]]:
    """{name of a repository: the lines whose live version or draft works in it}."""
    lines_by_name: dict[str, list[Line]] = {}
    for line in project.lines.select_related("live").order_by("name"):
        documents = [line.draft, *([line.live.document] if line.live else [])]
        for name in dict.fromkeys(filter(None, map(_repository_name_or_empty, documents))):
            lines_by_name.setdefault(name, []).append(line)
    return lines_by_name


def _repository_name_or_empty(document: Mapping[str, Any]) -> str:
    """Return the repository that a draft names; the draft may be no line."""
    workspace = document.get("workspace")
    git = workspace.get("git") if isinstance(workspace, dict) else None
    name = git.get("repository") if isinstance(git, dict) else None
    return name if isinstance(name, str) else ""
