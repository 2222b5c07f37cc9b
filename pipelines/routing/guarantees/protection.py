"""Protection of a repository (law §14): what has to be approved by whom before anything is delivered there, stated
outside of the lines that deliver. Proved of a line before it runs, and counted in votes when a task delivers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.routing.analysis.lint.guarantee_findings import PROVED, REFUTED, UNKNOWN
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined_wording
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.guarantees import Guarantee, NeverReached
from pipelines.routing.document.kinds.deliver import KIND, MERGE, REQUEST
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.guarantees.guarantee_proofs import (
    GuaranteeAnswer,
    prove_guarantees,
    proved_flags,
)
from pipelines.routing.sentences.part_names import station_part_name as station_named

ADMIN, OWNER = "admin", "owner"
MOST_APPROVALS: Final = 20


@dataclass(frozen=True)
class Protection:
    """`approvals`: how many people have to approve; `groups`: keys, of each of which somebody has to; `gates`: keys of
    those at which somebody has to. Whoever requested or produced the change never counts. `changed_by`: `admin` of the
    project, or of the `owner`: of all its projects. `four_eyes`: two people publish a line that delivers there."""

    approvals: int = 0
    groups: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    changed_by: str = ADMIN
    four_eyes: bool = False

    def __bool__(self) -> bool:
        return self.requires_approval or self.four_eyes

    @property
    def requires_approval(self) -> bool:
        """Say whether anybody has to approve what is delivered."""
        return bool(self.approvals or self.groups or self.gates)

    @property
    def min_approvers(self) -> int:
        """People who have to approve at least."""
        return max(self.approvals, int(self.requires_approval))

    def __or__(self, other: Protection) -> Protection:
        """Ask for everything that either asks for."""
        return Protection(
            max(self.approvals, other.approvals),
            tuple(sorted({*self.groups, *other.groups})),
            tuple(sorted({*self.gates, *other.gates})),
            OWNER if OWNER in (self.changed_by, other.changed_by) else ADMIN,
            self.four_eyes or other.four_eyes,
        )

    def to_dict(self) -> dict[str, Any]:
        lists = {"groups": list(self.groups), "gates": list(self.gates)}
        words = {"four_eyes": self.four_eyes, "changed_by": self.changed_by}
        return {"approvals": self.approvals, **lists, **words}

    @classmethod
    def from_dict(cls, rules: Mapping[str, Any], changed_by: str = ADMIN) -> Protection:
        return cls(
            rules.get("approvals", 0),
            tuple(rules.get("groups", ())),
            tuple(rules.get("gates", ())),
            changed_by,
            bool(rules.get("four_eyes", False)),
        )


# Counted when a task delivers


@dataclass(frozen=True)
class ExactApproval:
    """A vote that approved exactly the files that are delivered. `people`: ids of all in whose place it stands, the
    voter's among them; `seat`: whose place it takes."""

    gate: str
    voter: int
    seat: int
    people: frozenset[int]
    groups: frozenset[str]


def missing_approvals(
    protection: Protection,
    approvals: Iterable[ExactApproval],
    barred: Collection[int],
    *,
    anonymous: bool,
) -> list[Any]:
    """Return what is missing for the protection, as sentences; empty where it is satisfied. `barred`: ids of
    who requested or produced the change. `anonymous`: one of those people is unknown and may be among the
    approvers, so one more approval is needed."""
    if not protection.requires_approval:
        return []
    # Neither the voter nor anybody in whose place the vote stands may be barred (law §14).
    counted = [vote for vote in approvals if vote.people.isdisjoint(barred)]
    lacking: list[Any] = []
    # One more, since one of those who approve may be the one who is not known (law §14).
    needed, there = protection.min_approvers + int(anonymous), _count_distinct_people(counted)
    if there < needed:
        lacking.append(_("%(there)s of %(needed)s approvals", there=there, needed=needed))
    for group in protection.groups:
        if _count_distinct_people([vote for vote in counted if group in vote.groups]) < 1 + int(anonymous):
            lacking.append(_("an approval of the group %(group)s", group=group))
    passed = {vote.gate for vote in counted}
    lacking += [
        _("an approval at the gate %(gate)s", gate=key) for key in protection.gates if key not in passed
    ]
    return lacking


def _count_distinct_people(votes: Collection[ExactApproval]) -> int:
    """Nobody counts twice, neither as a voter nor as somebody in whose place others vote."""
    return min(len({vote.voter for vote in votes}), len({vote.seat for vote in votes}))


# Proved of a line


def protection_answers(
    subject: LintSubject, repository: str, protection: Protection
) -> tuple[GuaranteeAnswer, ...]:
    """Return the guarantees of the repository's protection, answered for every station that merges or pushes."""
    if not protection.requires_approval:
        return ()
    places = [
        _ProtectedStation(subject, repository, station)
        for station in subject.line.stations
        if does_station_deliver_change(station)
    ]
    return tuple(answer for place in places for answer in place.answers(protection))


