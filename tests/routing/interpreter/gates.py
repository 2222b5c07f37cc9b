"""§6, and the words of persons in §5; of gates with a tool, dialect A and docs/gates.md."""

from collections.abc import Mapping, Sequence

from . import facts as read
from .case import Route, Rule, rule_id, settle, wait
from .checks import action_of, worst
from .target import Target
from .values import Json

# "abort > reject > rework > send_back"
WORDS = ("abort", "reject", "rework", "send_back")


class Gates(Target):
    """What the gates let pass."""

    def mode(self, key: str) -> str:
        """ "`mode` absent = `manual` without checks, else `checks_then_manual`" """
        gate = self.gates[
            key
        ]  # of a tool: "A `mode` that is absent is `checks_then_manual`, as with checks."
        looked_at = gate.get("checks") or gate.get("tool")
        return gate.get("mode") or ("checks_then_manual" if looked_at else "manual")

    def has_human_step(self, key: str) -> bool:
        """ "`requires_approval: false` removes the human step" """
        if self.gates[key].get("requires_approval") is False:
            return False
        return self.mode(key) in ("manual", "checks_then_manual")

    def always_asks(self, key: str) -> bool:
        """ "a gate which always asks a person": no one passes it without a person."""
        return self.has_human_step(key)

    def action(self, key: str, asked: Sequence[str]) -> str:
        """What its checks ask for. "`manual` = always a person (checks are only shown)", "`skip` = pass"."""
        checks = self.gates[key].get("checks")
        if not checks or self.mode(key) not in ("auto", "checks_then_manual"):
            return "proceed"
        # "once a gate asked, … checks are not tried again: they stand as they were then": before anything was said
        # at the gates that are asked with it.
        words = {k: word for k, word in self.words.items() if k not in asked or k in self.passed}
        visits = read.visits(self.here, self.facts)[self.here]
        return action_of(checks, read.check_fields(self.outcome, self.facts, visits, words))

    def tool(self, key: str) -> tuple[str, str | None]:
        """What its tool asks for, and what it wrote. "Under `manual` a result is only shown, under `skip` nothing
        runs"; "`enabled` false ⇒ no-op pass"."""
        tool = self.gates[key].get("tool")
        if not tool or tool.get("enabled") is False or self.mode(key) == "skip":
            return "proceed", None
        asked: dict[str, Json] = {"tool": {"gate": key}}
        given = [a for a in self.facts.get("answers") or [] if "tool" in a and a["tool"]["gate"] == key]
        if not given:
            raise settle("ask", evaluation=asked)
        word, text = given[-1]["answer"], given[-1].get("text")
        if word not in ("pass", "warn", "fail"):  # "has no result: a person says which"
            raise wait("blocked", evaluation=asked)
        if word == "pass" or self.mode(key) == "manual":
            return "proceed", None
        if word == "warn":  # "`approve_warnings`: whether a warning needs no person; false: it holds"
            return "proceed" if tool.get("approve_warnings") else "hold", None
        return tool.get("action") or "rework", text

    def settle_checks(self, gates: Sequence[str], to: Sequence[str], rule: Rule | None, route: Route) -> None:
        """ "first the checks of all (worst action), then the people of all, asked together" """
        # "on the route that the word demands that gate is passed"
        gates = [gate for gate in gates if gate not in self.spoken]
        # "has a program run before it lets anybody through"
        said = {gate: self.tool(gate) for gate in gates}
        # "the worst action of their tools and checks wins"
        actions = {gate: worst([self.action(gate, gates), said[gate][0]]) for gate in gates}
        if self.to_review and gates == [self.station.get("gate")] and rule is None and not to:
            # §13: "A station may map each to … review", which its gate asks; "skip = pass" nonetheless
            actions = {
                gate: worst([action, "hold" if self.mode(gate) != "skip" else "proceed"])
                for gate, action in actions.items()
            }
        found = worst(list(actions.values()))
        if found == "abort":  # "abort ⇒ failed"
            raise self.finish("failed", rule, "gate")
        if found == "rework":  # "rework ⇒ the forced failure route"
            # "the next station gets what the tool wrote as feedback"; of several, what each wrote, in order
            texts = [text for action, text in said.values() if action == "rework" and text is not None]
            self.forced("failure", "gate", route, rule, "\n".join(texts) if texts else None)
        # "a check's hold stays in force"
        people = [gate for gate in gates if self.has_human_step(gate) or actions[gate] == "hold"]
        self.ask_people(people, to, rule)

    def ask_people(self, gates: Sequence[str], to: Sequence[str], rule: Rule | None) -> None:
        """ "the token waits at its source, `awaiting_review`"; nothing to do once all have approved."""
        open_ones = [gate for gate in gates if self.words.get(gate, {}).get("decision") != "approve"]
        if open_ones:
            raise wait("awaiting_review", gates=open_ones, to=list(to), rule=rule_id(rule))

    def settle_word(self, gates: Sequence[str], rule: Rule | None, route: Route) -> None:
        """ "The first word other than approve decides at once, before 7 and before the checks; of several,
        abort > reject > rework > send_back, then the gates' order." """
        for word in WORDS:
            for gate in gates:
                given = self.words.get(gate)
                if given is None or given["decision"] != word:
                    continue
                if gate in self.gates and self.mode(gate) == "skip":  # "`skip` = pass": nobody speaks there
                    continue
                if gate in self.spoken:  # "that gate is passed"
                    continue
                if word == "send_back" and self.is_refused(gate):
                    continue
                self.apply_word(word, gate, given, rule, route)

    def is_refused(self, gate: str) -> bool:
        """ "send_back …, at most `max_rounds` (3) times, then refused": the gate stays as it was."""
        approval = self.gates.get(gate, {}).get("approval") or {}
        limit = approval.get("max_rounds")
        rounds: int = (self.facts.get("rounds") or {}).get(gate, 0)
        return rounds >= (3 if limit is None else limit)

    def apply_word(
        self, word: str, gate: str, given: Mapping[str, Json], rule: Rule | None, route: Route
    ) -> None:
        """ "A person's word at any gate" """
        reason = given.get("reason")
        if word == "abort":  # "abort ⇒ failed"
            raise self.finish("failed", rule, "gate")
        if word == "rework":  # "rework ⇒ the forced failure route"
            self.forced("failure", "gate", route, rule, reason, spoken=gate)
        if word == "send_back":  # "the producing station runs again, the reason as feedback"
            raise self.enter(self.here, "gate", rule, reason)
        # "reject ⇒ `on_reject`, with the reason stored and visible, no failure rules"
        policy = (
            self.gates.get(gate, {}).get("on_reject") or self.knobs["on_reject"]
        )  # "else the line's knob"
        if policy == "reviewer_chooses":  # "(the rejection names one of these)"
            policy = given["route"]
        if policy == "fail":
            raise self.finish("failed", rule, "gate")
        if policy == "rework":  # "(the producing station runs again, reason as feedback)"
            raise self.enter(self.here, "gate", rule, reason)
        raise self.enter(policy.removeprefix("route:"), "gate", rule, reason)
