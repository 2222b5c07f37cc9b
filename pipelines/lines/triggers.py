"""Triggers of a line: saved, paused, resumed and deleted, each recorded; and the end of what they log (law §16)."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.views.decorators.debug import sensitive_variables

from pipelines import access
from pipelines.engine.commands import inputs as forms
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.lines import trigger_chains
from pipelines.lines.publishing import LineArchived
from pipelines.models import Line, Trigger, TriggerDelivery, User, WebhookAddress, WebhookSecret
from pipelines.ports import audit, clock, due_notices
from pipelines.ports.vault import keys
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import versions
from pipelines.routing.document.line import Problem
from pipelines.work.hosts import standard_webhooks
from pipelines.work.triggers import mapping
from pipelines.work.triggers.kind import TriggerKind
from pipelines.work.triggers.receiving import MAX_EXAMPLE
from pipelines.work.triggers.signatures import SIGNATURES, STANDARD
from pipelines.work.triggers.table import KINDS

RETENTION, AT_ONCE = timedelta(days=90), 500
MOST = 50
"""Triggers of one line."""
MAX_TITLE = 290
"""Characters: with a date in it a title still fits."""


@dataclass(frozen=True)
class TriggerRequest:
    """Request for a trigger. `options`: of its kind, as typed. `one_at_a_time`: None as its kind begins. `secret`: of a
    new one that is called over HTTP. `example`: what may come with an occasion."""

    options: Mapping[str, Any]
    title: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    one_at_a_time: bool | None = None
    secret: str = field(default="", repr=False)
    example: str = ""


def add_trigger(line: Line, kind: str, request: TriggerRequest, *, by: User) -> Trigger:
    """Raises Forbidden, Invalid with every problem, Conflict (archived, not published, too many)."""
    options, inputs = _checked_options_and_inputs(line, _checked_kind(kind), request, by, is_new=True)
    with transaction.atomic():
        # One after the other, so that the number is right
        locked = Line.objects.select_for_update(of=("self",), no_key=True).get(pk=line.pk)
        if locked.triggers.count() >= MOST:
            raise Conflict(f"A line has at most {MOST} triggers. Delete one first.")
        now = clock.now()
        trigger = Trigger(line=line, kind=kind, created_at=now, changed_at=now, changed_by=by, written_by=by)
        _fill_in_trigger(trigger, options, inputs, request)
        trigger.source = trigger_chains.checked_source_line_or_none(trigger)
        trigger.next_at = KINDS[kind].next_start_after_or_none(options, now)
        trigger.save(force_insert=True)
        if KINDS[kind].has_address:
            create_webhook(trigger, request.secret, by=by, now=now)
            store_example_body_if_storable(trigger, request.example)
        due_notices.announce_due_times_on_commit()
        _record_in_audit("trigger.created", trigger, by, now, after=_audit_fields_of_trigger(trigger))
    return trigger


def change_trigger(trigger: Trigger, request: TriggerRequest, *, by: User) -> Trigger:
    """Change a trigger. From then on its tasks start in the name of who changed it. A paused one stays
    paused. Raises as `add` does."""
    kind = KINDS[trigger.kind]
    options, inputs = _checked_options_and_inputs(trigger.line, kind, request, by)
    with transaction.atomic():
        stored = _lock_trigger(trigger)
        before, previous_request = _audit_fields_of_trigger(stored), _fields_its_author_wrote(stored)
        _fill_in_trigger(stored, options, inputs, request)
        stored.source = trigger_chains.checked_source_line_or_none(stored)
        now = clock.now()
        stored.changed_by, stored.changed_at = by, now
        if _fields_its_author_wrote(stored) != previous_request or not access.is_permitted(
            stored.written_by, "submit", trigger.line.project
        ):
            stored.written_by = by
        # Counted from now: what the old options would have started is not made up for
        stored.next_at = None if stored.paused_at else kind.next_start_after_or_none(options, now)
        stored.save()
        store_example_body_if_storable(stored, request.example)
        due_notices.announce_due_times_on_commit()
        _record_in_audit(
            "trigger.changed", stored, by, now, before=before, after=_audit_fields_of_trigger(stored)
        )
    return stored


def set_paused(trigger: Trigger, paused: bool, *, by: User) -> Trigger:
    """Pause or resume it. A paused one owes nothing: resumed, it waits for its next time. Whoever resumes it changed it
    last. Raises Forbidden, Conflict (an archived line)."""
    access.require_permission(by, "submit", trigger.line.project)
    if not paused:
        _check_open_line(trigger.line)
    with transaction.atomic():
        stored = _lock_trigger(trigger)
        if paused != (stored.paused_at is not None):
            now = clock.now()
            stored.paused_at = now if paused else None
            # A paused one owes nothing: it waits for its next time
            stored.next_at = (
                None if paused else KINDS[stored.kind].next_start_after_or_none(stored.options, now)
            )
            stored.changed_by, stored.changed_at = by, now
            stored.save(update_fields=["paused_at", "next_at", "changed_by", "changed_at"])
            due_notices.announce_due_times_on_commit()
            _record_in_audit("trigger.paused" if paused else "trigger.resumed", stored, by, now)
    return stored


def rotate_trigger_secret(trigger: Trigger, secret: str, *, at_once: bool, by: User) -> None:
    """Change the secret of a trigger that is called over HTTP. Who knows the new one is barred from approving what it
    starts. Raises Forbidden, Invalid, Conflict."""
    access.require_permission(by, "submit", trigger.line.project)
    _check_open_line(trigger.line)
    if not KINDS[trigger.kind].has_address:
        raise Conflict("This trigger has no secret.")
    check_secret_can_sign(secret, trigger.options["signature"])
    with transaction.atomic():
        stored, now = _lock_trigger(trigger), clock.now()
        replace_secret(stored, secret, at_once=at_once, by=by, now=now)
        _record_in_audit("trigger.rotated", stored, by, now, at_once=at_once)


def delete_trigger(trigger: Trigger, *, by: User) -> None:
    """Delete a trigger with its log; the tasks stay. Raises Forbidden."""
    access.require_permission(by, "submit", trigger.line.project)
    with transaction.atomic():
        stored = _lock_trigger(trigger)
        _record_in_audit("trigger.deleted", stored, by, clock.now(), before=_audit_fields_of_trigger(stored))
        stored.delete()


def delete_some_old_deliveries(now: datetime) -> int:
    """Delete some deliveries that are older than RETENTION; how many. Those whose task has not ended stay: it keeps the
    next from starting. Those whose signature has no time in it stay as long as its secret is valid: else whoever has
    one could send it again."""
    # Without a time in its signature a call can be sent again for as long as its secret is valid
    timeless = [key for key in SIGNATURES if key != STANDARD]
    still_valid = WebhookSecret.objects.filter(
        trigger=OuterRef("trigger"),
        trigger__options__signature__in=timeless,
        created_at__lte=OuterRef("at"),
    )
    old = (
        TriggerDelivery.objects.filter(at__lt=now - RETENTION)
        .exclude(task__isnull=False, task__ended_at__isnull=True)
        .exclude(~Q(outcome=TriggerDelivery.TriggerOutcome.REPEATED), Exists(still_valid))
    )
    return TriggerDelivery.objects.filter(pk__in=old.order_by("at").values("pk")[:AT_ONCE]).delete()[0]


def trigger_name(trigger: Trigger) -> str:
    """Name a trigger by what it waits for."""
    return KINDS[trigger.kind].words(trigger.options_with_line_name)


def _checked_kind(key: str) -> TriggerKind:
    if key not in KINDS:
        raise Invalid.at("kind", f"Choose one of: {', '.join(KINDS)}.")
    return KINDS[key]


def _check_open_line(line: Line) -> None:
    if line.archived_at or line.project.archived_at:
        raise LineArchived


def _checked_options_and_inputs(
    line: Line, kind: TriggerKind, request: TriggerRequest, by: User, *, is_new: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options and the inputs as they are stored: of inputs only what was given, so that a default is that of
    the version which is live then."""
    access.require_permission(by, "submit", line.project)
    _check_open_line(line)
    if line.live is None:
        raise Conflict("This line has no published version yet; publish it first.")
    problems: list[Problem] = []
    options: dict[str, Any] = {}
    parsed, reach = (
        versions.parsed_version(line.live),
        ValueScope(line.project.owner_id, line.project_id, line.pk),
    )
    inputs = {key: value for key, value in request.inputs.items() if value not in (None, "")}
    # Given by what comes with an occasion: only their values are not known yet.
    paths = request.options.get("inputs") if kind.is_mapped else None
    mapped = {key for key, path in paths.items() if path} if isinstance(paths, Mapping) else ()
    if len(request.title) > MAX_TITLE or not request.title.isprintable():
        problems.append(Problem("title", f"Enter at most {MAX_TITLE} characters in one line."))
    try:
        options = kind.read(request.options)
        if kind.is_mapped:
            mapping.check_input_paths(options, parsed.inputs)
    except Invalid as fault:
        problems += [replace(problem, path=f"options.{problem.path}") for problem in fault.problems]
    if kind.has_address and is_new:
        try:
            check_secret_can_sign(request.secret, options.get("signature", ""))
        except Invalid as fault:
            problems += fault.problems
    try:
        connected = forms.repositories_inputs_may_name(parsed.inputs, reach)
        fields = [field for field in parsed.inputs if field.key in inputs or field.key not in mapped]
        filled = forms.checked_inputs_with_defaults(fields, inputs, reach, connected=connected)
        problems += forms.unconnected_repository_problems(parsed, filled, connected)
    except Invalid as fault:
        problems += fault.problems
    if problems:
        raise Invalid(problems)
    return options, {key: filled[key] for key in inputs}


