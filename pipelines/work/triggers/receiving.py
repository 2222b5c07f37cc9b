"""Calls of webhooks: who signed them, and the one transaction in which they are received and start their task (law
§16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Q
from django.views.decorators.debug import sensitive_variables

from pipelines.engine.core.transaction import run_in_transaction
from pipelines.errors import Invalid, Refused
from pipelines.models import UNKNOWN, Membership, Trigger, TriggerDelivery, WebhookAddress, WebhookSecret
from pipelines.ports import clock
from pipelines.ports.vault import keys
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.transport.local.pushes import find_people
from pipelines.work.triggers import host_events, mapping
from pipelines.work.triggers.kind import Occasion
from pipelines.work.triggers.signatures import SIGNATURES, Signature
from pipelines.work.triggers.starting import RELATED, Outcome, start_unless_delivered

MAX_BODY = 1024 * 1024
MAX_EXAMPLE = 64 * 1024
"""Characters of the last body that are kept, so that a form can show what its paths find."""
MINUTE = timedelta(minutes=1)
Headers = Mapping[str, str]


class UnsignedCall(Refused):
    """Answered alike where there is no such address, so that nobody learns which there are."""

    says = "The signature is missing, wrong or older than five minutes. Compare the secret."


class OverLimit(Refused):
    """`seconds`: after which there is room again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"This webhook is called more than {settings.WEBHOOKS_PER_MINUTE} times a minute.")
        self.seconds = seconds


@dataclass(frozen=True)
class _Call:
    """A signed call. `fault`: why the body cannot be read."""

    key: str
    text: str
    document: Any
    fault: str
    signature: Signature
    signed_with: WebhookSecret


def receive_call(address: str, headers: Headers, body: bytes) -> TriggerDelivery:
    """Receive a call and start its task. `headers`: their names in small letters. Raises UnsignedCall, OverLimit."""
    # No address has other signs, and the database takes no NUL.
    known = WebhookAddress.objects.filter(address=address if address.isprintable() else "")
    webhook = known.select_related("trigger").first()
    if webhook is None:
        raise UnsignedCall
    call = _signed_call_or_none(webhook.trigger, headers, body)
    if call is None:
        run_in_transaction(partial(_note_unsigned, webhook.trigger_id))
        raise UnsignedCall
    return run_in_transaction(partial(_start_from_call, webhook.trigger_id, call))


@sensitive_variables("secret")
def _signed_call_or_none(trigger: Trigger, headers: Headers, body: bytes) -> _Call | None:
    """Return what was called with; None where no secret of the trigger that is valid signed it."""
    signature = SIGNATURES[trigger.options["signature"]]
    valid = trigger.secrets.filter(Q(valid_until=None) | Q(valid_until__gt=clock.now()))
    for row in valid.order_by("-pk"):
        try:
            secret = keys.decrypt_secret(row.content)
        except keys.SecretUnreadable:
            continue
        # Before it is read: what is signed are the bytes as they came.
        if signature.is_signed(headers, body, secret):
            text = body.decode(errors="replace")
            document, fault = mapping.parsed_body_and_fault(text)
            return _Call(signature.name_of(headers, body, secret), text, document, fault, signature, row)
    return None


def _start_from_call(trigger_id: int, call: _Call) -> TriggerDelivery:
    trigger = _lock_trigger(trigger_id)
    moment = clock.now()
    _refuse_over_rate(trigger, moment)
    title_at = moment.astimezone(ZoneInfo(trigger.line.project.time_zone))
    refusal = (
        "The trigger is paused." if trigger.paused_at else _sentence_on_command_of_stranger(trigger, call)
    )
    requesters = tuple(_possible_requesters(trigger, call))
    occasion = Occasion(
        call.key, title_at, refusal, call.fault, document=call.document, requesters=requesters
    )
    delivery = start_unless_delivered(trigger, occasion, moment)
    if not call.fault and len(call.text) <= MAX_EXAMPLE and "\0" not in call.text:
        WebhookAddress.objects.filter(pk=trigger_id).update(example=call.text, example_of=call.key)
    return delivery


def _sentence_on_command_of_stranger(trigger: Trigger, call: _Call) -> str:
    """Say that a comment is by nobody who is known here, or "": anybody may comment, and only members give orders."""
    event = host_events.read_event_or_none(call.signature.key, call.document)
    if (
        trigger.options.get("event") != host_events.COMMENT
        or event is None
        or event.key != host_events.COMMENT
    ):
        return ""
    people = find_people([event.author] if event.author else [], [])
    if Membership.objects.filter(project=trigger.line.project_id, user__in=people).exists():
        return ""
    author = escaped_for_storage(event.author)
    return f"{author or 'Whoever commented'} is no member of this project by this user name."


def _note_unsigned(trigger_id: int) -> None:
    """Log that somebody called without a right signature, once a minute: anybody may do so."""
    trigger = _lock_trigger(trigger_id)
    moment = clock.now()
    key = f"unsigned {moment:%Y-%m-%dT%H:%MZ}"
    values = {"at": moment, "outcome": Outcome.FAILED, "detail": UnsignedCall.says}
    trigger.deliveries.get_or_create(key=key, defaults=values)


def _lock_trigger(trigger_id: int) -> Trigger:
    """house §2: the row of the trigger is locked before the number counter and any task."""
    locked = Trigger.objects.select_for_update(of=("self",), no_key=True).select_related(*RELATED)
    trigger = locked.filter(pk=trigger_id).first()
    if trigger is None:
        raise UnsignedCall
    return trigger


def _refuse_over_rate(trigger: Trigger, moment: datetime) -> None:
    most: int = settings.WEBHOOKS_PER_MINUTE
    latest = trigger.deliveries.order_by("-pk").values_list("at", flat=True)[most - 1 : most] if most else ()
    for at in latest:
        if at > moment - MINUTE:
            raise OverLimit((at + MINUTE - moment).total_seconds())


def _possible_requesters(trigger: Trigger, call: _Call) -> list[str]:
    """List who may have asked for it: whoever knows the secret as the one who made it, and whom the call names. Where
    it names people and none of them is a member, or the host keeps back who wrote it, nobody knows (law §15)."""
    barred = [f"person:{call.signed_with.created_by_id}"]
    try:
        people_texts = mapping.mapped_people(trigger.options, call.document)
    except Invalid:
        people_texts = []
    logins, addresses, are_all = (
        list(people_texts),
        list(people_texts),
        bool(people_texts) or not trigger.options["requester"],
    )
    if call.signature.senders is not None:
        senders = call.signature.senders(call.document)
        logins += filter(None, senders.logins)
        addresses += filter(None, senders.addresses)
        are_all = are_all and senders.are_all
    elif not trigger.options["requester"]:
        return barred
    people = find_people(logins, addresses)
    is_known = Membership.objects.filter(project=trigger.line.project_id, user__in=people).exists()
    return [*barred, *(f"person:{pk}" for pk in sorted(people)), *([] if is_known and are_all else [UNKNOWN])]
