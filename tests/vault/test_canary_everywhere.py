"""A canary in every secret that the product knows, each of them used: none stands in the text of a dump, on pages, in
exports, mails, logs and the process list (house §3 I16)."""

from __future__ import annotations

import base64
import logging
import os
import subprocess
from pathlib import Path

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from django.core import mail
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from config.embedded import binaries
from pipelines.people import accounts, invitations
from pipelines.work.outgoing.endpoint import Endpoint, Outgoing
from pipelines.work.outgoing.guard import Guard
from reviews.tasks import deliver_invitation
from tests.access.place import Place
from tests.access.test_matrix import PAGES
from tests.factories import World, document, station
from tests.outgoing.servers import say, serving
from tests.pages.conftest import PASSWORD as PASSWORD_OF_PAGES
from tests.pages.conftest import at, client_of
from tests.people.provider import provider
from tests.people.test_provider import come
from tests.vault.conftest import Put
from tests.vault.test_canary import body
from tests.work.conftest import artifacts_here, bench
from tests.work.driving import Bench, command, done, drive, outcome_of, text_of
from tests.work.modelserver import model, says

__all__ = ["artifacts_here", "bench"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("artifacts_here")]
STORED = {where: f"planted-{where}-canary/of a stored?" for where in ("OWNER", "PROJECT", "LINE", "HEADER")}
PASSWORD = "planted-password-canary of mine"
CLIENT_SECRET = "planted-client-secret-canary"
MODEL_KEY = "planted-model-key-canary"
# Says them all, and in which processes but itself and what it was started by each stands.
TELLS = """
import base64, glob, json, os, urllib.parse
mine, pid = [], os.getpid()
while pid > 1:
    mine.append(pid)
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
found = []
for name in ("OWNER", "PROJECT", "LINE"):
    token = os.environ[name]
    print(token, urllib.parse.quote(token, safe=""), base64.b64encode(token.encode()).decode(), json.dumps(token))
    for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        try:
            if token.encode() in open(path, "rb").read():
                found.append((int(path.split("/")[2]), path.rpartition("/")[2]))
        except OSError:
            pass
with open(os.environ["GATELINE_RESULT"], "w") as result:
    json.dump({"result": "success", "output": {"mine": mine, "found": found}}, result)
"""


def spellings(secret: str) -> list[str]:
    """As it is, and as Base64 wherever it begins within a text."""
    coded = [
        base64.b64encode(bytes(shift) + secret.encode()).decode()[4 * (shift > 0) : -4] for shift in range(3)
    ]
    return [secret, secret.encode().hex(), *coded]