def _fill_in_trigger(
    trigger: Trigger, options: dict[str, Any], inputs: dict[str, Any], request: TriggerRequest
) -> None:
    trigger.options, trigger.inputs = options, inputs
    once = request.one_at_a_time
    trigger.title = request.title.strip()
    trigger.one_at_a_time = KINDS[trigger.kind].one_at_a_time if once is None else once


def _fields_its_author_wrote(trigger: Trigger) -> tuple[Any, ...]:
    """Return what a trigger asks for: who changes that wrote it."""
    return trigger.title, trigger.inputs, trigger.options if KINDS[trigger.kind].is_mapped else None


def _lock_trigger(trigger: Trigger) -> Trigger:
    stored = (
        Trigger.objects.select_for_update(of=("self",), no_key=True)
        .select_related("line__project__owner", "line__live", "changed_by", "written_by", "source")
        .filter(pk=trigger.pk)
        .first()
    )
    if stored is None:
        raise NotFound
    return stored


def _audit_fields_of_trigger(trigger: Trigger) -> dict[str, Any]:
    """Return what the audit log says of it: no inputs, which may be long and are not for everybody who reads that."""
    return {**trigger.options, "title": trigger.title, "one_at_a_time": trigger.one_at_a_time}


def _record_in_audit(what: str, trigger: Trigger, by: User, now: datetime, **data: Any) -> None:
    line = trigger.line
    name = f"{line.name}: {trigger_name(trigger)}"
    audit.record_administrative_act(
        what, by=by, at=now, project=line.project, about=f"line:{line.pk}", name=name, **data
    )


