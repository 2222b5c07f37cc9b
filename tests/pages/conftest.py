"""Browsing without a browser: a client signed in as somebody, and addresses of one project."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from pipelines.models import User
from tests.factories import World

PASSWORD = "correct horse battery"
As = Callable[[User], Client]


def client_of(user: User) -> Client:
    """Signed in as this person, who has a password."""
    user.set_password(PASSWORD)
    user.save()
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def signed_in() -> As:
    return client_of


def at(world: World, name: str, *rest: object) -> str:
    return reverse(name, args=[world.project.owner.key, world.project.key, *rest])


def door(world: World, rest: str, line: str = "drawn") -> str:
    """Of a line in the API."""
    return f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/lines/{line}{rest}"


def text(response: HttpResponse) -> str:
    """With each white space as one space, as a browser reads it."""
    return " ".join(response.content.decode().split())
