"""Additions of installed packages to a table: the entry points of a group.

Anything that one of them raises becomes a `PluginFault`, which is reported to people and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from pipelines.routing.basics.wording import Wording as _

Made = TypeVar("Made")


class PluginFault(Exception):
    """A package that is installed failed; the message names it."""

    def __init__(self, name: str, fault: BaseException) -> None:
        super().__init__(
            _(
                "“%(name)s” of an installed package failed: %(fault)s",
                name=name,
                fault=f"{type(fault).__name__}: {fault}"[:300],
            )
        )

    @property
    def message(self) -> Any:
        return self.args[0]


def wrap_call_with_plugin_fault(name: str, call: Callable[..., Made]) -> Callable[..., Made]:
    """The same call, which raises PluginFault whatever it raises: code of others may raise anything."""

    def call_or_raise_plugin_fault(*arguments: Any) -> Made:
        try:
            return call(*arguments)
        except Exception as fault:
            raise PluginFault(name, fault) from fault

    return call_or_raise_plugin_fault


@cache
def load_plugins_or_faults(group: str) -> tuple[tuple[str, Any], ...]:
    """Names and what they load, in the order of their names; in its place a PluginFault where that failed."""
    # Loaded when it is asked for: it brings mail and sockets along, which a decision needs not.
    entry_points = import_module("importlib.metadata").entry_points
    loaded = []
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            loaded.append((point.name, wrap_call_with_plugin_fault(point.name, point.load)()))
        except PluginFault as fault:
            loaded.append((point.name, fault))
    return tuple(loaded)
