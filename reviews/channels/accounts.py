"""Linking an account of a chat to a person: by a code that they get while signed in and say there, once (law §15)."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from pipelines import access
from pipelines.errors import first_row_or_raise_not_found
from pipelines.models import User
from pipelines.ports import audit
from reviews.models import ChannelConnection, ChatAccount, ChatCode

VALID = timedelta(minutes=10)


def chats_user_could_decide_in(user: User) -> QuerySet[ChannelConnection]:
    """Chats in which this person could decide: of their projects, with a signing secret."""
    enabled = ChannelConnection.objects.exclude(signing="").filter(enabled=True)
    visible = enabled.filter(project__in=access.visible_projects_with_owner(user).order_by())
    return visible.select_related("project__owner").order_by("project__owner__key", "project__key", "name")


def replace_code_that_links_chat(user: User, connection: int) -> str:
    """Create a code that links a chat account; the previous one is void. Raises NotFound."""
    stored_connection = first_row_or_raise_not_found(chats_user_could_decide_in(user).filter(pk=connection))
    code = secrets.token_urlsafe(12)
    ChatCode.objects.update_or_create(
        connection=stored_connection,
        user=user,
        # The digest alone: whoever reads the table can link no account
        defaults={"digest": _code_digest(code), "expires_at": Now() + VALID},
    )
    return code


@sensitive_variables("code")
def link_account_by_valid_code_or_none(
    connection: ChannelConnection, code: str, workspace: str, account: str
) -> User | None:
    """Link the chat account that sent this code to the person who created it; None if the code is not valid. An
    account that was linked to somebody else changes hands."""
    with transaction.atomic():
        # Locked: of two calls with the same code only one finds it
        codes = ChatCode.objects.select_for_update(of=("self",)).select_related("user")
        link_code = codes.filter(
            connection=connection, digest=_code_digest(code), expires_at__gt=Now()
        ).first()
        if (
            link_code is None
            or not chats_user_could_decide_in(link_code.user).filter(pk=connection.pk).exists()
        ):
            return None
        # Said once it is void, whatever follows
        link_code.delete()
        if not link_code.user.is_active:
            return None
        ChatAccount.objects.update_or_create(
            connection=connection,
            workspace=workspace,
            account=account,
            defaults={"user": link_code.user, "linked_at": Now()},
        )
        _record_chat_account_in_audit("chat.linked", link_code.user, connection, account)
    return link_code.user


def unlink_own_chat_account(user: User, pk: int) -> None:
    """Raises NotFound."""
    with transaction.atomic():
        chat_account = first_row_or_raise_not_found(
            ChatAccount.objects.select_related("connection__project").filter(user=user, pk=pk)
        )
        _record_chat_account_in_audit("chat.unlinked", user, chat_account.connection, chat_account.account)
        chat_account.delete()


def linked_user_or_none(connection: ChannelConnection, workspace: str, account: str) -> User | None:
    accounts = ChatAccount.objects.select_related("user").filter(
        connection=connection, workspace=workspace, account=account
    )
    return next((chat_account.user for chat_account in accounts), None)


def _record_chat_account_in_audit(kind: str, user: User, connection: ChannelConnection, account: str) -> None:
    audit.record_administrative_act(
        kind,
        by=user,
        at=timezone.now(),
        project=connection.project,
        about=f"channel:{connection.pk}",
        name=f"{connection.name}: {account}",
    )


def _code_digest(code: str) -> str:
    # A plain hash will do: the code is random, and void after ten minutes
    return hashlib.sha256(code.encode()).hexdigest()
