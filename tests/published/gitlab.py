"""GitLab's API, as far as python-gitlab has it: addresses, filters of lists, and the fields of what is created and
changed. It has no types of answers: those are held against the types of gitbeaker, a client for TypeScript."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gitlab.v4.objects
from gitlab import mixins
from gitlab.base import RESTManager
from gitlab.types import RequiredOptional

from tests.published.operations import Exchange, matching_template, unknown_names
from tests.published.packages import published_file
from tests.published.type_script import DeclaredTypes

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
TYPES = ("@gitbeaker/core", "dist/index.d.ts")
REPLIES: Mapping[str, str] = {
    "/projects/{id}": "ProjectSchema",
    "/projects/{project_id}/repository/branches/{id}": "BranchSchema",
    "/personal_access_tokens/{id}": "PersonalAccessTokenSchema",
    "/projects/{project_id}/merge_requests": "MergeRequestSchema",
    MERGE_REQUEST: "ExpandedMergeRequestSchema",
    f"{MERGE_REQUEST}/merge": "ExpandedMergeRequestSchema",
    f"{MERGE_REQUEST}/cancel_merge_when_pipeline_succeeds": "ExpandedMergeRequestSchema",
    "/projects/{project_id}/merge_trains/merge_requests/{id}": "MergeTrainSchema",
    "/projects/{project_id}/events": "EventSchema",
    "/projects/{project_id}/issues/{issue_iid}/notes": "IssueNoteSchema",
    "/projects/{project_id}/merge_requests/{mr_iid}/notes": "MergeRequestNoteSchema",
    "/projects/{project_id}/statuses/{commit_id}": "CommitStatusSchema",
    "/projects/{project_id}/repository/commits/{commit_id}/statuses": "CommitStatusSchema",
    "/projects/{project_id}/pipelines": "PipelineSchema",
    "/projects/{project_id}/pipelines/{id}/retry": "ExpandedPipelineSchema",
}
"""{path: type of the answer, or of each of its items}."""
HOOKS: Mapping[str, str] = {
    "issue": "WebhookIssueEventSchema",
    "note": "WebhookIssueNoteEventSchema",
    "merge_request": "WebhookMergeRequestEventSchema",
    "push": "WebhookPushEventSchema",
    "pipeline": "WebhookPipelineEventSchema",
}
UNPUBLISHED = re.compile(
    r"(\w+\.user\.email|EventSchema\.push_data|ProjectSchema\.(merge_trains_enabled|permissions\.\w+_access)): .*"
)
"""What GitLab documents and these types do not have, such as the address of a person in a webhook: held by nobody."""


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
            return _reply_faults(template, exchange)
        operation, body = known[exchange.method, template], exchange.body or {}
        names = (*operation.body.required, *operation.body.optional, *operation.body.exclusive)
        missing = [f"body.{name}: is required" for name in operation.body.required if name not in body]
        return [
            *unknown_names("query", exchange.query, operation.query),
            *unknown_names("body", body, names),
            *missing,
            *_reply_faults(template, exchange),
        ]


def _reply_faults(template: str, exchange: Exchange) -> list[str]:
    # Which refusals there are is not published
    if exchange.status >= 400:
        return []
    name = REPLIES.get(template)
    if name is None:
        return [f"the answer of {template} is held by nobody"]
    rows = exchange.reply if isinstance(exchange.reply, list) else [exchange.reply]
    return [fault for row in rows for fault in _types().faults(name, row) if not UNPUBLISHED.fullmatch(fault)]


def gitlab_hook_faults(payload: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a webhook of GitLab."""
    faults = _types().faults(HOOKS[payload["object_kind"]], payload)
    return [fault for fault in faults if not UNPUBLISHED.fullmatch(fault)]


@functools.cache
def _types() -> DeclaredTypes:
    return DeclaredTypes(published_file(*TYPES).read_text("utf-8"))


def _paths_of(method: str, known: Iterable[tuple[str, str]]) -> list[str]:
    return [path for own, path in known if own == method]
