"""Random valid line documents and situations, leaning to where the law has something to say.

`case(seed)` answers the same pair for the same seed, always. Only the station of the situation is drawn in
full; what stands elsewhere cannot matter to a decision, but for its limits and its place in the order.
"""

from random import Random

from .draw_conditions import ANSWER_WORDS
from .draw_data import SCALARS
from .draw_facts import with_facts, with_output
from .draw_lines import Lines
from .draw_now import with_now
from .values import Json


class Maker(Lines):
    """One document with one situation."""

    def make_word(self) -> dict[str, Json]:
        """A person's decision; the route is there for whoever lets the reviewer choose."""
        others = ("reject", "send_back", "rework", "abort")
        decision = "approve" if self.chance(0.75 if self.mood == "gates" else 0.4) else self.pick(*others)
        word: dict[str, Json] = {"decision": decision}
        if decision == "reject":
            word["route"] = self.pick("fail", "rework", *self.stations)
        if decision != "approve" and self.chance(0.7):
            word["reason"] = self.pick("Too thin.", "Not yet.")
        return word

    def make_agent(self) -> dict[str, Json]:
        """Most often one that is free."""
        state = self.pick("available", "available", "available", "suspended", "no_contract", None)
        agent: dict[str, Json] = {"free": self.some(0.5, self.few())}
        return agent | ({"state": state} if state else {})

    def make_answers(self) -> list[Json]:
        """Answers to some of the four evaluations, sometimes two to one."""
        answers: list[Json] = []
        for _ in range(self.random.randint(1, 6)):
            asked = self.evaluation()
            words = ANSWER_WORDS[next(iter(asked))]
            answer = asked | {"answer": self.pick(*words, *words, *words, "unanswered", "perhaps")}
            answers.append(
                answer | ({"text": self.pick("Because.", "It is long.")} if self.chance(0.7) else {})
            )
        return answers

    def make_visits(self) -> dict[str, Json]:
        """Visits that include the present one."""
        visits: dict[str, Json] = {key: self.few(4) for key in self.stations if self.chance(0.6)}
        return visits | ({self.here: self.random.randint(1, 4)} if self.chance(0.7) else {self.here: 1})

    def make_facts(self) -> dict[str, Json]:
        """Facts of all kinds, each absent often enough."""
        ids = [f"r{number}" for number in range(1, 9)]
        visited = [key for key in self.stations if self.chance(0.8 if key == self.here else 0.4)]
        facts: dict[str, Json] = {
            "visits": self.some(0.6, self.make_visits()),
            "edges": self.some(
                0.3,
                {f"{self.pick(*self.stations)}->{self.pick(*self.stations)}": self.few(4) for _ in range(6)},
            ),
            "rules": self.some(0.5, {rule: self.few(4) for rule in ids if self.chance(0.6)}),
            "signal_reworks": self.some(0.4, self.few(4)),
            "visited": self.some(0.2, visited),
            "origin": self.some(0.7, self.pick(*self.stations, "moon")),
            "context": self.some(0.9, self.context),
            "variables": self.some(0.3, {"v": self.pick(*SCALARS)}),
            "inputs": self.some(0.3, {"mode": self.pick(*SCALARS)}),
            "task": self.some(0.3, {"priority": self.pick("high", 1), "owner": {"name": self.pick("ok", 2)}}),
            "answers": self.some(0.8, self.make_answers()),
            "rounds": self.some(0.3, {key: self.few(4) for key in [*self.gates, "@jump"]}),
            "open_escalations": self.some(0.12, self.few(2)),
            "beside": self.some(0.2, [self.pick(*self.stations) for _ in range(2)]),
            "preconditions": self.some(
                0.4, {name: self.chance(0.8) for name in ("handoff", "agent") if self.chance(0.7)}
            ),
            "failures": self.some(
                0.4,
                {f"{self.pick(*self.stations)}:{self.pick('license', 'code')}": self.few() for _ in range(3)},
            ),
            "agents": self.some(0.6, {key: self.make_agent() for key in ("ann", "bob") if self.chance(0.8)}),
        }
        words = {
            key: self.make_word()
            for key in [*self.gates, "@jump"]
            if self.chance(0.75 if self.mood == "gates" else 0.4)
        }
        if self.chance(0.1):  # "unknown stations or gates inside facts are ignored"
            words["moon"] = self.make_word()
            facts["visited"] = [*visited, "moon"]
        if self.chance(0.1):  # "null = absent"
            return facts | {"gates": words}
        return {key: value for key, value in facts.items() if value is not None} | {"gates": words}


def with_lost_keys(seed: int, document: dict[str, Json], situations: list[dict[str, Json]]) -> None:
    """Now and then: outputs that could not be read, and who asks for their keys. Drawn apart from everything else."""
    random = Random(f"lost {seed}")
    if random.random() > 0.3:
        return
    keys = ["a", "high", "v", "mode"]
    for station in document["stations"]:
        if random.random() < 0.5:
            asked = random.choice(
                ["{{context.a}}", "{{.high}}", "{{.v}}", "{{.mode}} {{context.high}}", "plain"]
            )
            station["work"] = {"kind": "command", "argv": ["x"], "prompt": asked}
        if random.random() < 0.3:
            station["output_keys"] = random.sample(keys, 2)
    for situation in situations:
        lost = {key: random.choice(["plan", ""]) for key in keys if random.random() < 0.3}
        situation["facts"] |= {"unreadable": lost} if lost else {}
        if random.random() < 0.5:
            situation["facts"]["words"] = {"g1": random.choice(["approve", "send_back"])}


def case(seed: int) -> tuple[dict[str, Json], dict[str, Json]]:
    """A document and a situation."""
    document, (situation,) = line_with(seed, 1)
    return document, situation


def line_with(seed: int, count: int) -> tuple[dict[str, Json], list[dict[str, Json]]]:
    """A document and several situations at one of its stations."""
    maker = Maker(seed)
    document = maker.make_document()
    situations = []
    for _ in range(count):
        situations.append({"station": maker.here, "outcome": maker.outcome, "facts": maker.make_facts()})
        maker.outcome = maker.make_outcome()
    with_lost_keys(seed, document, situations)
    with_now(seed, document, situations)
    with_facts(seed, document, situations)
    with_output(seed, document, situations)
    return document, situations
