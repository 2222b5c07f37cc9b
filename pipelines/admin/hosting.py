"""Repositories, and the hosts of code beside them."""

from __future__ import annotations

from django.contrib import admin

from pipelines.admin.base import ReadOnlyAdmin
from pipelines.models import (
    AllowedFolder,
    Delivery,
    HookReceipt,
    HostLink,
    HostNotice,
    IssueTrigger,
    Repository,
    RepositoryProtection,
    VisitCommit,
)


@admin.register(Repository)
class RepositoryAdmin(ReadOnlyAdmin):
    list_display = ("name", "project", "address", "default_branch", "pushing", "tested_at")
    search_fields = ("name", "address")


@admin.register(AllowedFolder)
class AllowedFolderAdmin(ReadOnlyAdmin):
    list_display = ("owner", "path", "origin", "allowed_by", "allowed_at")


@admin.register(RepositoryProtection)
class RepositoryProtectionAdmin(ReadOnlyAdmin):
    list_display = ("place", "owner", "project", "rules")


@admin.register(VisitCommit)
class VisitCommitAdmin(ReadOnlyAdmin):
    list_display = ("task", "repository_name", "branch", "base", "head", "tree", "created_at")


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ("task", "repository_name", "to", "branch", "tree", "commit", "cleared_at", "landed_at")


@admin.register(IssueTrigger)
class IssueTriggerAdmin(ReadOnlyAdmin):
    list_display = ("repository", "on", "value", "line", "made_by", "created_at")


@admin.register(HostLink)
class HostLinkAdmin(ReadOnlyAdmin):
    list_display = ("task", "kind", "number", "repository", "url")


@admin.register(HookReceipt)
class HookReceiptAdmin(ReadOnlyAdmin):
    list_display = ("repository", "at", "said", "task")


@admin.register(HostNotice)
class HostNoticeAdmin(ReadOnlyAdmin):
    list_display = ("link", "about", "state", "error", "created_at", "sent_at")
