"""GitLab's API, as far as python-gitlab has it: addresses, filters of lists, and the fields of what is created and
changed. It has no types of answers: its own client reads those of the test server (`test_published.py`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import gitlab.v4.objects
from gitlab import mixins
from gitlab.base import RESTManager
from gitlab.types import RequiredOptional

from tests.published.operations import Exchange, matching_template, unknown_names

OF_EVERY_LIST = ("page", "per_page", "order_by", "sort")
MERGE_REQUEST = "/projects/{project_id}/merge_requests/{id}"
MERGE = inspect.signature(gitlab.v4.objects.ProjectMergeRequest.merge).parameters
ACTIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    # GitLab documents the last three, and the library passes them on unnamed
    ("PUT", f"{MERGE_REQUEST}/merge"): (*MERGE, "sha", "squash", "squash_commit_message"),
    ("POST", f"{MERGE_REQUEST}/cancel_merge_when_pipeline_succeeds"): (),
    ("POST", "/projects/{project_id}/pipelines/{id}/retry"): (),
}
"""{(method, path): names of the body}. The library writes them into methods, and not as data."""
UNKNOWN = frozenset(
    {
        ("GET", "/projects/{project_id}/merge_trains/merge_requests/{id}"),
        ("POST", "/projects/{project_id}/merge_trains/merge_requests/{id}"),
    }
)
"""What GitLab documents and the library does not have: held by nobody."""


@dataclass(frozen=True)
class Operation:
    query: tuple[str, ...] = ()
    body: RequiredOptional = field(default_factory=RequiredOptional)


@functools.cache
def operations() -> dict[tuple[str, str], Operation]:
    """Return {(method, path template): operation}."""
    found = {key: Operation(body=RequiredOptional(optional=names)) for key, names in ACTIONS.items()}
    for _name, manager in inspect.getmembers(gitlab.v4.objects, inspect.isclass):
        if not issubclass(manager, RESTManager) or not getattr(manager, "_path", None):
            continue
        path = manager._path.rstrip("/")
        creates, changes = manager._create_attrs, manager._update_attrs
        if issubclass(manager, mixins.ListMixin):
            found["GET", path] = Operation((*manager._list_filters, *OF_EVERY_LIST))
        if issubclass(manager, mixins.GetMixin):
            found["GET", f"{path}/{{id}}"] = Operation()
        if issubclass(manager, mixins.CreateMixin):
            at = (
                "/projects/{project_id}/statuses/{commit_id}"
                if "commits/" in path and "statuses" in path
                else path
            )
            found["POST", at] = Operation(body=creates)
        if issubclass(manager, mixins.UpdateMixin):
            found["PUT", f"{path}/{{id}}"] = Operation(body=changes)
    return found


class PublishedGitLab:
    def faults(self, exchange: Exchange) -> list[str]:
        known = operations()
        template = matching_template(exchange.path, _paths_of(exchange.method, (*known, *UNKNOWN)))
        if template is None:
            return ["no such operation is published"]
        if (exchange.method, template) in UNKNOWN:
            return []
        operation, body = known[exchange.method, template], exchange.body or {}
        names = (*operation.body.required, *operation.body.optional, *operation.body.exclusive)
        missing = [f"body.{name}: is required" for name in operation.body.required if name not in body]
        return [
            *unknown_names("query", exchange.query, operation.query),
            *unknown_names("body", body, names),
            *missing,
        ]


def _paths_of(method: str, known: Iterable[tuple[str, str]]) -> list[str]:
    return [path for own, path in known if own == method]