def dumped(tmp_path: Path) -> str:
    """The whole database as pg_dump writes it, without large objects' encoding."""
    given = connection.get_connection_params()
    program = binaries.find_binaries().folder / "pg_dump"
    said = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password"}
    place = {name: str(given[key]) for name, key in said.items() if given.get(key)}
    done = subprocess.run(
        [str(program), "--data-only", "--inserts", str(given["dbname"])],
        env={**os.environ, **place},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


@pytest.mark.wide
def test_no_secret_stands_anywhere_but_where_it_is_used(
    world: World,
    put: Put,
    bench: Bench,
    settings: Settings,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    place = Place(world)
    secrets = credentials(world, settings) | STORED
    put(world.project.owner, "OWNER", STORED["OWNER"], by=world.admin)
    put(world.project, "PROJECT", STORED["PROJECT"], by=world.admin)
    with (
        serving(lambda to, asked: say(to, 200, asked.headers["x-key"].encode())) as server,
        model(says("Done.")) as asked_model,
    ):
        work = {"env": {name: {"secret": name} for name in ("OWNER", "PROJECT", "LINE")}, "network": "open"}
        call = {"url": server.url, "headers": {"X-Key": {"secret": "HEADER"}}, "network": "open"}
        stations = [
            command("tell", TELLS, work=work, result_document="optional"),
            station("call", kind="http", work=call),
            station("ask", kind="chat", work={"prompt": "{{task.title}}", "model": "small"}),
        ]
        version = world.line(document(stations, key="tells"))
        put(version.line, "LINE", STORED["LINE"], by=world.admin)
        put(version.line, "HEADER", STORED["HEADER"], by=world.admin)
        task = world.start(version, title="Deploy")
        endpoint = Endpoint(asked_model.url, "small", key=MODEL_KEY)
        drive(bench, task, outgoing=Outgoing(Guard(("127.0.0.0/8",)), endpoint))
    assert asked_model.server.asked[0].headers["authorization"] == f"Bearer {MODEL_KEY}", (
        "the key of the model was used"
    )
    assert world.status(task) == "completed", text_of(done(task, "tell"))
    deliver_invitation(place.invitation.pk)
    secrets["invitation by mail"] = invitations.invitation_secret(place.invitation)
    Client().post(reverse("account_reset_password"), {"email": world.viewer.email})
    assert [each.headers["x-key"] for each in server.asked] == [STORED["HEADER"]], "it was used"
    output = outcome_of(task, "tell")["output"]
    assert {pid for pid, _where in output["found"]} <= set(output["mine"]) - {os.getpid()}
    assert {where for _pid, where in output["found"]} <= {"environ"}

    client = client_of(world.admin)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD_OF_PAGES})
    read, pages = 0, body(Client(), reverse("sign-in"))
    for row in PAGES:
        method, name = row.split()
        if method == "GET" and PAGES[row]["admin"] == "y" and "task" not in name:
            answer = client.get(place.address(name))
            if answer.status_code == 200:
                text = b"".join(answer) if answer.streaming else answer.content
                read, pages = read + 1, pages + text.decode(errors="replace")
    assert read > 50, "the pages were read, and not only asked for"
    for name in ("task", "task-events", "task-log"):
        query = f"?job={done(task, 'tell').pk}" if name == "task-log" else ""
        pages += body(client, at(world, name, task.name) + query)
    assert [message.to for message in mail.outbox] == [[place.invitation.email], [world.viewer.email]], (
        "they were sent"
    )
    said = {
        "dump": dumped(tmp_path),
        "pages": pages,
        "logs": "".join(text_of(done(task, key)) for key in ("tell", "call", "ask")) + caplog.text,
        "mail": "".join(str(message.message()) for message in mail.outbox),
    }
    assert len(said["dump"]) > 10_000 and "Deploy" in said["dump"]
    found = [
        (where, name)
        for where, text in said.items()
        for name, secret in secrets.items()
        for spelling in spellings(secret)
        if spelling in text and (where, name) not in SHOWN
    ]
    assert found == []


# The list of invitations has their links to copy, for admins; the mail of an invitation is its link.
SHOWN = {("pages", "invitation"), ("pages", "invitation by mail"), ("mail", "invitation by mail")}


def credentials(world: World, settings: Settings) -> dict[str, str]:
    """Of people and machines, each used once."""
    now, person = timezone.now(), world.viewer
    app = {"provider_id": "oidc", "name": "Company", "client_id": "gateline", "secret": CLIENT_SECRET}
    with provider() as company:
        app["settings"] = {"server_url": company.address}  # type: ignore[assignment]
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
        settings.OIDC_ISSUER = company.address
        comer = Client()
        assert come(comer).headers["Location"] == reverse("home"), "signed in with the provider"
        assert company.asked[0]["client_secret"] == [CLIENT_SECRET], "it was used"
    person.set_password(PASSWORD)
    person.save()
    seed = totp.generate_totp_secret()
    totp.TOTP.activate(person, seed)
    codes = RecoveryCodes.activate(person).get_unused_codes()
    client = Client()
    client.post(reverse("sign-in"), {"username": person.username, "password": PASSWORD})
    answer = client.post(reverse("mfa_authenticate"), {"code": codes[0]})
    assert answer.headers["Location"] == reverse("home")
    token, machine = world.token_of(person)[1], world.machine()[1]
    for secret in (token, machine):
        assert Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/projects").status_code == 200
    (invited,) = invitations.create_invitations(
        world.project, [], roles=["viewer"], execute=False, groups=(), by=world.admin, now=now
    )
    link = accounts.create_sign_in_link_secret(person, now)
    return {
        "password": PASSWORD,
        "client secret of the provider": CLIENT_SECRET,
        "key of the model": MODEL_KEY,
        "seed of the second factor": seed,
        "recovery code": codes[1],
        "personal token": token,
        "machine token": machine,
        "invitation": invitations.invitation_secret(invited),
        "sign-in link": link,
        "secret key": str(settings.SECRET_KEY),
    }
