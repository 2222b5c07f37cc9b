"""Settings › Channels: the chats and webhooks that are told of reviews, a test of each, and what could not be sent."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.errors import NotFound
from pipelines.models import Project
from pipelines.ports import audit, clock
from pipelines.ports.queue import enqueue_queue_jobs
from pipelines.ports.queue_tasks import CHANNELS, SEND_CHANNEL_MESSAGE
from pipelines.ports.vault import keys
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    project_breadcrumb,
    project_required,
    render_in_shell,
    sign_in_required,
)
from pipelines.work.hosts import standard_webhooks
from pipelines.work.outgoing.guard import Guard, unlisted_address_remedy
from reviews.channels import accounts
from reviews.channels.channel import ChannelError, ChannelKind
from reviews.channels.interactions import button_and_command_address
from reviews.channels.message_delivery import deliver_message_and_return_ref, test_message
from reviews.channels.table import BY_KEY, KINDS
from reviews.channels.topics import TOPICS
from reviews.channels.webhook import message_signature
from reviews.models import ChannelConnection, ChannelMessage
from reviews.models.channels import DEFAULT_TOPICS, default_topics

LETTERS = 20
"""Messages that could not be sent, as the page lists them; the newest."""


@dataclass(frozen=True)
class ChannelRow:
    connection: ChannelConnection
    kind: ChannelKind

    @property
    def request_address(self) -> str:
        """Address to which the chat sends its buttons; empty where it may decide nothing."""
        return button_and_command_address(self.connection) if self.connection.signing else ""


@project_required("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def channels_page(request: SignedInRequest, project: Project) -> HttpResponse:
    form = ChannelForm(project, request.POST or None)
    made, shown_once, status = None, "", 200
    if request.method == "POST" and not form.is_valid():
        status = 422
    elif request.method == "POST":
        fields = form.cleaned_data
        secret, signing = fields.pop("secret"), fields.pop("signing")
        fields["topics"] = _chosen_or_default_topics(request)
        with transaction.atomic():
            made = ChannelConnection.objects.create(
                project=project,
                secret=keys.encrypt_secret(secret) if secret else "",
                signing=keys.encrypt_secret(signing) if signing else "",
                created_at=timezone.now(),
                created_by=request.user,
                **fields,
            )
            _record_in_audit(request, "channel.connected", made)
        if not BY_KEY[made.kind].makes_secret or request.POST.get("secret"):
            # Now, while whoever can mend it looks at it.
            _send_test_and_tell_result(
                request,
                made,
                f"Connected. {BY_KEY[made.kind].label} accepted a test.",
                "Connected, but the test was not sent.",
            )
            return _redirect_to_channels(project)
        # On the page itself: a message would go before anybody could copy it.
        shown_once, form = secret, ChannelForm(project)
    chosen = request.POST if status == 422 else request.GET
    kind = BY_KEY.get(chosen.get("kind", ""), KINDS[0])
    accepted = ChannelMessage.objects.filter(connection=OuterRef("pk"), state=ChannelMessage.State.SENT)
    connections = list(
        project.channels.order_by("name").annotate(
            accepted_at=Subquery(accepted.order_by("-pk").values("sent_at")[:1])
        )
    )
    letters = ChannelMessage.objects.filter(
        connection__in=connections, state=ChannelMessage.State.FAILED
    ).select_related("connection", "visit__task__project", "task__project")
    return render_in_shell(
        request,
        "reviews/channels.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Channels"),
        status=status,
        form=form,
        kinds=KINDS,
        kind=kind,
        free_name="" if kind.label in [connection.name for connection in connections] else kind.label,
        connected=made,
        shows_form=not connections or status == 422 or "kind" in request.GET,
        shown_once=shown_once,
        rows=[ChannelRow(connection, BY_KEY[connection.kind]) for connection in connections],
        letters=letters.order_by("-created_at")[:LETTERS],
        all_topics=TOPICS,
        topics=request.POST.getlist("topics") if "choice" in request.POST else DEFAULT_TOPICS,
        log=ChannelMessage.objects.filter(connection__in=connections)
        .select_related("connection", "task__project", "visit")
        .order_by("-pk")[:LETTERS],
    )


@project_required("admin")
@require_POST
def send_test_message_at_once(request: SignedInRequest, project: Project, channel: int) -> HttpResponse:
    """Sent at once, so that the answer of the server is on the page."""
    connection = _connection_of_project_or_404(project, channel)
    _send_test_and_tell_result(request, connection, f"{connection.name} accepted a test.", "Not sent.")
    return _redirect_to_channels(project)


def _send_test_and_tell_result(
    request: SignedInRequest, connection: ChannelConnection, sent: str, not_sent: str
) -> None:
    """Send a test, say what came of it, and keep it among the messages of the channel."""
    tests = connection.messages.filter(kind=ChannelMessage.MessageKind.TEST)
    message = ChannelMessage(
        connection=connection,
        kind=ChannelMessage.MessageKind.TEST,
        state=ChannelMessage.State.SENT,
        attempts=1,
        created_at=timezone.now(),
    )
    try:
        message.ref = deliver_message_and_return_ref(connection, test_message(message))
    except ChannelError as problem:
        message.state, message.error = ChannelMessage.State.FAILED, str(problem)[:500]
        messages.error(request, f"{not_sent} {problem}")
    else:
        message.sent_at = timezone.now()
        messages.success(request, sent)
    # Whoever tests again has done with what earlier ones said
    tests.filter(state=ChannelMessage.State.FAILED).delete()
    message.save()


@project_required("admin")
@require_POST
def change_topics_of_channel(request: SignedInRequest, project: Project, channel: int) -> HttpResponse:
    """Change what a channel tells of."""
    connection, topics = _connection_of_project_or_404(project, channel), _chosen_or_default_topics(request)
    if connection.topics != topics:
        with transaction.atomic():
            _record_in_audit(request, "channel.changed", connection, before=connection.topics, after=topics)
            connection.topics = topics
            connection.save(update_fields=["topics"])
    messages.success(request, "Saved")
    return _redirect_to_channels(project)


def _chosen_or_default_topics(request: SignedInRequest) -> list[str]:
    """Return what the form chooses, in the order of the table. A form without the choice: what a channel tells at
    first."""
    if "choice" not in request.POST:
        return default_topics()
    chosen = set(request.POST.getlist("topics"))
    return [topic.key for topic in TOPICS if topic.key in chosen]


@project_required("admin")
@require_POST
def remove_channel(request: SignedInRequest, project: Project, channel: int) -> HttpResponse:
    connection = _connection_of_project_or_404(project, channel)
    with transaction.atomic():
        _record_in_audit(request, "channel.disconnected", connection)
        connection.delete()
    messages.success(request, "Disconnected")
    return _redirect_to_channels(project)


@project_required("admin")
@require_POST
def resend_failed_message(request: SignedInRequest, project: Project, message: int) -> HttpResponse:
    """Send a message that could not be sent."""
    failed = ChannelMessage.objects.filter(
        pk=message, connection__project=project, state=ChannelMessage.State.FAILED
    )
    with transaction.atomic():
        # One conditional UPDATE: of two clicks one sends it
        if not failed.update(state=ChannelMessage.State.QUEUED, error=""):
            raise Http404
        enqueue_queue_jobs(SEND_CHANNEL_MESSAGE, CHANNELS, {"message_id": message})
    messages.success(request, "Sending it again")
    return _redirect_to_channels(project)


def _connection_of_project_or_404(project: Project, channel: int) -> ChannelConnection:
    return get_object_or_404(ChannelConnection.objects.filter(project=project, pk=channel))


def _record_in_audit(request: SignedInRequest, kind: str, connection: ChannelConnection, **data: Any) -> None:
    audit.record_administrative_act(
        kind,
        by=request.user,
        at=timezone.now(),
        project=connection.project,
        about=f"channel:{connection.pk}",
        name=f"{connection.name} ({BY_KEY[connection.kind].label})",
        **data,
    )


def _redirect_to_channels(project: Project) -> HttpResponse:
    return redirect("project-channels", project.owner.key, project.key)


# The form that connects a chat or a webhook.


class ChannelForm(forms.Form):
    kind = forms.ChoiceField(choices=[(kind.key, kind.label) for kind in KINDS])
    name = forms.CharField(max_length=100)
    address = forms.CharField(max_length=500, required=False)
    room = forms.CharField(max_length=200, required=False)
    secret = forms.CharField(max_length=500, required=False)
    signing = forms.CharField(max_length=200, required=False)

    def __init__(self, project: Project, data: Any = None) -> None:
        super().__init__(data)
        self._project = project

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"]).strip()
        if ChannelConnection.objects.filter(project=self._project, name=name).exists():
            raise forms.ValidationError("This project has a channel of this name.")
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind = BY_KEY.get(cleaned.get("kind", ""))
        if kind is None:
            return cleaned
        cleaned["address"] = cleaned.get("address") or kind.address
        if not _is_http_url_without_user(cleaned["address"]):
            self.add_error("address", "Enter an address that begins with https:// or http://.")
        elif refusal := _private_address_refusal_or_empty(cleaned["address"]):
            self.add_error("address", refusal)
        if kind.rooms and not cleaned.get("room"):
            self.add_error("room", "Enter the channel.")
        if kind.makes_secret:
            cleaned["secret"] = cleaned.get("secret") or standard_webhooks.new_secret()
            try:
                message_signature(cleaned["secret"], "", clock.now(), b"")
            except ChannelError as problem:
                self.add_error("secret", str(problem))
        elif kind.secret_label and not cleaned.get("secret"):
            self.add_error("secret", "Enter the token.")
        if not kind.signing_help:
            cleaned["signing"] = ""
        elif not _is_printable_ascii_without_spaces(cleaned.get("signing", "")):
            self.add_error(
                "signing", "A signing secret has no spaces and only letters, digits and signs of ASCII."
            )
        if not kind.makes_secret and not _is_printable_ascii_without_spaces(cleaned.get("secret", "")):
            # What no header takes would be told with the error.
            self.add_error("secret", "A token has no spaces and only letters, digits and signs of ASCII.")
        return cleaned


def _is_printable_ascii_without_spaces(text: str) -> bool:
    return all("!" <= sign <= "~" for sign in text)


def _is_http_url_without_user(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        return False


def _private_address_refusal_or_empty(url: str) -> str:
    """Return why messages to this URL would be refused, "" where they would not. No name is resolved: what a name leads
    to is known when a message is sent."""
    host = (urlsplit(url).hostname or "").partition("%")[0]
    address = "127.0.0.1" if host == "localhost" else host
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return ""
    guard = Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES))
    if guard.allows_address(host, address):
        return ""
    return f"{host} is a private address: nothing is sent there. {unlisted_address_remedy(address)}"


# Personal settings › Chats: who I am in the chats of my projects.


@sign_in_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account_chats_page(request: SignedInRequest) -> HttpResponse:
    """A POST (`connection`) makes a code, shown on this page and never again."""
    code, chosen = "", request.POST.get("connection", "")
    status = 200
    if request.method == "POST":
        try:
            # PostgreSQL's bigint holds any number of 18 digits
            code = accounts.replace_code_that_links_chat(
                request.user, int(chosen) if chosen.isdecimal() and len(chosen) < 19 else 0
            )
        except NotFound:
            status = 422
    chat_accounts = request.user.chat_accounts.select_related("connection__project__owner")
    return render_in_shell(
        request,
        "account/chats.html",
        section="account",
        trail=breadcrumbs(("Personal settings", reverse("account")), "Chats"),
        status=status,
        connections=accounts.chats_user_could_decide_in(request.user)[:100],
        mine=chat_accounts.order_by("-linked_at")[:100],
        code=code,
        chosen=chosen,
        refused=status == 422,
    )


@sign_in_required
@require_POST
def unlink_account(request: SignedInRequest, account: int) -> HttpResponse:
    try:
        accounts.unlink_own_chat_account(request.user, account)
    except NotFound as problem:
        raise Http404 from problem
    messages.success(request, "Unlinked")
    return redirect("account-chats")
