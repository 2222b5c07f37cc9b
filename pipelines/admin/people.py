"""People in the admin: the one row that is changed there, and what a project shows of its members."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from pipelines.admin.base import ReadOnlyRows
from pipelines.models import Group, Membership, User


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
