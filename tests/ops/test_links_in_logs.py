"""What opens something by its address alone is not in the log: who reads it could use it."""

from __future__ import annotations

import logging

import pytest
from django.urls import reverse

TOKEN = "a-token_of-256-bits"


@pytest.mark.parametrize(
    "address",
    [
        reverse("mail-link-arrive", args=[TOKEN]),
        reverse("join", args=[TOKEN]),
        reverse("sign-in-link", args=[TOKEN]),
    ],
)
@pytest.mark.parametrize("said", ["Too Many Requests: %s", "Method Not Allowed (POST): %s", "%s?next=/x"])
def test_a_link_that_opens_something_is_cut(address: str, said: str) -> None:
    [handler] = [
        each for each in logging.getLogger().handlers if type(each.formatter).__name__ == "ProcessorFormatter"
    ]
    record = logging.LogRecord("django.request", logging.WARNING, "", 0, said, (address,), None)
    shown = handler.format(record)
    assert TOKEN not in shown and address.replace(TOKEN, "…") in shown
