"""Impact of migrating on one position of a running task: the law of LineVersion (law §1), without a database.

The engine's migration does what `migration_effect` says, by the same values: an impact that was shown is what then
happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Ask, DecisionAnswer, Escalate, Finish, Move, Stuck, Wait
from pipelines.routing.decide.effects import stay_of_decision
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.kinds import is_unattended
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import ORIGIN
from pipelines.routing.document.stations import Station

STAYS, MOVES, AGAIN, STUCK = "stays", "moves", "approve_again", "stuck"
EFFECTS = (STUCK, AGAIN, MOVES, STAYS)
"""What becomes of a position, the worst first. `stuck` is: stuck, blocked or held where it was not."""

GONE = "StationGone"


@dataclass(frozen=True, slots=True)
class MigratingPosition:
    """A living token. `work`: "" at rest, "queued" with a job that nobody has begun, "running" with one that somebody
    works on. `judge`: the version that judged, or will judge, what it did last.

    `mapping`: where the judge's stations are since an earlier migration. `there`: the judge is the new version already.
    `situation` and `answer`: of the decision by which it rests, with the counts of this moment; None without one.
    `against`: it rests because of a person's word other than approve. `voted`: somebody voted at a gate that is open;
    `approved`: gates that were asked together with the open ones and have their approval."""

    token: int
    station: str
    status: str
    judge: ParsedLine
    work: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    there: bool = False
    situation: Mapping[str, Any] | None = None
    answer: Mapping[str, Any] | None = None
    error: str = ""
    against: bool = False
    voted: bool = False
    approved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MigrationEffect:
    """Effect of migrating one position. `how` it is done: keep (judged on by its version until its next
    move), pin (its job starts under the new version), carry (a new job at another station), still (nothing
    was decided yet), again (decided again), there (nothing to do), ended (with the whole task, by another
    branch), refuse (a mapping is missing).

    `station`: where it then stands; `to`: where it goes on to; `needs`: the station that a mapping has to
    name; `next_gone`: stations that it may go to next and that the new version does not have.
    """

    token: int
    effect: str
    how: str
    station: str
    status: str
    to: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    error: str = ""
    needs: str = ""
    next_gone: tuple[str, ...] = ()
    decision: DecisionAnswer | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the decision."""
        return {
            "token": self.token,
            "effect": self.effect,
            "how": self.how,
            "station": self.station,
            "status": self.status,
            "to": list(self.to),
            "gates": list(self.gates),
            "error": self.error,
            "needs": self.needs,
            "next_gone": list(self.next_gone),
        }


def migration_effect(
    position: MigratingPosition, line: ParsedLine, mapping: Mapping[str, str]
) -> MigrationEffect:
    """Return what migrating to `line` does to this position. `mapping`: {old station: new station}."""
    mapping = compose_mappings(position.mapping, mapping)
    place = mapped_station_key_or_none(line, mapping, position.station)
    if place is None:
        return _missing_station_effect(position)
    if position.there and place == position.station:
        return MigrationEffect(position.token, STAYS, "there", place, position.status, error=position.error)
    # law §1: a working token goes over at its next move. A word other than approve stands.
    if position.work == "running" or position.against:
        return _keep_version_effect(position, line, mapping)
    if position.work == "queued":
        how, effect = ("pin", STAYS) if place == position.station else ("carry", MOVES)
        status = position.status if position.status == "held" else initial_job_status(line.station(place))
        return MigrationEffect(
            position.token, effect, how, place, status, to=() if effect == STAYS else (place,)
        )
    if position.situation is None:
        return MigrationEffect(position.token, STAYS, "still", place, position.status, error=position.error)
    return _redecided_effect(position, line, mapping, place)


