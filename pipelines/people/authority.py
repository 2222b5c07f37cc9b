"""Authority of an admin over a whole account: to reset its password by a link, deactivate it, activate it
again."""

from __future__ import annotations

from datetime import datetime

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.db import transaction

from pipelines.errors import Forbidden
from pipelines.models import Membership, Role, User
from pipelines.people import accounts
from pipelines.ports import audit


def may_manage(admin: User, user: User) -> bool:
    """An account reaches into every project of its person, so an admin of all of them may act on it, and of one's own
    account nobody else's rule decides. Administrators of the installation answer to each other alone."""
    if admin.pk == user.pk or ((user.is_staff or user.is_superuser) and not admin.is_superuser):
        return False
    of_theirs = set(Membership.objects.filter(user=user).values_list("project_id", flat=True))
    governed = Membership.objects.filter(user=admin, roles__contains=[Role.ADMIN])
    return bool(of_theirs) and of_theirs <= set(governed.values_list("project_id", flat=True))


@transaction.atomic
def create_reset_key(user: User, *, by: User, now: datetime) -> tuple[str, str]:
    """Return the end of a link to set a new password. It works once, and not after the next sign-in or change
    of the mail address. Raises Forbidden, also where a provider alone signs them in."""
    if not may_manage(by, user) or not user.is_active or accounts.signs_in_by_provider(user):
        raise Forbidden
    audit.record("password.link", by=by, at=now, about=audit.ref(user), name=user.username)
    return user_pk_to_url_str(user), default_token_generator.make_token(user)
