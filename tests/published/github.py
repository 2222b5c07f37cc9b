"""GitHub's API and webhooks by its own OpenAPI documents."""

from __future__ import annotations

import functools
import re
from typing import Any

from tests.published.json_schema import PublishedSchema
from tests.published.operations import Exchange, matching_template, unknown_names
from tests.published.packages import published_json

FILE = "generated/api.github.com.json"
EXAMPLES = ("@octokit/webhooks-examples", "api.github.com/index.json")
GONE_FORK = re.compile(r"reply\[\d+\]\.head\.repo: None is none of object")
"""Of a deleted fork the host names no repository. Its description says so of one pull request, and not of many."""
ELSEWHERE = ("/api/graphql",)
"""Not of the REST API."""


class PublishedGitHub:
    def __init__(self) -> None:
        self._document = published_json("@octokit/openapi", FILE)
        self._schema = PublishedSchema(self._document)

    def faults(self, exchange: Exchange) -> list[str]:
        if exchange.path in ELSEWHERE:
            return []
        template = matching_template(exchange.path, self._document["paths"])
        methods = self._document["paths"].get(template, {})
        operation = methods.get(exchange.method.lower())
        if operation is None:
            return ["no such operation is published"]
        return [*self._request_faults(operation, methods, exchange), *self._reply_faults(operation, exchange)]

    def _request_faults(self, operation: Any, methods: Any, exchange: Exchange) -> list[str]:
        rows = [*operation.get("parameters", ()), *methods.get("parameters", ())]
        rows = [self._schema.resolve(row) for row in rows]
        fields = {row["name"]: row["schema"] for row in rows if row["in"] == "query"}
        faults = unknown_names("query", exchange.query, fields)
        for name in exchange.query.keys() & fields.keys():
            faults += self._schema.faults(fields[name], _typed(exchange.query[name]), f"query {name}")
        if exchange.body is not None:
            body = self._schema.resolve(operation.get("requestBody", {})).get("content", {})
            if "application/json" not in body:
                return [*faults, "body: the operation takes none"]
            schema = body["application/json"]["schema"]
            faults += self._schema.faults(schema, exchange.body, "body", complete=True)
        return faults

    def _reply_faults(self, operation: Any, exchange: Exchange) -> list[str]:
        response = operation["responses"].get(str(exchange.status))
        # Which refusals there are, and with which fields, is published in part
        if exchange.status >= 400:
            return []
        if response is None:
            return [f"status {exchange.status}: nobody published it"]
        content = self._schema.resolve(response).get("content", {}).get("application/json", {})
        schema = content.get("schema")
        faults = self._schema.faults(schema, exchange.reply, "reply") if schema else []
        return [fault for fault in faults if not GONE_FORK.fullmatch(fault)]


def _typed(text: str) -> Any:
    """As the schema of a query has it: `per_page=100` is a number."""
    return int(text) if text.isdecimal() else text


@functools.cache
def _webhooks() -> tuple[PublishedSchema, dict[str, Any]]:
    document = published_json("@octokit/openapi-webhooks", FILE)
    return PublishedSchema(document), document["webhooks"]


def hook_faults(event: str, payload: Any) -> list[str]:
    """Return what is wrong with a webhook of GitHub. `event`: as its header names it."""
    schema, webhooks = _webhooks()
    name = "-".join(
        filter(None, (event.replace("_", "-"), str(payload.get("action") or "").replace("_", "-")))
    )
    if name not in webhooks:
        return [f"no webhook {name} is published"]
    body = webhooks[name]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return schema.faults(body, payload)


def example_hooks() -> list[tuple[str, Any]]:
    """Return (event, payload) of each example that GitHub's own tools carry."""
    rows = published_json(*EXAMPLES)
    return [(row["name"], payload) for row in rows for payload in row["examples"]]
