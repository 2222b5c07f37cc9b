"""A client that speaks JSON with a bearer token."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from pipelines.models import Project, Task, User
from tests.factories import World


class Api:
    """`api.as_(world.operator).post(path, body)`; paths are relative to the project."""

    def __init__(self, project: Project, secret: str | None) -> None:
        self.base = f"/api/owners/{project.owner.key}/projects/{project.key}"
        self.headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self.client = Client()

    def get(self, path: str) -> Any:
        return self.client.get(self.base + path, headers=self.headers)

    def post(self, path: str, body: Any, key: str = "") -> Any:
        """`key`: sent as Idempotency-Key."""
        headers = self.headers | ({"Idempotency-Key": key} if key else {})
        return self.client.post(self.base + path, body, "application/json", headers=headers)

    def send(self, method: str, path: str, body: Any) -> Any:
        return self.client.generic(
            method, self.base + path, json.dumps(body), "application/json", headers=self.headers
        )

    def put(self, path: str, text: str) -> Any:
        return self.client.put(self.base + path, text, "application/yaml", headers=self.headers)


class Apis:
    def __init__(self, world: World) -> None:
        self.world = world

    def as_(self, user: User, *scopes: str) -> Api:
        return Api(self.world.project, self.world.token_of(user, *scopes)[1])

    def machine(self, *scopes: str, role: str = "operator") -> Api:
        return Api(self.world.project, self.world.machine(*scopes, role=role)[1])

    def with_secret(self, secret: str | None) -> Api:
        return Api(self.world.project, secret)


@pytest.fixture
def api(world: World) -> Apis:
    return Apis(world)


def gate_path(task: Task, gate: str = "review") -> str:
    return f"/stages/{task.line.key}/tasks/{task.name}/gates/{gate}"
