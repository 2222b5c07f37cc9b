from django.contrib import admin
from django.http import HttpRequest

from reviews.models import Mail


@admin.register(Mail)
class MailAdmin(admin.ModelAdmin):
    """The outbox, read-only: only moves and the queue write its rows."""

    list_display = ["visit", "address", "kind", "state", "created_at", "sent_at"]
    list_filter = ["state", "kind"]
    search_fields = ["address"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Mail | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Mail | None = None) -> bool:
        return False
