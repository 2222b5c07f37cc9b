"""Branches and joins of a task that is migrated: their names in the other version, and the joins that it completes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipelines.engine.core.batch import Batch
from pipelines.models import Task, Token
from pipelines.queries.branches import living_branches
from pipelines.routing.analysis import migration_impact
from pipelines.routing.analysis.migration_impact import MigrationEffect
from pipelines.routing.decide.branch_joins.branches import Branch, Fork
from pipelines.routing.decide.branch_joins.join_decision import Merge, first_decidable_merge_or_none
from pipelines.routing.document.line import ParsedLine


def rename_forked_stations(
    batch: Batch, task: Task, line: ParsedLine, mapping: Mapping[str, str]
) -> list[Token]:
    """Rename the stations of forked tokens to their keys in `line`. Returns the tokens whose row changed."""
    changed = []
    for token in batch.living_tokens(task):
        if not token.forked:
            continue
        station = _mapped_or_same_station_key(line, mapping, token.station)
        to = [_mapped_or_same_station_key(line, mapping, key) for key in token.wait.get("to", ())]
        if (station, to) != (token.station, token.wait.get("to", [])):
            token.station, token.wait = station, {**token.wait, "to": to}
            batch.mark_token_changed(token)
            changed.append(token)
    return changed


def station_keys_of_forked_tokens(batch: Batch, task: Task) -> dict[str, dict[str, Any]]:
    """Return by their ids how the forked tokens are named now, for `undo_migration_of_tasks`."""
    return {
        str(token.pk): {"station": token.station, "to": list(token.wait.get("to", ()))}
        for token in batch.living_tokens(task)
        if token.forked
    }


def restore_station_keys_of_forked_tokens(
    batch: Batch, task: Task, names: Mapping[str, Mapping[str, Any]]
) -> list[Token]:
    """The forked tokens under the names that they had; those whose row changed. No mapping tells them: what two
    stations were mapped to has two names before it."""
    changed = []
    for token in batch.living_tokens(task):
        had = names.get(str(token.pk))
        if had and (had["station"], had["to"]) != (token.station, token.wait.get("to", [])):
            token.station, token.wait = had["station"], {**token.wait, "to": had["to"]}
            batch.mark_token_changed(token)
            changed.append(token)
    return changed


def rename_station_of_arrival_and_tell_if_changed(
    line: ParsedLine, mapping: Mapping[str, str], token: Token
) -> bool:
    """Rename the station that a waiting token came from to its key in `line`. Returns whether the row changed."""
    join = token.wait.get("join")
    if not join:
        return False
    source = _mapped_or_same_station_key(line, mapping, join["from"])
    token.wait = {**token.wait, "join": {**join, "from": source}}
    return bool(source != join["from"])


def _mapped_or_same_station_key(line: ParsedLine, mapping: Mapping[str, str], key: str) -> str:
    return migration_impact.mapped_station_key_or_none(line, mapping, key) or key


def effects_changed_by_joins(
    living: Sequence[Token], effects: list[MigrationEffect], line: ParsedLine, mapping: Mapping[str, str]
) -> list[MigrationEffect]:
    """Return the effects, changed where the other version makes a join complete at once."""
    at = {effect.token: effect for effect in effects}
    branches = [
        b
        for branch in living_branches(living)
        for b in _branches_after_effect(branch, at[branch.id], line, mapping)
    ]
    # One merge may make the next one possible, as in a move
    while True:
        merge = first_decidable_merge_or_none(line, branches)
        if merge is None:
            return [at[effect.token] for effect in effects]
        station = line.stations_by_key[merge.station]
        status = migration_impact.initial_job_status(station)
        for token in merge.arrived:
            if token in at:
                at[token] = replace(
                    at[token], effect=migration_impact.MOVES, to=(merge.station,), status=status
                )
        branches = [
            *(branch for branch in branches if branch.id not in merge.arrived),
            _merged_branch(branches, merge),
        ]


def _branches_after_effect(
    branch: Branch, effect: MigrationEffect, line: ParsedLine, mapping: Mapping[str, str]
) -> Iterable[Branch]:
    """Yield the branch where it is after its own effect: at one station, at several, or at none."""
    within = tuple(
        Fork(
            fork.id,
            _mapped_or_same_station_key(line, mapping, fork.station),
            tuple(_mapped_or_same_station_key(line, mapping, key) for key in fork.to),
        )
        for fork in branch.within
    )
    arrival = branch.arrival
    if arrival:
        arrival = replace(arrival, source=_mapped_or_same_station_key(line, mapping, arrival.source))
    places = effect.to if effect.effect == migration_impact.MOVES and effect.to else (effect.station,)
    for place in places:
        if place in line.stations_by_key:
            yield replace(branch, station=place, within=within, arrival=arrival)


def _merged_branch(branches: Sequence[Branch], merge: Merge) -> Branch:
    first = next(branch for branch in branches if branch.id == merge.arrived[0])
    outer = first.within[: first.within.index(merge.fork)] if merge.fork else ()
    # Negative, since no token is there yet: this only foresees.
    return Branch(-first.id, merge.station, outer)
