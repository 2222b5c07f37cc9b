"""Other names of addresses that are there already: ALP's live server says `assembly-lines` where its document says
`stages`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.urls import URLPattern, path

NAMED, ALIAS = "/stages/<line>/", "/assembly-lines/<line>/"


def aliases(operations: Iterable[object]) -> Iterator[URLPattern]:
    for each in operations:
        route = str(each.pattern) if isinstance(each, URLPattern) else ""
        if isinstance(each, URLPattern) and NAMED in route:
            yield path(route.replace(NAMED, ALIAS), each.callback, each.default_args)
