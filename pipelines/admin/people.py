"""Who there is, what they may do, and what they sign in with."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from pipelines.admin.base import ListAdmin, ReadOnly
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
    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        ("Screen", {"fields": ("theme", "density", "time_zone", "letter_shortcuts")}),
    )


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


class GroupInline(admin.TabularInline):
    model = Group
    extra = 0
    autocomplete_fields = ("members",)


@admin.register(Owner)
class OwnerAdmin(ListAdmin):
    list_display = ("key", "name")
    search_fields = ("key", "name")


@admin.register(Project)
class ProjectAdmin(ListAdmin):
    list_display = ("__str__", "name")
    search_fields = ("key", "name", "owner__key")
    inlines = (MembershipInline, GroupInline)


@admin.register(Membership)
class MembershipAdmin(ListAdmin):
    list_display = ("project", "user", "roles_display", "execute")
    list_filter = ("execute",)
    autocomplete_fields = ("project", "user")


@admin.register(Group)
class GroupAdmin(ListAdmin):
    list_display = ("project", "key", "name")
    autocomplete_fields = ("project", "members")
    search_fields = ("key", "name")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly):
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
class StoredValueAdmin(ReadOnly):
    """Which there are; neither a value nor what a secret is encrypted to."""

    list_display = ("name", "kind", "owner", "project", "line", "changed_by", "changed_at", "last_used_at")
    list_filter = ("kind",)
    exclude = ("content",)


@admin.register(SignInLink)
class SignInLinkAdmin(ReadOnly):
    list_display = ("user", "created_at", "expires_at", "used_at")
    exclude = ("digest",)


@admin.register(Invitation)
class InvitationAdmin(ReadOnly):
    list_display = ("project", "email", "roles", "created_by", "expires_at", "accepted_by", "revoked_at")
    exclude = ("key",)


@admin.register(AdministrativeAct)
class AdministrativeActAdmin(ReadOnly):
    list_display = ("at", "actor", "kind", "name", "project")
    list_filter = ("kind",)
    search_fields = ("actor", "about", "name")


@admin.register(HealthBreach)
class HealthBreachAdmin(ReadOnly):
    list_display = ("project", "figure", "of", "since")
