"""The way back of somebody whose session ended: the page on which they were."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def is_part(request: HttpRequest) -> bool:
    """Tell that a script of a page asked, and not the browser."""
    return request.headers.get("HX-Request") == "true"


def is_link(request: HttpRequest) -> bool:
    """Tell that the person goes to this address; else something was sent, or a part of their page was asked for."""
    return request.method == "GET" and (request.headers.get("HX-Boosted") == "true" or not is_part(request))


def way_back(request: HttpRequest) -> str:
    """The address that was asked for, or that of the page from which something was; "" where the browser does not
    tell it, or it is another site's."""
    if is_link(request):
        return request.get_full_path()
    page = request.headers.get("HX-Current-URL") or request.headers.get("Referer") or ""
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure()):
        return ""
    parts = urlsplit(page)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    # A path of this site that begins with two slashes names another one, where it stands alone.
    return path if url_has_allowed_host_and_scheme(path, None) else ""
