"""Every address of the product: each app brings its own, this file says where they hang."""

from importlib.util import find_spec

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [path("admin/", admin.site.urls)]
if find_spec("pipelines.views") and find_spec("pipelines.views.health"):
    from pipelines.views.health import healthz

    urlpatterns += [path("healthz", healthz, name="healthz")]
if find_spec("pipelines.api"):
    from pipelines.api import api

    urlpatterns += [path("api/", api.urls)]
for name in ("reviews.urls", "pipelines.views.urls"):
    if find_spec(name.rpartition(".")[0]) and find_spec(name):
        urlpatterns.append(path("", include(name)))

handler400 = "pipelines.views.errors.bad_request"
handler403 = "pipelines.views.errors.forbidden"
handler404 = "pipelines.views.errors.not_found"
handler500 = "pipelines.views.errors.server_error"