def compose_mappings(before: Mapping[str, str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Combine one mapping after another: from the stations of the first version to those of the last."""
    return {**mapping, **{old: mapping.get(new, new) for old, new in before.items()}}


def mapped_station_key_or_none(line: ParsedLine, mapping: Mapping[str, str], key: str) -> str | None:
    """Return the key of a station in `line`; None if it is gone."""
    key = mapping.get(key, key)
    return key if key in line.stations_by_key else None


def remapped_situation(
    situation: Mapping[str, Any], line: ParsedLine, mapping: Mapping[str, str]
) -> dict[str, Any]:
    """The recorded situation as `line` reads it: its station under its name there, and no gate passed yet: a word was
    said about what one version asked (law §6)."""
    facts = {key: value for key, value in situation["facts"].items() if key != "gates"}
    origin = facts.get("origin")
    facts["origin"] = (mapped_station_key_or_none(line, mapping, origin) or origin) if origin else None
    station = mapped_station_key_or_none(line, mapping, situation["station"])
    return {**situation, "station": station, "facts": facts}


def _missing_station_effect(position: MigratingPosition) -> MigrationEffect:
    return MigrationEffect(
        position.token,
        STUCK,
        "refuse",
        position.station,
        position.status,
        error=GONE,
        needs=position.mapping.get(position.station, position.station),
    )


def _keep_version_effect(
    position: MigratingPosition, line: ParsedLine, mapping: Mapping[str, str]
) -> MigrationEffect:
    """Return the effect on a position whose own version judges on until its next move. Stations that this move
    may lead to, and that are gone then, are named."""
    targets = next_stations(position.judge, position.station)
    gone = tuple(key for key in targets if mapped_station_key_or_none(line, mapping, key) is None)
    effect = AGAIN if position.voted else STAYS
    gate_keys = (
        tuple((position.answer or {}).get("gates") or ()) if position.status == "awaiting_review" else ()
    )
    gates = tuple(key for key in gate_keys if key not in position.approved)
    return MigrationEffect(
        position.token,
        effect,
        "keep",
        position.station,
        position.status,
        gates=gates,
        error=position.error,
        next_gone=gone,
    )


def next_stations(line: ParsedLine, key: str) -> tuple[str, ...]:
    """Return the stations that a job of this station may lead to next by rules and policy, in the order of
    the line."""
    station = line.stations_by_key.get(key)
    if station is None:
        return ()
    targets = {target for rule in station.rules for target in rule.to if target != ORIGIN}
    targets |= {rule.exhausted_to for rule in station.rules if rule.exhausted_to}
    # station:<key>; by its other values `on_failure` names no station.
    targets |= {knob.removeprefix("station:") for knob in (line.policy.on_failure,) if ":" in str(knob)}
    after = line.next_station_or_none(key)
    if after and (line.policy.no_rules if not station.rules else line.policy.no_match) in (
        "advance",
        "default",
    ):
        targets.add(after.key)
    return tuple(candidate.key for candidate in line.stations if candidate.key in targets)


def initial_job_status(station: Station) -> str:
    """Return the status with which a job begins: what no worker does runs at once (law §1, Job)."""
    return "running" if is_unattended(station) else "queued"


def _redecided_effect(
    position: MigratingPosition, line: ParsedLine, mapping: Mapping[str, str], place: str
) -> MigrationEffect:
    assert position.situation is not None
    answer = decide(line, read_situation(remapped_situation(position.situation, line, mapping)))
    if isinstance(answer, Move):
        # Each branch of a fork has a status of its own.
        status = initial_job_status(line.station(answer.to[0])) if len(answer.to) == 1 else ""
        return _redecision_effect(position, MOVES, place, status, answer, to=answer.to)
    if isinstance(answer, Finish):
        return _redecision_effect(
            position, MOVES, place, answer.end_kind, answer, to=(answer.end,), error=answer.error or ""
        )
    if isinstance(answer, Wait) and answer.status == "awaiting_review":
        effect = STAYS if _is_same_question(position, answer, line, mapping) else AGAIN
        return _redecision_effect(
            position, effect, place, answer.status, answer, to=answer.to, gates=answer.gates
        )
    return _stopped_effect(position, place, answer)


def _stopped_effect(
    position: MigratingPosition, place: str, answer: Wait | Ask | Escalate | Stuck
) -> MigrationEffect:
    where = stay_of_decision(answer)
    same = (where.status, where.error) == (position.status, position.error)
    return _redecision_effect(
        position, STAYS if same else STUCK, place, where.status, answer, error=where.error
    )


def _is_same_question(
    position: MigratingPosition, answer: Wait, line: ParsedLine, mapping: Mapping[str, str]
) -> bool:
    """The same gates before the same targets, and nobody has said a word yet that would be lost."""
    previous_answer = position.answer or {}
    before = [
        mapped_station_key_or_none(line, mapping, key) or key for key in previous_answer.get("to") or ()
    ]
    same = (list(previous_answer.get("gates") or ()), before) == (list(answer.gates), list(answer.to))
    lost = position.voted or position.approved
    return same and position.status == "awaiting_review" and not lost


def _redecision_effect(
    position: MigratingPosition, effect: str, place: str, status: str, answer: DecisionAnswer, **more: Any
) -> MigrationEffect:
    return MigrationEffect(position.token, effect, "again", place, status, decision=answer, **more)
