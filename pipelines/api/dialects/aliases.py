"""Other names of addresses that are there already: ALP's live server says `assembly-lines` where its document says
`stages`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.urls import URLPattern, path

CANONICAL, ALIAS = "/stages/<line>/", "/assembly-lines/<line>/"


def alias_routes(operations: Iterable[object]) -> Iterator[URLPattern]:
    for operation in operations:
        route = str(operation.pattern) if isinstance(operation, URLPattern) else ""
        if isinstance(operation, URLPattern) and CANONICAL in route:
            yield path(route.replace(CANONICAL, ALIAS), operation.callback, operation.default_args)
