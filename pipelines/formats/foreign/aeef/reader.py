"""AEEF: the ways of its state machine, out of transitions, or out of the records of what went (E1…E30). The preset is
`aeef`. Records name no alternatives, so a line of them has the ways that they took, which is said."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from pipelines.formats.foreign.aeef.contracts import contract_instructions
from pipelines.formats.foreign.aeef.transitions import REWORK, ROLLBACK, StateTransition, state_transitions
from pipelines.formats.foreign.import_notes import ImportNotes, Json, key_slug, objects_in_list, unread_parts
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.preconditions import METADATA, STANDARD_REQUIREMENTS

PRESET: Final = "aeef"
OWNERS: Final = {
    "INTAKE": "orchestrator",
    "REQUIREMENTS": "product-agent",
    "DESIGN": "architect-agent",
    "IMPLEMENTATION": "developer-agent",
    "TESTING": "qa-agent",
    "SECURITY": "security-agent",
    "DEPLOYMENT": "platform-agent",
    "OPERATIONS": "ops-agent",
}
"""The states in their order, each with the first of its owners (E2)."""
SECONDS: Final = {
    "scrum-agent": "REQUIREMENTS",
    "devmgr-agent": "TESTING",
    "compliance-agent": "SECURITY",
    "executive-agent": "OPERATIONS",
}
"""The second owners of states, as the table of AEEF names them (E2)."""
ORDER: Final = tuple(OWNERS)
REWORKS: Final = {"REQ": "REQUIREMENTS", "DESIGN": "DESIGN", "IMPL": "IMPLEMENTATION", "TEST": "TESTING",
                  "SEC": "SECURITY", "DEPLOY": "DEPLOYMENT"}  # fmt: skip
ENDS: Final = {"DEPLOYED": "completed", "ROLLED_BACK": "failed", "CANCELLED": "cancelled"}
FOLLOW_UPS: Final = {("DEPLOYED", "INTAKE"): "feedback", ("ROLLED_BACK", "INTAKE"): "always"}
"""Ways out of ends: each starts a new item (E13)."""
PASSED: Final = ("pass", "passed", "passing", "present", True)
"""How a requirement says that something has to be so."""
HANDED_OVER: Final = ("handoff_artifact", "handoff", "audit_record")
READ_OF_MACHINE: Final = ("id", "name", "description", "transitions", "transition", "from", "to")
RECORDED: Final = ("stage_history", "event_id", "agent_id", "contract_version")
PARTS: Final = (
    "transition",
    "transitions",
    "stage_history",
    "events",
    "work_items",
    "contract_version",
    "agents",
)


NO_LINES: Final = {
    "handoff_id": "this is a handoff of AEEF, and no line",
    "criteria_results": "this is the result of a gate of AEEF, and no line",
    "$id": "this is a schema of AEEF, and no line",
    "provenance": "this is a record of AEEF of how a change was made, and no line",
}


def document_fault_or_none(document: Any) -> Problem | None:
    """Return why neither states nor agents can be read from the document: a handoff, a gate's result, a
    schema, or a part of one."""
    parts = document if isinstance(document, list) else [document]
    if any(isinstance(part, Mapping) and any(name in part for name in PARTS) for part in parts):
        return None
    names = document.keys() if isinstance(document, Mapping) else ()
    what = next((NO_LINES[key] for key in NO_LINES if key in names), "this is a part of a document of AEEF")
    return Problem("", what, "a line is read from transitions, events, work items and contracts of agents")


def read_machine(document: Any, import_notes: ImportNotes) -> Json:
    """Read any of its documents, or a list of them."""
    ways: list[StateTransition] = []
    contracts: list[tuple[str, Mapping[str, Any]]] = []
    owners: dict[str, str] = {}
    head: Json = {}
    for place, part in (
        [("", document)] if isinstance(document, Mapping) else objects_in_list(import_notes, document, "")
    ):
        ways += state_transitions(part, place, import_notes, owners)
        contracts += _agent_contracts(part, place, import_notes)
        head = head or {key: part[key] for key in ("id", "name", "description") if part.get(key)}
    identities = [str(contract["agent_id"]) for _place, contract in contracts]
    for identity in identities:
        owned = next((state for state, owner in OWNERS.items() if owner == identity), identity)
        # Beside the first owner of its state the second has no station of its own.
        if OWNERS.get(SECONDS.get(identity, "")) not in identities:
            owners.setdefault(owned, identity)
    if contracts and not ways:
        import_notes.note_loss(
            "", "contracts do not say which agent follows which: here the order of AEEF's stages"
        )
        ways = [StateTransition("", *pair) for pair in pairwise(_states_of_owners(owners))]
    states = _ordered_states(ways) or _states_of_owners(owners)
    if not any(state not in ENDS for state in states) and not import_notes.faults:
        import_notes.note_fault("", "names no state in which anything is done")
    return _line_document(head, states, ways, contracts, owners, import_notes, document)


def _agent_contracts(
    part: Mapping[str, Any], place: str, import_notes: ImportNotes
) -> list[tuple[str, Mapping[str, Any]]]:
    if "agent_id" in part and "stage_history" not in part:
        contracts = [(place, part)]
    else:
        contracts = objects_in_list(
            import_notes, part.get("agents"), f"{place}.agents" if place else "agents"
        )
    for at, contract in contracts:
        identity = contract.get("agent_id")
        if not isinstance(identity, str) or not identity:
            import_notes.note_fault(f"{at}.agent_id".lstrip("."), "is missing")
        else:
            import_notes.note_loss(
                at,
                _(
                    "%(agent)s is named at its station, and its contract is told to who works there: whoever"
                    " administers the project registers it under Agents, with a person who answers for it",
                    agent=identity[:80],
                ),
            )
    return [(at, contract) for at, contract in contracts if isinstance(contract.get("agent_id"), str)]


def _ordered_states(ways: list[StateTransition]) -> list[str]:
    """Reworks first, so that the way there leads back; then those of the machine in its order; then others as they
    come."""
    states = list(dict.fromkeys(state for way in ways for state in (way.source, way.target)))
    known = {state: place for place, state in enumerate(ORDER)}

    def state_sort_key(state: str) -> int:
        # Before their stages: a rule to a station that stands earlier leads back
        if state.startswith(REWORK) or state == ROLLBACK:
            return -1
        return known.get(state, len(ORDER))

    return sorted(states, key=state_sort_key)


def _states_of_owners(owners: Mapping[str, str]) -> list[str]:
    """Stations of agents of whom nothing says how they follow: in the order of the machine."""
    return sorted(owners, key=lambda state: ORDER.index(state) if state in ORDER else len(ORDER))


def _line_document(
    head: Mapping[str, Any],
    states: list[str],
    ways: list[StateTransition],
    contracts: list[tuple[str, Mapping[str, Any]]],
    owners: Mapping[str, str],
    import_notes: ImportNotes,
    document: Any,
) -> Json:
    keys = {state: import_notes.claim_key(state, "state") for state in states}
    gates: dict[str, Json] = {}
    stations = []
    of_agent = {str(agent_contract["agent_id"]): agent_contract for _at, agent_contract in contracts}
    ways_by_source: dict[str, list[StateTransition]] = {}
    for way in ways:
        ways_by_source.setdefault(way.source, []).append(way)
    for state in states:
        if state not in ENDS:
            own = ways_by_source.get(state, [])
            second = next((key for key, owned in SECONDS.items() if owned == state and key in of_agent), "")
            first = owners.get(state) or ""
            agents = {"agent": first, "second_agent": second if second != first else ""}
            contract = "\n".join(
                contract_instructions(of_agent[key]) for key in agents.values() if key in of_agent
            )
            stations.append(_station_document(state, own, keys, agents, contract, gates, import_notes))
    for way in ways:
        if way.source in ENDS and (way.source, way.target) not in FOLLOW_UPS:
            import_notes.note_loss(
                way.place, _("%(state)s is an end: what follows it is a new task", state=way.source)
            )
    pairs = [(way.source, way.target) for way in ways]
    follow_ups = {
        source: FOLLOW_UPS[source, target] for source, target in pairs if (source, target) in FOLLOW_UPS
    }
    name = str(head.get("name") or head.get("id") or "AEEF")
    start = next((keys[state] for state in states if state in ORDER), stations[0]["key"] if stations else "")
    return {
        "gateline": 1,
        "key": key_slug(head.get("id") or name, "aeef"),
        "name": name,
        **({"description": str(head["description"])} if head.get("description") else {}),
        "preset": PRESET,
        **({"start": start} if start else {}),
        "stations": stations,
        **({"gates": list(gates.values())} if gates else {}),
        **(
            {"ends": ends}
            if (
                ends := [
                    {
                        "key": keys[state],
                        "kind": kind,
                        "label": state,
                        **({"follow_up": mode} if (mode := follow_ups.get(state)) else {}),
                    }
                    for state, kind in ENDS.items()
                    if state in keys
                ]
            )
            else {}
        ),
        **_unread_records(document),
    }


def _unread_records(document: Any) -> Json:
    """Records as they were, of which an export writes each again; of a list of transitions what was not read."""
    if isinstance(document, Mapping) and not is_single_work_record(document):
        return unread_parts(document, READ_OF_MACHINE)
    return {"extra": {"records": [document] if isinstance(document, Mapping) else document}}


def is_single_work_record(part: Mapping[str, Any]) -> bool:
    """A work item, an event or a contract by itself, and no document that has several of them."""
    moved = part.get("transition")
    return any(name in part for name in RECORDED) or (isinstance(moved, Mapping) and "from_state" in moved)


def _station_document(
    state: str,
    own: list[StateTransition],
    keys: Mapping[str, str],
    agents: Mapping[str, str],
    instructions: str,
    gates: dict[str, Json],
    import_notes: ImportNotes,
) -> Json:
    key = keys[state]
    of_stage = keys.get(REWORKS.get(state.removeprefix(REWORK), "")) if state.startswith(REWORK) else None
    gate, metadata = _add_gate_and_required_metadata(state, own, gates)
    rules: list[Json] = []
    written: set[str] = set()
    for way in own:
        rule = _rule_document(way, key, keys, import_notes)
        meaning = jsontext.dumps([rule["when"], rule["to"]])
        if meaning not in written:
            rules.append(rule)
        written.add(meaning)
    if not own:
        # Nothing says what follows.
        to = "@origin" if state.startswith(REWORK) else "completed"
        ends_as = keys.get("ROLLED_BACK", "failed") if state == ROLLBACK else to
        rule = {
            "id": import_notes.claim_rule_id(f"{key}-done", "rule"),
            "when": {"verdict": "pass"},
            "to": ends_as,
        }
        rules.append(rule)
        if to == "completed":
            import_notes.note_loss("", _("nothing leads on from %(state)s: the line ends there", state=state))
    return {
        "key": key,
        "name": state,
        **({"stage": of_stage} if of_stage else {}),
        **{field: agent for field, agent in agents.items() if agent},
        "work": {"kind": "manual", **({"instructions": instructions} if instructions.strip() else {})},
        **({"gate": gate} if gate else {}),
        **({"requires": [*STANDARD_REQUIREMENTS, *metadata]} if metadata else {}),
        "rules": rules,
    }


def _rule_document(
    way: StateTransition, key: str, keys: Mapping[str, str], import_notes: ImportNotes
) -> Json:
    verdict: Json = {"verdict": "pass" if way.is_forward else "fail"}
    when: Json = {"all": [verdict, {"failure_type": way.failure}]} if way.failure else verdict
    to = way.target
    back = way.source.startswith(REWORK) and REWORKS.get(way.source.removeprefix(REWORK)) == to
    extra = {**way.extra, **({"requires": dict(way.requires)} if way.requires else {})}
    return {
        "id": import_notes.claim_rule_id(way.name or f"{key}-to-{keys[to]}", "rule"),
        "when": when,
        # The stage whose gate failed, whichever it was (E12).
        "to": "@origin" if back else keys[to],
        **({"max_retries": way.most} if way.most is not None else {}),
        **({"extra": extra} if extra else {}),
    }


def _add_gate_and_required_metadata(
    state: str, own: list[StateTransition], gates: dict[str, Json]
) -> tuple[str, list[str]]:
    """The gate of the station, of all that its forward transitions require, and the metadata that a move needs."""
    number, checks, metadata = "", [], []
    for way in own:
        for name, requirement in way.requires.items() if way.is_forward else ():
            if name.startswith("gate_") and name.endswith("_passed"):
                number = number or name.removesuffix("_passed")
            elif name == "ai_metadata" and isinstance(requirement, list):
                metadata += [
                    f"{METADATA}{field_name}"
                    for field_name in requirement
                    if isinstance(field_name, str) and field_name.strip()
                ]
            elif name not in HANDED_OVER:
                checks.append(_check_document(name, requirement))
    metadata = list(dict.fromkeys(metadata))
    if not number and not checks:
        return "", metadata
    key = key_slug(number or f"gate-of-{state}", "gate")
    while key in gates:
        key = f"{key}-{key_slug(state, 'gate')}"
    once = list({jsontext.dumps(check): check for check in checks}.values())
    label = number.replace("_", " ").capitalize() if number else f"Gate of {state}"
    # With checks they decide; of criteria that nothing states, a person.
    how: Json = {"mode": "auto", "checks": {"all": once}} if once else {"mode": "manual"}
    gates[key] = {"key": key, "name": label, **how}
    return key, metadata


def _check_document(name: str, requirement: Any) -> Json:
    passed = any(
        # `is` for true alone: to Python 1 equals True, and 1 is another requirement.
        requirement is passing_value or (isinstance(requirement, str) and requirement == passing_value)
        for passing_value in PASSED
    )
    test: Json = (
        {"operator": "in", "value": list(PASSED)} if passed else {"operator": "equals", "value": requirement}
    )
    return {"field": f"output.{name}", **test, "severity": "required", "action": "rework", "label": name}
