"""Signing in: profiles, where tokens are kept, and what each refusal says."""

from __future__ import annotations

import html
import http.client
import json
import os
import re
import stat
import urllib.error
import urllib.request
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import Client

from gateline import output
from pipelines.models import ApiToken
from tests.cli.conftest import gateline
from tests.factories import World
from tests.fixtures.site import Site
from tests.waiting import LONG, until


@pytest.fixture
def token(world: World) -> str:
    return world.token_of(world.operator, "read")[1]


def test_it_keeps_a_token_where_only_its_owner_reads_it(
    site: Site, world: World, token: str, tmp_path: Path
) -> None:
    line = world.line()
    mine = gateline(tmp_path)
    place = f"{world.project.owner.key}/{world.project.key}"
    said = mine.ok("login", site.url, "--name", "here", "--token-stdin", given=f"{token}\n")
    assert f"as profile “here”: {place}." in said
    assert stat.S_IMODE(mine.config.stat().st_mode) == 0o600
    assert json.loads(mine.config.read_text())["profiles"]["here"]["token"] == token
    assert f"{place}/{line.line.key}" in mine.ok("lines")
    assert mine.json("lines")[0]["live"] == 1
    assert mine.json("profiles") == [{"name": "here", "url": site.url, "project": "", "default": True}]
    assert token not in mine.ok("profiles")
    os.chmod(mine.config, 0o644)
    assert "chmod 600" in mine.run("lines").stderr
    os.chmod(mine.config, 0o600)
    mine.ok("logout")
    assert mine.run("lines").returncode == 3


@pytest.mark.smoke(2)
@pytest.mark.parametrize(
    ("url", "given", "code", "says"),
    [
        ("http://example.com", "gl_x", 2, "Over http:// anybody on the way could read the token."),
        ("http://127.0.0.1:1", "gl_x", 8, "cannot be reached"),
        ("{site}", "gl_none", 3, "wrong, expired or revoked"),
        ("{site}", "hunter2", 2, "they begin with gl_"),
        ("{site}/nowhere", "gl_x", 8, "not as a Gateline server does"),
    ],
)  # fmt: skip
def test_it_stores_nothing_of_what_is_refused(
    site: Site, tmp_path: Path, url: str, given: str, code: int, says: str
) -> None:
    mine = gateline(tmp_path)
    said = mine.run("login", url.format(site=site.url), "--token-stdin", given=f"{given}\n")
    assert (said.returncode, mine.config.exists()) == (code, False), said.stderr
    assert says in said.stderr
    assert "Traceback" not in said.stderr


def test_a_token_of_the_environment_travels_in_clear_nowhere(tmp_path: Path) -> None:
    mine = gateline(tmp_path, GATELINE_URL="http://example.com", GATELINE_TOKEN="gl_x")
    said = mine.run("lines")
    assert (said.returncode, "anybody on the way could read the token" in said.stderr) == (2, True)


def test_json_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    said = {"title": "Grün \x9b2J\u202e\U000e0001 ok"}
    output.print_json(said)
    output.print_json_line(said)
    printed = capsys.readouterr().out
    assert "Grün" in printed and all(sign.isprintable() or sign == "\n" for sign in printed)
    assert json.loads(printed.splitlines()[-1]) == said


def test_one_click_in_the_browser_signs_the_command_line_in(
    site: Site, world: World, client: Client, tmp_path: Path
) -> None:
    """The browser of this person writes down which page was opened."""
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    mine = gateline(tmp_path, BROWSER=str(browser))
    terminal = mine.on_a_terminal("login", site.url)
    terminal.until("Press “Sign in the command line”")
    page = until(lambda: opened.exists() and opened.read_text(), "the page")
    assert page.startswith(f"{site.url}/account/command-line/")
    path = page.removeprefix(site.url)
    assert "sign-in" in client.get(path)["Location"], "who is signed out signs in first"
    world.operator.set_password("three plain words")
    world.operator.save()
    client.force_login(world.operator)
    assert "Sign in the command line" in client.get(path).content.decode()
    assert not ApiToken.objects.filter(user=world.operator).exists(), "looking makes no token"
    made = client.post(path).content.decode()
    back = html.unescape(re.search(r'content="0;url=([^"]+)"', made)[1])  # type: ignore[index]
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(back.replace("state=", "state=x"), timeout=LONG)
    address = urlsplit(back)
    connection = http.client.HTTPConnection(address.netloc, timeout=LONG)
    connection.request("GET", f"/?{address.query}")
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Location")) == (303, f"{site.url}/account/")
    assert terminal.code() == 0 and "Signed in to" in terminal.shown, terminal.shown
    [token] = ApiToken.objects.filter(user=world.operator)
    assert token.name == "Command line" and token.expires_at - token.created_at <= timedelta(days=91)
    mine.ok("lines")
    assert client.get("/account/command-line/80/state/").status_code == 404, "no port of the system"
