"""Credentials of the project that go along to a runner: never a key that could make others."""

from __future__ import annotations

from dataclasses import replace

from asgiref.sync import async_to_sync
from django.views.decorators.debug import sensitive_variables

from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.github_app import PEM, git_credential
from pipelines.work.runners import server_config
from pipelines.work.transport.protocol import NO_VALUES, Started
from pipelines.work.worker import repository


@sensitive_variables()
def started_job_with_narrowed_credentials(started: Started) -> Started:
    """Reduce the credentials for a runner: of a GitHub App the token of its installation in place of its
    private key; of a host and of other stations nothing, not even to mask it: that the server does
    (`logs`, `reports`)."""
    values, order = started.values, started.orders.git
    if values is NO_VALUES:
        return started
    credential = values.credential if order is not None else ""
    known = values.credential or values.host_credential
    if known and order is not None and order.address.startswith("https://"):
        host, guard = (
            repository.access_to_host_of_order_or_none(started, order),
            server_config.build_config().outgoing.guard,
        )
        try:
            credential = async_to_sync(git_credential)(host, True, credential, guard)
        except HostError:
            credential = ""  # the runner cannot read the repository, and says so
    # Still the private key of the app, for which no token was asked: no runner gets it
    if credential.startswith(PEM) and order is not None and order.host_app:
        credential = ""
    masked = tuple(dict.fromkeys(filter(None, (*values.secrets.values(), credential))))
    return replace(started, values=replace(values, masked=masked, credential=credential, host_credential=""))
