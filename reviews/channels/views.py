"""Settings › Channels: the chats and webhooks that are told of reviews, a test of each, and what could not be sent."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.models import Project
from pipelines.ports import audit
from pipelines.ports.queue import enqueue
from pipelines.ports.queue_tasks import CHANNELS, SEND_CHANNEL_MESSAGE
from pipelines.ports.vault import keys
from pipelines.web.shell.page import SignedInRequest, project_breadcrumb, project_required, show
from reviews.channels.channel import ChannelError, ChannelKind
from reviews.channels.forms import ChannelForm
from reviews.channels.interactions import request_address
from reviews.channels.message_delivery import deliver, test_message
from reviews.channels.table import BY_KEY, KINDS
from reviews.models import ChannelConnection, ChannelMessage

LETTERS = 20
"""Messages that could not be sent, as the page lists them; the newest."""


@dataclass(frozen=True)
class ChannelRow:
    connection: ChannelConnection
    kind: ChannelKind

    @property
    def request_address(self) -> str:
        """Address to which the chat sends its buttons; empty where it may decide nothing."""
        return request_address(self.connection) if self.connection.signing else ""


@project_required("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: SignedInRequest, project: Project) -> HttpResponse:
    form = ChannelForm(project, request.POST or None)
    made, shown_once, status = None, "", 200
    if request.method == "POST" and not form.is_valid():
        status = 422
    elif request.method == "POST":
        fields = form.cleaned_data
        secret, signing = fields.pop("secret"), fields.pop("signing")
        with transaction.atomic():
            made = ChannelConnection.objects.create(
                project=project,
                secret=keys.encrypt(secret) if secret else "",
                signing=keys.encrypt(signing) if signing else "",
                created_at=timezone.now(),
                created_by=request.user,
                **fields,
            )
            _record(request, "channel.connected", made)
        if not BY_KEY[made.kind].makes_secret or request.POST.get("secret"):
            messages.success(request, "Connected. Send a test to see that it works.")
            return _back(project)
        # On the page itself: a message would go before anybody could copy it.
        shown_once, form = secret, ChannelForm(project)
    chosen = request.POST if status == 422 else request.GET
    connections = list(project.channels.order_by("name"))
    letters = ChannelMessage.objects.filter(
        connection__in=connections, state=ChannelMessage.State.FAILED
    ).select_related("connection", "visit__task__project")
    return show(
        request,
        "reviews/channels.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Channels"),
        status=status,
        form=form,
        kinds=KINDS,
        kind=BY_KEY.get(chosen.get("kind", ""), KINDS[0]),
        connected=made,
        shown_once=shown_once,
        rows=[ChannelRow(connection, BY_KEY[connection.kind]) for connection in connections],
        letters=letters.order_by("-created_at")[:LETTERS],
    )


@project_required("admin")
@require_POST
def test(request: SignedInRequest, project: Project, channel: int) -> HttpResponse:
    """Sent at once, so that the answer of the server is on the page."""
    connection = _get_connection(project, channel)
    message = ChannelMessage(
        connection=connection, kind=ChannelMessage.MessageKind.TEST, created_at=timezone.now()
    )
    try:
        deliver(connection, test_message(message))
    except ChannelError as problem:
        messages.error(request, f"Not sent. {problem}")
    else:
        messages.success(request, f"Test sent to {connection.name}")
    return _back(project)


@project_required("admin")
@require_POST
def remove(request: SignedInRequest, project: Project, channel: int) -> HttpResponse:
    connection = _get_connection(project, channel)
    with transaction.atomic():
        _record(request, "channel.disconnected", connection)
        connection.delete()
    messages.success(request, "Disconnected")
    return _back(project)


@project_required("admin")
@require_POST
def resend(request: SignedInRequest, project: Project, message: int) -> HttpResponse:
    """Send a message that could not be sent."""
    failed = ChannelMessage.objects.filter(
        pk=message, connection__project=project, state=ChannelMessage.State.FAILED
    )
    with transaction.atomic():
        if not failed.update(state=ChannelMessage.State.QUEUED, error=""):
            raise Http404
        enqueue(SEND_CHANNEL_MESSAGE, CHANNELS, {"message_id": message})
    messages.success(request, "Sending it again")
    return _back(project)


def _get_connection(project: Project, channel: int) -> ChannelConnection:
    return get_object_or_404(ChannelConnection.objects.filter(project=project, pk=channel))


def _record(request: SignedInRequest, kind: str, connection: ChannelConnection) -> None:
    audit.record(
        kind,
        by=request.user,
        at=timezone.now(),
        project=connection.project,
        about=f"channel:{connection.pk}",
        name=f"{connection.name} ({BY_KEY[connection.kind].label})",
    )


def _back(project: Project) -> HttpResponse:
    return redirect("project-channels", project.owner.key, project.key)
