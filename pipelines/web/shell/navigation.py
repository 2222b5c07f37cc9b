"""The way a request was made (a link, or htmx of a page), and the page to return to after signing in again."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def is_htmx_request(request: HttpRequest) -> bool:
    """Return whether htmx sent the request for a part of a page."""
    return request.headers.get("HX-Request") == "true"


def is_navigation(request: HttpRequest) -> bool:
    """Return whether the person navigates to this address, rather than sending a form or loading a part of a
    page."""
    return request.method == "GET" and (
        request.headers.get("HX-Boosted") == "true" or not is_htmx_request(request)
    )


def return_path(request: HttpRequest) -> str:
    """The address that was asked for, or that of the page from which something was; "" where the browser does not
    tell it, or it is another site's."""
    if is_navigation(request):
        return request.get_full_path()
    page = request.headers.get("HX-Current-URL") or request.headers.get("Referer") or ""
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure()):
        return ""
    parts = urlsplit(page)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    # A path of this site that begins with two slashes names another one, where it stands alone.
    return path if url_has_allowed_host_and_scheme(path, None) else ""
