"""Every address of the product: each app brings its own, this file says where they hang."""

from django.contrib import admin
from django.urls import include, path

from config.metrics import metrics_response
from pipelines.api import api
from pipelines.api.dialects.aliases import alias_routes
from pipelines.web.shell.healthz import site_or_process_health_response
from reviews.api import router as gates
from reviews.channels.api import router as chats
from reviews.inbox.api import router as needs
from reviews.review.api import router as shown
from reviews.review.attending_api import router as attending
from reviews.review.bulk_api import router as several

# Gates are decided in `reviews`, under the addresses of the tasks that they hold; so is the list of what needs whom.
api.add_router("", gates)
api.add_router("", needs)
api.add_router("", shown)
api.add_router("", attending)
api.add_router("", several)
api.add_router("", chats)

# Version 1, and the same operations without a version: the addresses of the dialects, and what was there before it.
operations, app_name, version = api.urls
operations = [*operations, *alias_routes(operations)]
# Patterns are tried in their order, and nobody asks as often as runners do.
operations.sort(key=lambda pattern: not str(pattern.pattern).startswith("runner/"))

urlpatterns = [
    path("healthz", site_or_process_health_response, name="healthz"),
    path("metrics", metrics_response, name="metrics"),
    path("admin/", admin.site.urls),
    path("api/v1/", (operations, app_name, version)),
    path("api/", include((operations, app_name), namespace="api-unversioned")),
    path("", include("reviews.urls")),
    path("", include("pipelines.web.urls")),
]

handler400 = "pipelines.web.shell.errors.bad_request"
handler403 = "pipelines.web.shell.errors.forbidden_page"
handler404 = "pipelines.web.shell.errors.not_found"
handler500 = "pipelines.web.shell.errors.server_error"
# Asked for by django-allauth beyond its limits.
handler429 = "pipelines.web.shell.errors.rate_limited"
