"""Actors of events as names: `person:7` is whom the reader knows, not a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.models import ApiToken, User, Worker


@dataclass(frozen=True, slots=True)
class ActorLabel:
    """`kind`: person, machine, worker or engine; each has its icon."""

    kind: str
    name: str


ENGINE = ActorLabel("engine", "Gateline")


def label_by_actor(actors: Iterable[str]) -> dict[str, ActorLabel]:
    """Return the names of actors with one query per kind of actor, however many events there are."""
    actors = set(actors)
    requested = set(actors)
    ids_by_kind: dict[str, set[str]] = {}
    for actor in requested:
        kind, _, ident = actor.partition(":")
        ids_by_kind.setdefault(kind, set()).add(ident)
    names_by_actor = {"engine": ENGINE, "engine:": ENGINE}
    people = User.objects.filter(pk__in=_numeric_ids(ids_by_kind.get("person", ())))
    names_by_actor |= {f"person:{user.pk}": ActorLabel("person", str(user)) for user in people}
    # An actor is a text of the event: what is no number names no row
    tokens = ApiToken.objects.filter(pk__in=_numeric_ids(ids_by_kind.get("machine", ())))
    names_by_actor |= {f"machine:{token.pk}": ActorLabel("machine", token.name) for token in tokens}
    workers = Worker.objects.filter(pk__in=ids_by_kind.get("worker", ()))
    names_by_actor |= {f"worker:{worker.pk}": ActorLabel("worker", worker.name) for worker in workers}
    return {actor: names_by_actor.get(actor, _unknown_actor(actor)) for actor in requested}


def _numeric_ids(idents: Iterable[str]) -> list[int]:
    return [int(ident) for ident in idents if ident.isascii() and ident.isdigit()]


def _unknown_actor(actor: str) -> ActorLabel:
    kind, _, ident = actor.partition(":")
    return ActorLabel(kind if kind in {"person", "machine", "worker"} else "engine", ident or kind)
