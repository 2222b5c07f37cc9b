"""§5, steps 3 to 6 and 8, for one token."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from . import facts as read
from .case import Decision, Route, Rule, Settled, rule_id, settle, stuck, wait
from .checks import counted
from .conditions import Asked, Unanswered, Unparseable, View, is_faulty, is_true
from .gates import Gates
from .paths import nodes
from .strategies import NotMerged, merged
from .target import BLOCKED, ORIGIN
from .values import Json

FORCED = {
    "success": ("success", "pass", "ok"),
    "failure": ("failure", "fail", "error"),
    "blocked": ("blocked", "blocked", "blocked"),
}


def decide(document: Mapping[str, Any], situation: Mapping[str, Any]) -> Decision:
    """The decision of the law on a valid line document (rules may be faulty) and a valid situation."""
    try:
        Law(document, situation).step_3_signal()
    except Settled as settled:
        return settled.decision
    raise AssertionError("the law came to no end")


class Law(Gates):
    """The steps, in order."""

    def step_3_signal(self) -> None:
        """ "Signal. The first valid one decides, later ones are only recorded." """
        route = Route(self.outcome["result"], self.outcome["verdict"], self.outcome["eval"])
        signal = read.first_signal(self.outcome)
        if signal is None:
            self.step_4_blocked(route)
        elif signal["verdict"] == "abort":
            # "`abort` ⇒ task failed; no gate, no rule."
            raise self.finish("failed", None, "signal")
        elif signal["verdict"] == "hold":
            self.hold(signal, route)
        elif signal["verdict"] == "rework":
            # "`rework` ⇒ this station again, up to its `max_retries` (3 after the first run)"
            limit = (self.station.get("limits") or {}).get("max_retries")
            if self.facts.get("signal_reworks", 0) < (3 if limit is None else limit):
                raise self.enter(self.here, "signal", None, None)
            # "exhausted ⇒ the verdict becomes fail (nothing else changes), go on at 5."
            self.step_5_station_gate(replace(route, verdict="fail"))
        else:
            # "`proceed` ⇒ the forced success route; of the station gate only the human step, if it has one, is
            # kept. No signal ever passes a human gate." The word at that step "decides at once": the success
            # route is demanded only after it.
            gate = self.station.get("gate")
            if gate is not None and self.has_human_step(gate):
                self.settle_word([gate], None, route)
                self.ask_people([gate], [], None)
            if gate is not None:  # its checks were not asked
                mode = self.mode(gate)
                shown = mode == "manual" or not counted(self.gates[gate].get("checks"))
                self.gate_passed = mode == "skip" or (self.has_human_step(gate) and shown)
                self.passed |= {gate} if self.has_human_step(gate) else set()
            self.forced("success", "signal", route, None, None)

    def hold(self, signal: Mapping[str, Json], route: Route) -> None:
        """ "`hold`, reason `already_complete` ⇒ go to `meta.targetState`, bypassing the rules", else blocked."""
        meta = signal.get("meta") or {}
        target: str = meta.get("targetState") or ""
        if signal.get("reason") != "already_complete" or not self.may_jump_to(target):
            # "Target missing or unknown ⇒ as the next." "any other reason ⇒ blocked, `meta.question` shown"
            raise wait("blocked", question=meta.get("question"))
        # "and then, in a line that declares a gate which always asks a person, a review of the jump itself"
        reviewed = any(self.always_asks(key) for key in self.gates)
        if reviewed:  # "The first word other than approve decides at once, before 7"
            self.settle_word(["@jump"], None, route)
        arrival = self.enter(target, "signal", None, None)  # "step 7 without the revisit policy"
        if reviewed:
            self.ask_people(["@jump"], [target], None)
        raise arrival

    def may_jump_to(self, place: str) -> bool:
        """ "`jumps` is a list of stations and ends, or `all`; absent means none; the preset `flux` says `all`" """
        silent = "all" if self.said.get("preset") == "flux" else []
        allowed = self.said.get("jumps", silent)
        return self.is_place(place) and (allowed == "all" or place in allowed)

    def step_4_blocked(self, route: Route) -> None:
        """ "Blocked outcome, non-empty `blockers[]`, or, with exit code 0, a required result document missing or
        invalid (no output, or `output_error`) ⇒ the fallback; the station gate is skipped." """
        required = self.station.get("result_document") == "required"
        missing = "output" not in self.outcome or "output_error" in self.outcome
        if (
            route.kind == "blocked"
            or self.outcome.get("blockers")
            or (required and missing and self.outcome.get("exit_code") == 0)
        ):
            self.forced("blocked", "fallback", route, None, None)
        self.step_5_station_gate(route)

    def step_5_station_gate(self, route: Route) -> None:
        """ "Station gate, if the station has one. … Approved or passed ⇒ 6 with the outcome unchanged." """
        gate = self.station.get("gate")
        if gate is not None:
            self.settle_word([gate], None, route)
            self.settle_checks([gate], [], None, route)
            self.passed.add(gate)
        self.gate_passed = True
        self.step_6_rules(route)

    def step_6_rules(self, route: Route) -> None:
        """ "Rules in order. Validate (condition, target, gates), evaluate, first true wins." """
        if self.knobs["failure_rules"] in ("no", False) and route.kind == "failed":
            # "at step 6 of §5 a failed outcome, forced ones too, goes straight to `on_failure`"
            self.on_failure("on_failure", None, None, route, None)
        for rule in self.rules:
            if rule["id"] in self.left_out:
                continue
            # "A faulty rule that is reached ⇒ stuck with `InvalidTransitionSyntax`"
            if self.is_faulty(rule):
                raise stuck("InvalidTransitionSyntax", rule["id"])
            view = self.view(route)
            if self.matches(rule, view):
                self.follow(rule, route, self.feedback(rule, view, route))
        self.no_match(route)

    def is_faulty(self, rule: Rule) -> bool:
        """Whether its condition, its target or a gate is wrong."""
        to = rule.get("to")
        if isinstance(to, list):
            good = bool(to) and len(set(to)) == len(to) and all(target in self.stations for target in to)
        else:
            good = to in (BLOCKED, ORIGIN) or self.is_place(to)
        # "`when` absent = always"
        when = rule.get("when", {"always": True})
        return not good or is_faulty(when) or any(gate not in self.gates for gate in rule.get("gates") or [])

    def document(self, route: Route) -> list[Json]:
        """What paths read: none, or one document."""
        has_output = "output" in self.outcome and "output_error" not in self.outcome
        output = [self.outcome["output"]] if has_output else []
        if self.knobs["condition_scope"] == "current":
            return output
        # "Scope `merged` reads the context overlaid, key by key, by the output if that is an object, else the
        # context alone."
        context = dict(self.facts.get("context") or {})
        return [context | dict(output[0])] if output and isinstance(output[0], Mapping) else [context]

    def observed(self) -> dict[str, Json]:
        """§13: "a root of its own"; "`$.stations.<key>.<group>…`", as "the situation freezes what was read"."""
        others = self.facts.get("observed")
        return {**(self.outcome.get("facts") or {}), **({"stations": others} if others else {})}

    def view(self, route: Route) -> View:
        """What the conditions see on this route."""
        return View(
            result=route.result,
            verdict=route.verdict,
            eval=route.eval,
            document=self.document(route),
            unparseable="output_error" in self.outcome and not route.no_output,
            failure_type=self.outcome.get("failure_type"),
            edges=self.facts.get("edges") or {},
            answers=self.facts.get("answers") or [],
            facts=self.observed(),
            lost=self.lost_before(self.facts) if self.knobs["condition_scope"] == "merged" else frozenset(),
        )

    def matches(self, rule: Rule, view: View) -> bool:
        """Its condition, or the end that an evaluation of it brings."""
        try:
            return is_true(rule.get("when", {"always": True}), view)
        except Asked as asked:
            raise settle("ask", evaluation=asked.evaluation) from None
        except Unanswered as unanswered:
            # "An evaluation that a person must answer is a wait with status `blocked` and rule null."
            raise wait("blocked", evaluation=unanswered.evaluation) from None
        except Unparseable:
            raise stuck("OutputDataParseError", rule["id"]) from None

    def feedback(self, rule: Rule, view: View, route: Route) -> str | None:
        """ "A matched rule with `feedback: true` on an answered evaluation (the last one that it reached) hands
        its text to the station it enters; so do a reject or a rework by a person with the reason. Only the
        latest is appended": a person's reason is the latest."""
        if route.reason is not None:
            return route.reason
        return view.texts[-1] if rule.get("feedback") and view.texts else None

    def no_match(self, route: Route) -> None:
        """§4: "Without a match: failed ⇒ `on_failure`; blocked ⇒ `@blocked`; passed ⇒ `no_rules` if the station
        has none, else `no_match`. stuck, fail and refuse here carry `NoValidTransition`, halt no error." """
        if route.kind == "failed":
            self.on_failure("on_failure", "NoValidTransition", None, route, None)
        if route.kind == "blocked":
            raise wait("blocked")
        policy = self.knobs["no_match" if self.rules else "no_rules"]
        if policy in ("advance", "default"):  # "next station in order; last ⇒ completed"
            after = self.order[self.order.index(self.here) + 1 :]
            raise self.enter(after[0] if after else "completed", "policy", None, None)
        if policy == "end":
            raise self.enter("completed", "policy", None, None)
        if policy == "fail":
            raise self.finish("failed", None, "policy", "NoValidTransition")
        if policy in ("stuck", "refuse"):
            raise stuck("NoValidTransition", None)
        if policy == "escalate":
            raise settle("escalate", trigger="no_match", rule=None)
        # "Fallback = the forced blocked route"
        self.forced("blocked", "fallback", route, None, None)

    def on_failure(
        self,
        trigger: str,
        error: str | None,
        rule: Rule | None,
        route: Route,
        feedback: str | None,
    ) -> None:
        """The knob `on_failure`: halt (task failed) · stuck · escalate · fallback · station:<key>."""
        policy = self.knobs["on_failure"]
        if policy == "halt":
            halted = "compose_failed" if trigger == "compose_failed" else None
            raise self.finish("failed", rule, "policy", halted)
        if policy == "stuck":
            raise stuck(error or "NoValidTransition", rule_id(rule))
        if policy == "escalate":
            raise settle("escalate", trigger=trigger, rule=rule_id(rule))
        if policy == "fallback":
            self.forced("blocked", "fallback", route, rule, None)
        raise self.enter(policy.removeprefix("station:"), "policy", rule, feedback or route.reason)

    def forced(
        self, kind: str, by: str, route: Route, rule: Rule | None, reason: str | None, spoken: str = ""
    ) -> None:
        """ "Forced route (success, failure, blocked): the rules are tested again with result, verdict and eval
        replaced, all else equal". `spoken`: the gate at which a person's word demands it."""
        if route.demanded and not spoken and self.spoken:
            # "A Rework never ends in `ForcedRouteLoop`": no rule is tested any more, "the policy for that outcome".
            self.no_match(
                Route(*FORCED[kind], demanded=True, forced_by=by, reason=reason, no_output=kind == "blocked")
            )
        if route.demanded and not spoken:
            # "At most one forced route in a decision; a second demand ⇒ stuck with `ForcedRouteLoop`."
            raise stuck("ForcedRouteLoop", rule_id(rule))
        if spoken:
            self.spoken.add(spoken)
        if by == "gate" and rule is not None:
            # "A route that a rule's gate demanded leaves that rule out."
            self.left_out.add(rule["id"])
        self.step_6_rules(
            Route(
                *FORCED[kind],
                # "a person's word begins anew: the forced route that led to the gate does not count"; "A Rework never
                # ends in `ForcedRouteLoop`": its own neither.
                demanded=not spoken,
                forced_by=by,
                reason=reason,
                # "Its rules treat output that cannot be parsed as no output, and so does every route behind it."
                no_output=kind == "blocked" or route.no_output,
            )
        )

    def follow(self, rule: Rule, route: Route, feedback: str | None) -> None:
        """The words of its gates "before 7", then 7, 8, "Approved ⇒ 7 once more", then 9."""
        gates = list(dict.fromkeys(rule.get("gates") or []))
        self.settle_word(gates, rule, route)
        variables = self.compose(rule, route, feedback)
        targets = self.targets(rule)
        self.step_7_target(rule, targets, feedback, list(variables))
        self.settle_checks(gates, targets, rule, route)
        if targets == [BLOCKED]:
            raise wait("blocked", rule=rule["id"])
        raise self.arrive(targets, route.forced_by or "rule", rule, feedback, variables)

    def compose(self, rule: Rule, route: Route, feedback: str | None) -> dict[str, Json]:
        """§8a: "reads the same document as the conditions: one node gives its value, several a list, none
        fails". "failure ⇒ `compose_failed`, then `on_failure`"."""
        # "Without such a variable it is the input of that name."
        before = {**(self.moment.get("inputs") or {}), **(self.moment.get("variables") or {})}
        variables: dict[str, Json] = {}
        for entry in rule.get("compose") or []:
            # "output that was not JSON gives compose nothing, in scope `merged` too"
            document = [] if "output_error" in self.outcome else self.document(route)
            var = entry["var"]
            # Without a path a strategy "merges the CURRENT output".
            found = nodes(document, entry["path"]) if "path" in entry else document
            if not found:
                self.on_failure("compose_failed", "compose_failed", rule, route, feedback)
            value = found[0] if len(found) == 1 else found
            if "strategy" in entry:
                known = {**before, **variables}
                try:
                    value = merged(entry["strategy"], value, [known[var]] if var in known else [])
                except NotMerged:
                    self.on_failure("compose_failed", "compose_failed", rule, route, feedback)
            variables[var] = value
        return variables
