"""Access of the server itself to the host of a repository: for its notices there, and for a test of it."""

from __future__ import annotations

from django.views.decorators.debug import sensitive_variables

from pipelines.models import Repository, StoredValue
from pipelines.ports.vault import value_lookup
from pipelines.ports.vault.store import SECRET
from pipelines.work.hosts import table
from pipelines.work.spec.hosting import HostAccess


def nearest_secrets(repository: Repository, *names: str) -> dict[str, StoredValue]:
    reach = value_lookup.ValueScope(repository.project.owner_id, repository.project_id)
    return reach.nearest_value_by_name(SECRET, [name for name in names if name])


@sensitive_variables()
def secret_and_reason_for_absence(repository: Repository, name: str) -> tuple[str, str]:
    """The secret, and why there is none although one is named."""
    if not name:
        return "", ""
    secret = value_lookup.readable_secret_by_name(nearest_secrets(repository, name)).get(name, "")
    return secret, "" if secret else f"The secret {name} is no longer stored. Store it again."


def host_key_or_empty(repository: Repository) -> str:
    """Return the host that keeps the repository, as a key of `hosts.table`; "" where none does."""
    try:
        location = table.find_host_key_and_page(repository.host, repository.address, repository.page)
    except ValueError:
        return ""
    return location[0] if location else ""


@sensitive_variables("credential")
def host_access_or_none(repository: Repository, credential: str) -> HostAccess | None:
    """None where no host keeps it."""
    if not (key := host_key_or_empty(repository)):
        return None
    location = table.find_host_key_and_page(key, repository.address, repository.page)
    assert location is not None
    return HostAccess(key, str(location[1]), credential, repository.host_app)