def does_station_deliver_change(station: Station) -> bool:
    """Say whether it brings a change to where it counts: a request is only shown."""
    return station.kind == KIND.key and str(station.work.get("to") or MERGE) != REQUEST


def line_delivers(line: ParsedLine) -> bool:
    return any(map(does_station_deliver_change, line.stations))


class _ProtectedStation:
    def __init__(self, subject: LintSubject, repository: str, station: Station) -> None:
        self.subject, self.line, self.station = subject, subject.line, station
        self.because = _("the protection of %(repository)s asks for it", repository=repository)
        self.names = {"place": station_named(self.line, station.key), "repository": repository}
        # A guarantee whose gate is called as a station is one about the station.
        gates = [gate for gate in self.line.gates if gate.key not in self.line.stations_by_key]
        passed = proved_flags(subject, tuple(map(self._passing_guarantee, (gate.key for gate in gates))))
        self.before = [gate for gate, proved in zip(gates, passed, strict=True) if proved]

    def answers(self, protection: Protection) -> Iterator[GuaranteeAnswer]:
        yield self._answer_whether_enough_approve(protection.min_approvers)
        for group in protection.groups:
            promise = _(
                "Nothing reaches %(place)s without an approval of the group %(group)s",
                **self.names,
                group=group,
            )
            proved = any(
                need.kind == "group" and need.lookup_key == group
                for gate in self.before
                if independent_approver_count(gate)
                for need in gate.approval.who
            )
            broken = _("no gate on every way there asks the group %(group)s", group=group)
            yield self._answer(f"group-{group}", promise, PROVED if proved else REFUTED, broken)
        for key in protection.gates:
            promise = _(
                "Nothing reaches %(place)s without an approval at the gate %(gate)s", **self.names, gate=key
            )
            gate = self.line.gates_by_key.get(key)
            if gate is None:
                broken = _("the line has no gate %(gate)s", gate=key)
                yield self._answer(f"gate-{key}", promise, REFUTED, broken)
            elif gate in self.before and independent_approver_count(gate):
                yield self._answer(f"gate-{key}", promise, PROVED)
            else:
                yield self._answer_for_bypass(f"gate-{key}", promise, gate)

    def _answer_whether_enough_approve(self, needed: int) -> GuaranteeAnswer:
        promise = (
            _(
                "Nothing reaches %(place)s without an approval by others than requester and producers",
                **self.names,
            )
            if needed == 1
            else _(
                "Nothing reaches %(place)s without %(needed)s approvals by others than requester and producers",
                **self.names,
                needed=needed,
            )
        )
        votes = [independent_approver_count(gate) for gate in self.before]
        # By one gate: votes at several may all be of the same person.
        if max(votes, default=0) >= needed:
            return self._answer("approvals", promise, PROVED)
        if sum(votes) >= needed:
            broken = "one person may approve at several gates"
            return replace(self._answer("approvals", promise, UNKNOWN), because=broken)
        gate = self.line.gates_by_key.get(str(self.station.work.get("gate") or ""))
        if gate is not None and gate not in self.before:
            return self._answer_for_bypass("approvals", promise, gate)
        return self._answer("approvals", promise, REFUTED, self._why_too_few_approvals(votes))

    def _why_too_few_approvals(self, votes: Collection[int]) -> Any:
        if not self.before:
            return "no gate is on every way there"
        parts = [
            _("%(gate)s asks for %(votes)s", gate=gate.name, votes=number)
            if number
            else _("%(gate)s may pass without any", gate=gate.name)
            for gate, number in zip(self.before, votes, strict=True)
        ]
        return _("of such people, %(parts)s", parts=joined_wording(parts, ", "))

    def _answer_for_bypass(self, about: str, promise: Any, gate: Gate) -> GuaranteeAnswer:
        """Search a way that leads there around the gate."""
        if gate in self.before:
            broken = _("%(gate)s does not ask others than requester and producers", gate=gate.name)
            return self._answer(about, promise, REFUTED, broken)
        [answer] = prove_guarantees(self.line, self.subject, (self._passing_guarantee(gate.key, about),))
        return replace(answer, sentence=promise)

    def _passing_guarantee(self, gate: str, about: str = "") -> Guarantee:
        return Guarantee(f"protection-{self.station.key}-{about}", NeverReached(self.station.key, gate))

    def _answer(self, about: str, promise: Any, answer: str, broken: Any = "") -> GuaranteeAnswer:
        """`broken`: what breaks a refuted one."""
        gate = str(self.station.work.get("gate") or "")
        because = "" if answer == REFUTED else self.because
        return GuaranteeAnswer(self._passing_guarantee(gate, about), promise, answer, because, path=broken)


def independent_approver_count(gate: Gate) -> int:
    """Count the people whom a gate asks every time, and of whom none requested or produced anything."""
    approval = gate.approval
    lenient = approval.requester_may or approval.producer_may
    return approval.min_votes if gate.always_asks and not lenient else 0