# Addresses and secrets of triggers that are called over HTTP: made with the trigger, shown once, rotated (law
# §16).


OVERLAP = timedelta(hours=24)
"""For how long the old secret is valid after a change, so that nothing is lost until its sender has the new one."""
MOST_VALID = 5
SHORTEST_SECRET, LONGEST_SECRET = 16, 200
HINT = 4


@sensitive_variables("secret")
def check_secret_can_sign(secret: str, signature: str) -> None:
    """Raises Invalid: nothing can be signed with it as the sender does."""
    if not SHORTEST_SECRET <= len(secret) <= LONGEST_SECRET or not all("!" <= sign <= "~" for sign in secret):
        message = (
            f"Use {SHORTEST_SECRET} to {LONGEST_SECRET} letters, digits and signs of ASCII, without blanks."
        )
        raise Invalid.at("secret", message)
    if signature == STANDARD or secret.startswith(standard_webhooks.PREFIX):
        try:
            base64.b64decode(secret.removeprefix(standard_webhooks.PREFIX), validate=True)
        except ValueError as error:
            raise Invalid.at("secret", "Enter whsec_ and Base64, as its sender shows it.") from error


@sensitive_variables("secret")
def create_webhook(trigger: Trigger, secret: str, *, by: User, now: datetime) -> None:
    """Give a new trigger its address and its first secret."""
    WebhookAddress.objects.create(trigger=trigger, address=secrets.token_urlsafe(24))
    _store_secret(trigger, secret, by, now)


@sensitive_variables("secret")
def replace_secret(trigger: Trigger, secret: str, *, at_once: bool, by: User, now: datetime) -> None:
    """Store a new secret; the one before it stays valid for OVERLAP, unless it ends `at_once`, with all before it.
    Raises Conflict: too many are valid. The row of the trigger is locked by the caller."""
    trigger.secrets.filter(valid_until__lte=now).delete()
    if at_once:
        trigger.secrets.all().delete()
    elif trigger.secrets.count() >= MOST_VALID:
        raise Conflict("Its secret was changed too often today. Let the old ones end at once, or wait.")
    trigger.secrets.filter(valid_until=None).update(valid_until=now + OVERLAP)
    _store_secret(trigger, secret, by, now)


def store_example_body_if_storable(trigger: Trigger, text: str) -> None:
    """Keep a body that somebody pasted as the example of the form."""
    if text and len(text) <= MAX_EXAMPLE and "\0" not in text:
        WebhookAddress.objects.filter(trigger=trigger).exclude(example=text).update(
            example=text, example_of=""
        )


def _store_secret(trigger: Trigger, secret: str, by: User, now: datetime) -> None:
    WebhookSecret.objects.create(
        trigger=trigger,
        content=keys.encrypt_secret(secret),
        hint=secret[-HINT:],
        created_at=now,
        created_by=by,
    )
