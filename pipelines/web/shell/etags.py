"""Answers that a reader has already: a part of a page whose tag is made of all that it shows."""

from __future__ import annotations

import hashlib
import re

from django.http import HttpRequest, HttpResponse

HERE = "etag-of-this-answer"
"""Stands in an answer where its own tag belongs: the next request sends it back."""
# What the browser counts on by itself, and what is another text in each answer.
_TICKING = re.compile(
    rb"(<time [^>]*data-(?:elapsed|relative)[^>]*>)[^<]*"
    rb'|name="csrfmiddlewaretoken" value="[^"]*"'
    # Bars of a timeline that grow, and its line of the present
    rb'|(?<=class="gantt-now") x1="[^"]*" x2="[^"]*"| width="[^"]*"(?= data-grows=)'
    rb"|&quot;words&quot;: &quot;[^&]*&quot;(?=, &quot;since&quot;: &quot;[^&])"
)


def conditional_response(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return the response with an `ETag`, or 304 if the request already has it. The tag covers the whole text
    except ticking times and CSRF tokens, so the reader's rights are part of it."""
    tag = hashlib.sha256(_TICKING.sub(rb"\1", response.content)).hexdigest()[:32]
    # Inside of the header, which quotes the tag and may mark it as weak.
    if tag in request.headers.get("If-None-Match", ""):
        # Htmx puts the empty body of a 304 into the page unless it is told not to.
        response = HttpResponse(status=304, headers={"HX-Reswap": "none"})
    else:
        response.content = response.content.replace(HERE.encode(), tag.encode(), 1)
    response["ETag"] = f'"{tag}"'
    return response
