"""Who there is, what they may do, and what they sign in with."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from pipelines.admin.base import ReadOnly
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
class OwnerAdmin(admin.ModelAdmin):
    list_display = ("key", "name")
    search_fields = ("key", "name")


@admin.register(Project)
class ProjectAdmin(admin.ModelAdmin):
    list_display = ("__str__", "name")
    list_select_related = ("owner",)
    search_fields = ("key", "name", "owner__key")
    inlines = (MembershipInline, GroupInline)


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):
    list_display = ("project", "user", "roles_display", "execute")
    list_filter = ("execute",)
    list_select_related = ("project__owner", "user")
    autocomplete_fields = ("project", "user")


@admin.register(Group)
class GroupAdmin(admin.ModelAdmin):
    list_display = ("project", "key", "name")
    list_select_related = ("project__owner",)
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
    list_select_related = ("user", "project__owner")
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
    list_select_related = ("user",)
    exclude = ("digest",)


@admin.register(Invitation)
class InvitationAdmin(ReadOnly):
    list_display = ("project", "email", "roles", "created_by", "expires_at", "accepted_by", "revoked_at")
    list_select_related = ("project__owner", "created_by", "accepted_by")
    exclude = ("key",)


@admin.register(AdministrativeAct)
class AdministrativeActAdmin(ReadOnly):
    list_display = ("at", "actor", "kind", "name", "project")
    list_filter = ("kind",)
    list_select_related = ("project__owner",)
    search_fields = ("actor", "about", "name")


@admin.register(HealthBreach)
class HealthBreachAdmin(ReadOnly):
    list_display = ("project", "figure", "of", "since")
