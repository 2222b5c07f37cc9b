"""A line back as its complete document: policy knobs filled, durations in seconds; reads back as an equal line.

What is empty or at its default is left out, except where the document of a version should say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pipelines.routing.document.checks import Check, Group
from pipelines.routing.document.inputs import INPUT

if TYPE_CHECKING:
    from pipelines.routing.document.budgets import Budget
    from pipelines.routing.document.model import (
        Compose,
        Due,
        End,
        Gate,
        Join,
        Limits,
        Line,
        Rule,
        Station,
    )


def line_document(line: Line) -> dict[str, Any]:
    document = {
        "gateline": 1,
        "key": line.key,
        "name": line.name,
        **_given(description=line.description),
        "preset": line.preset,
        "policy": line.policy.to_document(),
        "flags": dict(line.flags),
        "start": line.start,
        "inputs": [INPUT.write(each) for each in line.inputs],
        "stations": [_station(each) for each in line.stations],
        "gates": [_gate(each) for each in line.gates],
        "ends": [_end(each) for each in line.ends],
    }
    pairs = [list(pair) for pair in line.forbidden_parallel]
    budgets = [budget_document(budget) for budget in line.budgets]
    escalations = [each.to_document() for each in line.escalations]
    more = _given(forbidden_parallel=pairs, budgets=budgets, escalations=escalations)
    return {**document, **more, **_schema(line.handoff), **_given(extra=dict(line.extra))}


def budget_document(budget: Budget) -> dict[str, Any]:
    """As a line declares it."""
    exhausted = budget.on_exhausted if budget.exhausted_to is None else {"to": budget.exhausted_to}
    return {
        "key": budget.key,
        "kind": budget.kind,
        **_given(
            rules=list(budget.rules),
            edges=list(budget.edges),
            stations=list(budget.stations),
            failure_types=list(budget.failure_types),
        ),
        "most": "none" if budget.most is None else budget.most,
        **_given(on_exhausted=exhausted, role=budget.role, label=budget.label, extra=dict(budget.extra)),
    }


def _schema(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """An empty one says something: that anything may be handed over."""
    return {} if schema is None else {"handoff": dict(schema)}


def _given(**members: Any) -> dict[str, Any]:
    """Members that say something: not None, not empty, not False (0 does)."""
    return {k: v for k, v in members.items() if v is not None and v is not False and v not in ("", [], {})}


def _station(station: Station) -> dict[str, Any]:
    return {
        "key": station.key,
        "name": station.name,
        "work": _plain(station.work),
        **_given(output_keys=list(station.output_keys)),
        "result_document": station.result_document,
        **_given(
            limits=_limits(station.limits),
            labels=list(station.labels),
            resources=dict(station.resources),
            gate=station.gate,
            join=_join(station.join),
            stage=station.stage,
            agent=station.agent,
        ),
        **({} if station.requires is None else {"requires": list(station.requires)}),
        **_schema(station.handoff),
        "rules": [_rule(each) for each in station.rules],
        **_given(extra=dict(station.extra)),
    }


def _limits(limits: Limits) -> dict[str, Any]:
    return _given(
        idle_timeout=limits.idle_timeout,
        max_timeout=limits.max_timeout,
        expected=limits.expected,
        max_visits=limits.max_visits,
        max_retries=limits.max_retries,
    )


def _join(join: Join | None) -> dict[str, Any] | None:
    return None if join is None else {"wait_for": list(join.wait_for), "aggregation": join.aggregation}


def _rule(rule: Rule) -> dict[str, Any]:
    exhausted = rule.on_exhausted if rule.exhausted_to is None else {"to": rule.exhausted_to}
    revisit = {} if rule.allow_revisit is None else {"allow_revisit": rule.allow_revisit}
    return {
        "id": rule.id,
        **_given(label=rule.label),
        **_plain(rule.source),
        **_given(max_retries=rule.max_retries, max_visits=rule.max_visits),
        **revisit,
        **_given(
            on_exhausted=exhausted,
            feedback=rule.feedback,
            compose=[_compose(each) for each in rule.compose],
            extra=dict(rule.extra),
        ),
    }


def _compose(compose: Compose) -> dict[str, Any]:
    path = compose.path.text if compose.path else None
    return {"var": compose.var, **_given(path=path, strategy=compose.strategy)}


def _gate(gate: Gate) -> dict[str, Any]:
    approval = gate.approval
    return {
        "key": gate.key,
        "name": gate.name,
        **_given(description=gate.description),
        "mode": gate.mode,
        "requires_approval": gate.requires_approval,
        **_given(
            checks=_group(gate.checks) if gate.checks else None,
            tool=_plain(gate.tool.to_document()) if gate.tool else None,
        ),
        "approval": {
            "who": [{each.kind: each.name, "count": each.count} for each in approval.who],
            "requester_may": approval.requester_may,
            "producer_may": approval.producer_may,
            "reason_required": approval.reason_required,
            "max_rounds": approval.max_rounds,
        },
        "offers": list(gate.offers),
        **_given(
            on_reject=gate.on_reject, due=_due(gate.due), notify=list(gate.notify), extra=dict(gate.extra)
        ),
    }


def _due(due: Due | None) -> dict[str, Any] | None:
    return None if due is None else {"after": due.after, "then": due.then}


def _group(group: Group) -> dict[str, Any]:
    return {group.kind: [_member(each) for each in group.members]}


def _member(member: Check | Group) -> dict[str, Any]:
    if isinstance(member, Group):
        return _group(member)
    value = {} if member.operator == "exists" else {"value": member.value}
    return {
        "field": member.field,
        "operator": member.operator,
        **value,
        "severity": member.severity,
        "action": member.action,
        **_given(label=member.label),
    }


def _end(end: End) -> dict[str, Any]:
    return {"key": end.key, "kind": end.kind, **_given(label=end.label, extra=dict(end.extra))}


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    return dict(value)
