"""Admin of people, what they may do, and what they sign in with."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from pipelines.admin.base import ReadOnlyAdmin, ReadOnlyRows
from pipelines.models import (
    AdministrativeAct,
    ApiToken,
    Group,
    HealthBreach,
    Invitation,
    Membership,
    Owner,
    Project,
    SignInLink,
    StoredValue,
    User,
)


@admin.register(User)
class PersonAdmin(UserAdmin):
    readonly_fields = ("is_active",)
    """Deactivating ends sessions, tokens and invitations, and hands agents on: the page of a member does, or the
    command `deactivate_person`."""
    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        ("Screen", {"fields": ("theme", "density", "time_zone", "letter_shortcuts")}),
    )


class MembershipInline(ReadOnlyRows, admin.TabularInline):
    model = Membership
    extra = 0


class GroupInline(ReadOnlyRows, admin.TabularInline):
    model = Group
    extra = 0


@admin.register(Owner)
class OwnerAdmin(ReadOnlyAdmin):
    list_display = ("key", "name")
    search_fields = ("key", "name")


@admin.register(Project)
class ProjectAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "name")
    search_fields = ("key", "name", "owner__key")
    inlines = (MembershipInline, GroupInline)


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    list_display = ("project", "user", "roles_display", "execute")
    list_filter = ("execute",)


@admin.register(Group)
class GroupAdmin(ReadOnlyAdmin):
    list_display = ("project", "key", "name")
    search_fields = ("key", "name")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "kind",
        "user",
        "project",
        "role",
        "prefix",
        "expires_at",
        "last_used_at",
        "revoked_at",
    )
    list_filter = ("kind", "role")
    exclude = ("digest",)


@admin.register(StoredValue)
class StoredValueAdmin(ReadOnlyAdmin):
    """List of the stored values; neither a value nor what a secret is encrypted to."""

    list_display = ("name", "kind", "owner", "project", "line", "changed_by", "changed_at", "last_used_at")
    list_filter = ("kind",)
    exclude = ("content",)


@admin.register(SignInLink)
class SignInLinkAdmin(ReadOnlyAdmin):
    list_display = ("user", "created_at", "expires_at", "used_at")
    exclude = ("digest",)


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ("project", "email", "roles", "created_by", "expires_at", "accepted_by", "revoked_at")
    exclude = ("key",)


@admin.register(AdministrativeAct)
class AdministrativeActAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor", "kind", "name", "project")
    list_filter = ("kind",)
    search_fields = ("actor", "about", "name")


@admin.register(HealthBreach)
class HealthBreachAdmin(ReadOnlyAdmin):
    list_display = ("project", "figure", "of", "since")
