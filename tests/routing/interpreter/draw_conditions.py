"""Drawn conditions."""

from .conditions import EVAL_OPS, OUTPUT_OPS
from .draw_data import RESULTS, SCALARS, Data
from .values import Json

PATHS = (
    *("a", "b", "a.b", "a.b.c", "high", "tags", "findings", "nope", "tags.0"),
    *("$", "$.a", "$.a.b", "$.b", "$.high", "$.tags[*]", "$.tags[0]", "$.tags[-1]", "$['a.b']", "$.nope"),
    *("$.findings[*]", "$.findings[*].level", "$..level", "$.findings[?@.level > 1]", "$.findings[0].level"),
    *("$.findings[?@.level == 1].level", "$.a.*", "$[0]", "$[*]", "$.findings[?length(@.name) > 2].name"),
)
SEGMENTS = (
    *(".a", ".b", ".findings", ".tags", ".level", ".*", "['a.b']", "['a','b']", "[0]", "[-1]", "[*]", "[1:]"),
    *("[::-1]", "[0,1]", "..level", "..*", "..a", "[?@.level]", "[?@.level >= 1]", "[?!@.name]", "[?@ == 1]"),
    *("[?@.name == 'abc' || @.level == 0]", "[?@.level != $.high && @.name]", "[?length(@.name) > 2]"),
    *(
        "[?count(@.*) > 1]",
        "[?value(@.level) == 1]",
        "[?@ == null]",
        "[?@ == true]",
        "[?@ > 'a']",
        "[?(@ < 2)]",
    ),
)
PATTERNS = ("^ok$", "o", "[0-9]+", "^$", "fail|x", "(?i)OK")
QUESTIONS = ("Is it good?", "Is it done?")
ANSWER_WORDS = {"agentic": ("yes", "no"), "hook": ("pass", "block")}


class Conditions(Data):
    """Any form of §3, nested, and faults."""

    def make_when(self, depth: int = 3) -> dict[str, Json]:
        """A condition; the deeper, the rarer."""
        if self.mood in ("gates", "budgets", "signals") and self.chance(0.6):
            return self.pick(self.when_always, self.when_result, self.when_verdict)()
        shape = self.random.random()
        if depth and shape < 0.13:
            return {"all": [self.make_when(depth - 1) for _ in range(self.random.randint(1, 3))]}
        if depth and shape < 0.28:
            return {"any": [self.make_when(depth - 1) for _ in range(self.random.randint(1, 3))]}
        if depth and shape < 0.38:
            return {"not": self.make_when(depth - 1)}
        makers = (
            [self.when_always] * 2
            + [self.when_result] * 3
            + [self.when_verdict] * 2
            + [self.when_eval] * 2
            + [self.when_output] * 6
            + [self.when_failure_type, self.when_edge, self.when_evaluation]
        )
        return self.pick(*makers)()

    def when_always(self) -> dict[str, Json]:
        """Always."""
        return {"always": True}

    def when_result(self) -> dict[str, Json]:
        """One or a list."""
        words = (*RESULTS, "any")
        return {"result": self.pick(*words) if self.chance(0.6) else self.random.sample(words, 2)}

    def when_verdict(self) -> dict[str, Json]:
        """One or a list."""
        words = ("pass", "fail", "blocked", "any")
        return {"verdict": self.pick(*words) if self.chance(0.6) else self.random.sample(words, 2)}

    def when_eval(self) -> dict[str, Json]:
        """Text, a number to compare with, or a range."""
        op = self.pick(*EVAL_OPS)
        if op == "range":
            return {"eval": {"op": op, "value": self.pick("0,10", "-5, 6.5", "6.5,6.5", "100,200")}}
        if op in ("gt", "gte", "lt", "lte"):
            return {"eval": {"op": op, "value": self.pick(-3, 0, 6.5, 7, 100)}}
        return {
            "eval": {
                "op": op,
                "value": self.pick("ok", "o", "7", "error", "", "e", self.outcome.get("eval", "x")),
            }
        }

    def make_path(self) -> str:
        """A path from the list, or one of random segments."""
        if self.chance(0.7):
            return str(self.pick(*PATHS))
        return "$" + "".join(self.pick(*SEGMENTS) for _ in range(self.random.randint(1, 3)))

    def when_output(self) -> dict[str, Json]:
        """Any op on any path, counted now and then."""
        op, path = self.pick(*OUTPUT_OPS), self.make_path()
        operand: dict[str, Json] = {"path": path, "op": op}
        of = self.pick("some", "every", "count") if path.startswith("$") and self.chance(0.6) else None
        if of == "count":
            op = operand["op"] = self.pick("equals", "not_equals", "gt", "gte", "lt", "lte", "in")
        if of is not None:
            operand["of"] = of
        if op in ("exists", "missing"):
            return {"output": operand}
        if op in ("gt", "gte", "lt", "lte") or of == "count":
            operand["value"] = self.pick(0, 1, 1.0, 2, 0.1)
        else:
            operand["value"] = self.pick(*SCALARS)
        if op in ("in", "not_in"):
            operand["value"] = [self.pick(*SCALARS) for _ in range(self.random.randint(1, 3))]
        elif op == "matches":
            operand["value"] = self.pick(*PATTERNS)
        elif op == "type":
            operand["value"] = self.pick("null", "boolean", "number", "string", "array", "object")
        elif op in ("starts_with", "ends_with"):
            operand["value"] = self.pick("o", "k", "fail", "", "1")
        return {"output": operand}

    def when_failure_type(self) -> dict[str, Json]:
        """One or a list."""
        return {"failure_type": self.pick("license", "code", ["license", "test gap"])}

    def when_edge(self) -> dict[str, Json]:
        """An edge of this line."""
        ends = {"from": self.pick(*self.stations), "to": self.pick(*self.stations)}
        return {"edge": ends | {"at_least": self.random.randint(1, 3)}}

    def evaluation(self) -> dict[str, Json]:
        """One of four evaluations."""
        if self.chance(0.5):
            return {"agentic": {"question": self.pick(*QUESTIONS)}}
        return {"hook": {"argv": [self.pick("./a.sh", "./b.sh")]}}

    def when_evaluation(self) -> dict[str, Json]:
        """An evaluation and the answer that it must have."""
        asked = self.evaluation()
        return asked | {"answer": self.pick(*ANSWER_WORDS[next(iter(asked))])}

    def break_when(self) -> Json:
        """A condition that is none."""
        return self.pick(
            {"result": "fine"},
            {"sometimes": True},
            {"output": {"path": "$.a[", "op": "exists"}},
            {"output": {"path": "a", "op": "resembles", "value": 1}},
            {"output": {"path": "a", "op": "matches", "value": "(["}},
            {"eval": {"op": "range", "value": "9,1"}},
            {"eval": {"op": "range", "value": "a lot"}},
            {"all": [{"always": True}, {"verdict": "perhaps"}]},
            {"agentic": {"question": "Is it good?"}, "answer": "pass"},
            {"not": {"not": {"op": "equals"}}},
        )
