"""§5 step 7, and what arriving means."""

from collections.abc import Mapping, Sequence

from .case import Rule, Settled, rule_id, settle, stuck
from .limits import Limits
from .values import Json

BLOCKED = "@blocked"
ORIGIN = "@origin"
# "Of several breaches fail > stuck > escalate > a target"
CONSEQUENCES = ("fail", "stuck", "escalate")


class Target(Limits):
    """Where a task may go."""

    def targets(self, rule: Rule) -> list[str]:
        """Where the rule leads. "for `@origin` (none ⇒ stuck with `NoOrigin`)"."""
        to = rule["to"]
        if to == ORIGIN:
            # "unknown stations … inside facts are ignored"
            if self.facts.get("origin") not in self.stations:
                raise stuck("NoOrigin", rule["id"])
            return [self.facts["origin"]]
        return list(to) if isinstance(to, list) else [to]

    def step_7_target(
        self, rule: Rule, targets: list[str], feedback: str | None, composed: Sequence[str] = ()
    ) -> None:
        """ "Then, one check after the other, each for every target of a fork" """
        if targets != [BLOCKED]:  # "revisit, cap and preconditions do not" apply to @blocked
            self.check_revisit(rule, targets)
            self.check_cap(targets, rule)
            self.check_forbidden(targets, rule)
        own = self.own_breaches(rule, targets) + self.station_breaches(targets)
        self.check_budgets(own, targets, rule, rule, feedback, ())
        if targets != [BLOCKED]:
            self.check_preconditions(targets, rule)
            self.check_lost(targets, rule, composed)

    def entries(self, targets: Sequence[str]) -> list[tuple[str, int]]:
        """The stations among the targets, with their visits so far."""
        return [(target, self.visits.get(target, 0)) for target in targets if target in self.stations]

    def check_revisit(self, rule: Rule, targets: Sequence[str]) -> None:
        """ "revisit policy ⇒ stuck with `CircularWorkflow`": allow · forbid · "limit:<n> re-entries per station;
        a rule's `allow_revisit` overrides"; "`allow_revisit: false` forbids for that rule"."""
        own = rule.get("allow_revisit")
        policy = self.knobs["revisit"] if own is None else ("allow" if own else "forbid")
        for target, visits in self.entries(targets):
            if policy == "forbid" and target in self.visited:
                raise stuck("CircularWorkflow", rule["id"])
            # The first entry is none, so as many re-entries follow as there were visits.
            if policy.startswith("limit:") and visits > int(policy.removeprefix("limit:")):
                raise stuck("CircularWorkflow", rule["id"])

    def check_cap(self, targets: Sequence[str], rule: Rule | None) -> None:
        """ "safety cap ⇒ stuck with `VisitLimitExceeded`" """
        if any(visits >= self.knobs["visit_cap"] for _, visits in self.entries(targets)):
            raise stuck("VisitLimitExceeded", rule_id(rule))

    def lost_before(self, facts: Mapping[str, Json]) -> frozenset[str]:
        """Keys of the context whose stations said something that is not JSON, and that are not said now."""
        said = self.outcome.get("output")
        known = said if isinstance(said, Mapping) else {}
        return frozenset(k for k, by in (facts.get("unreadable") or {}).items() if by and k not in known)

    def check_lost(self, targets: Sequence[str], rule: Rule | None, composed: Sequence[str] = ()) -> None:
        """ "stuck with `OutputDataParseError` only when the next station's prompt … asks for one of its wanted
        keys"; "outputs of failed stations do not count"."""
        result, verdict = self.outcome["result"], self.outcome["verdict"]
        failed = "blocked" not in (result, verdict) and (
            result in ("failure", "cancelled") or verdict == "fail"
        )
        lost = {key for key, by in (self.moment.get("unreadable") or {}).items() if by}
        if not failed:
            lost = set(self.lost_before(self.moment))
            lost |= set(self.station.get("output_keys") or []) if "output_error" in self.outcome else set()
        hidden = {*(self.moment.get("variables") or {}), *(self.moment.get("inputs") or {}), *composed}
        for target in targets:
            prompt = str(self.stations.get(target, {}).get("work", {}).get("prompt", ""))
            asked = {key for key in lost if f"{{{{context.{key}}}}}" in prompt}
            asked |= {key for key in lost if f"{{{{.{key}}}}}" in prompt and key not in hidden}
            if asked:
                raise stuck("OutputDataParseError", rule_id(rule))

    def check_forbidden(self, targets: Sequence[str], rule: Rule | None) -> None:
        """ "pairs of stations that must never run in parallel; … engine refuse[s]". A token that is delivered to a
        join waits there, and does not run."""
        running = []
        for target in targets:
            join = self.stations.get(target, {}).get("join") or {}
            if target in self.stations and (target == self.here or self.here not in join.get("wait_for", [])):
                running.append(target)
        both = [{one, other} for i, one in enumerate(running) for other in running[i + 1 :]]
        both += [{one, other} for one in running for other in self.moment.get("beside") or []]
        if any(pair in both for pair in self.forbidden):
            raise stuck("ForbiddenParallel", rule_id(rule))

    def own_breaches(self, rule: Rule, targets: Sequence[str]) -> list[Json]:
        """What the budgets of the rule itself ask for. "by the budget's own `on_exhausted`, else the knob" """
        taken = self.taken.get(rule["id"], 0)
        retries, entries = rule.get("max_retries"), rule.get("max_visits")
        loops = self.knobs["self_loop_limit"]
        # "`max_retries: n` = it is taken at most n times"
        broken = retries is not None and taken >= retries
        # "its `max_visits: n` = at most n entries of the target in all"
        broken |= entries is not None and any(visits >= entries for _, visits in self.entries(targets))
        # "n takings of a rule that leads to its own station, where the rule has neither `max_retries` nor
        # `max_visits` · none"
        limited = retries is None and entries is None and loops != "none" and self.here in targets
        broken |= limited and taken >= loops
        own = rule.get("on_exhausted")
        return [self.knobs["on_exhausted"] if own is None else own] if broken else []

    def station_breaches(self, targets: Sequence[str]) -> list[Json]:
        """ "A station's `max_visits` (breach: the knob) … bind every entry except by hand" """
        for target, visits in self.entries(targets):
            limit = (self.stations[target].get("limits") or {}).get("max_visits")
            if limit is not None and visits >= limit:
                return [self.knobs["on_exhausted"]]
        return []

    def check_budgets(
        self,
        own: Sequence[Json],
        targets: Sequence[str],
        taken: Rule | None,
        rule: Rule | None,
        feedback: str | None,
        over: Sequence[str],
    ) -> None:
        """Those of the rule and of stations (`own`), then the named ones; the strictest breach wins."""
        named = list(self.named_breaches(targets, taken, over))
        consequences = [*own, *(consequence for _, consequence, _ in named)]
        if consequences:
            self.exhausted(consequences, len(own), named, rule, feedback, over)

    def exhausted(
        self,
        consequences: Sequence[Json],
        own: int,
        named: Sequence[tuple[str, Json, Mapping[str, Json]]],
        rule: Rule | None,
        feedback: str | None,
        over: Sequence[str],
    ) -> None:
        """ "budgets ⇒ `RetryLimitExceeded` by the budget's own `on_exhausted`, else the knob." """
        for consequence in CONSEQUENCES:
            if consequence not in consequences:
                continue
            if consequence == "fail":
                raise self.finish("failed", rule, "policy", "RetryLimitExceeded")
            if consequence == "stuck":
                raise stuck("RetryLimitExceeded", rule_id(rule))
            raise settle(
                "escalate", trigger="RetryLimitExceeded", rule=rule_id(rule), **told(own, named, consequences)
            )
        target = consequences[0]["to"]
        # "A target named there is itself checked once for revisit, cap and preconditions; the exhausted rule's
        # gates are not asked and its compose sets no variables."
        if rule is not None:
            self.check_revisit(rule, [target])
        else:
            self.check_revisit({"id": None}, [target])
        spent = [*over, *(key for key, _, _ in named)]
        raise self.enter(target, "rule" if own else "policy", rule, feedback, spent)

    def enter(
        self, target: str, by: str, rule: Rule | None, feedback: str | None, over: Sequence[str] = ()
    ) -> Settled:
        """A target that no matched rule chose: no revisit limit ("bind moves by a rule only"), but cap, the
        station's own `max_visits` and the preconditions."""
        self.check_cap([target], rule)
        self.check_forbidden([target], rule)
        self.check_budgets(self.station_breaches([target]), [target], None, rule, feedback, over)
        self.check_preconditions([target], rule)
        self.check_lost([target], rule)
        return self.arrive([target], by, rule, feedback, {})

    def arrive(
        self,
        targets: Sequence[str],
        by: str,
        rule: Rule | None,
        feedback: str | None,
        variables: Mapping[str, Json],
    ) -> Settled:
        """A move, or a finish where the target is an end."""
        if len(targets) == 1 and targets[0] in self.ends and targets[0] not in self.stations:
            return self.finish(targets[0], rule, by)
        return settle(
            "move",
            to=list(targets),
            rule=rule_id(rule),
            by=by,
            feedback=feedback,
            variables=dict(variables),
        )

    def finish(self, end: str, rule: Rule | None, by: str, error: str | None = None) -> Settled:
        """An end."""
        return settle("finish", end=end, kind=self.ends[end], rule=rule_id(rule), by=by, error=error)


def told(
    own: int, named: Sequence[tuple[str, Json, Mapping[str, Json]]], consequences: Sequence[Json]
) -> dict[str, Json]:
    """Which named budget escalates, and to whom: the first with a role; else the first of all that escalate."""
    escalating = [budget for _, consequence, budget in named if consequence == "escalate"]
    with_role = [budget for budget in escalating if budget.get("role")]
    if with_role:
        return {"budget": with_role[0]["key"], "role": with_role[0]["role"]}
    if "escalate" in consequences[:own] or not escalating:
        return {}
    return {"budget": escalating[0]["key"]}
