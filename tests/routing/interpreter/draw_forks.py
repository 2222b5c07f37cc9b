"""Random lines with forks inside of forks, and the lives of tasks on them, step by step.

A line is a row of blocks: a station, or a fork whose branches are rows themselves, most often with a join of its own
behind them; without one, its branches are waited for by the join around it.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from .draw_joins import AGGREGATIONS, STANDINGS
from .values import Json

MAX_STEPS = 60
Token = dict[str, Any]


class Forks:
    """One line, and the living tokens of a task on it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"forks {seed}")
        # Who passes a join that does not wait for it, on a line that begins its forks again, may come back to that join
        # in another round: whether it "can still reach" it then is more than the sentence says (docs/rules.md does).
        self.again = self.random.random() < 0.5
        self.stations: dict[str, dict[str, Any]] = {}
        first, lasts = self._row(2, forks=True)
        done = self._station()
        if len(lasts) > 1:
            self._join(done, lasts)
        self._lead(lasts, done)
        self._lead([done], "completed")
        self.document: dict[str, Json] = {
            "gateline": 1,
            "key": "line",
            "stations": list(self.stations.values()),
            "start": first,
            "policy": {"no_rules": "end", "no_match": "fail"},
        }
        self.tokens: list[Token] = [{"id": 1, "at": first, "forks": []}]
        self.ids = iter(range(2, 10_000))

    # The line

    def _station(self) -> str:
        key = f"s{len(self.stations)}"
        self.stations[key] = {"key": key, "rules": []}
        return key

    def _row(self, depth: int, forks: bool = False) -> tuple[str, list[str]]:
        """Where it begins, and the stations that lead out of it."""
        first, lasts = "", list[str]()
        for _block in range(self.random.randint(1, 2)):
            is_fork = depth > 0 and (forks or self.random.random() < 0.5)
            begins, ends = self._fork(depth - 1) if is_fork else self._work()
            if lasts and len(lasts) > 1:  # a fork without a join of its own ends its row
                self._lead(lasts, self._joined(lasts, begins))
            else:
                self._lead(lasts, begins)
            first = first or begins
            lasts = ends
        return first, lasts

    def _joined(self, lasts: list[str], onward: str) -> str:
        join = self._station()
        self._join(join, lasts)
        self._lead([join], onward)
        return join

    def _work(self) -> tuple[str, list[str]]:
        key = self._station()
        if self.random.random() < 0.2:
            self._lead([key], key)  # once more
        if self.random.random() < 0.2:
            self._lead([key], "completed")  # a branch that ends
        return key, [key]

    def _fork(self, depth: int) -> tuple[str, list[str]]:
        fork = self._station()
        rows = [self._row(depth) for _ in range(self.random.randint(2, 3))]
        self._lead([fork], [first for first, _ in rows])
        lasts = [key for _, ends in rows for key in ends]
        if self.random.random() < 0.3:
            return fork, lasts
        join = self._station()
        self._join(join, lasts)
        self._lead(lasts, join)
        if self.again and self.random.random() < 0.4:
            self._lead([join], fork)  # all of it once more
        return fork, [join]

    def _join(self, key: str, lasts: list[str]) -> None:
        some = not self.again and len(lasts) > 1 and self.random.random() < 0.3
        wait_for = self.random.sample(lasts, len(lasts) - 1) if some else lasts
        self.stations[key]["join"] = {"wait_for": wait_for}
        if self.random.random() < 0.8:
            self.stations[key]["join"]["aggregation"] = self.random.choice(AGGREGATIONS)

    def _lead(self, sources: list[str], to: Json) -> None:
        for source in sources:
            rules = self.stations[source]["rules"]
            number = len(rules)
            when = {"eval": {"op": "equals", "value": str(number)}}
            rules.append({"id": f"{source}-{number}", "when": when, "to": to})

    # The task

    def step(self) -> bool:
        """A token that does not wait goes on by one of its rules. False: there is none."""
        free = [token for token in self.tokens if "from" not in token]
        if not free:
            return False
        token = self.random.choice(free)
        within = [fork["station"] for fork in token["forks"]]
        rules = [rule for rule in self.stations[token["at"]]["rules"] if rule["to"] not in within]
        if not rules or self.random.random() < 0.08:
            self.tokens.remove(token)  # it failed, and no rule takes that
            return True
        to = self.random.choice(rules)["to"]
        if isinstance(to, list):
            fork = {"id": next(self.ids), "station": token["at"], "to": to}
            self.tokens.remove(token)
            self.tokens += [self._enter(token["at"], each, [*token["forks"], fork]) for each in to]
        else:
            self.tokens.remove(token)
            self.tokens += [self._enter(token["at"], to, token["forks"])] if to in self.stations else []
        return True

    def _enter(self, source: str, target: str, forks: list[Json]) -> Token:
        token: Token = {"id": next(self.ids), "at": target, "forks": forks}
        if source in self.stations[target].get("join", {}).get("wait_for", []):
            token |= {"from": source, "as": self.random.choice(STANDINGS)}
        return token

    def merge(self, merge: dict[str, Any]) -> None:
        """ "exactly these tokens merge"; "A merged token takes the place of the forked one once no sibling lives,
        else it stays their sibling". What becomes of it is drawn with its next step."""
        gone = [token for token in self.tokens if token["id"] in merge["tokens"]]
        forks = gone[0]["forks"]
        depth = [fork["id"] for fork in forks].index(merge["fork"]) if forks else 0
        left = forks[: depth if merge["alone"] else depth + 1]
        self.tokens = [token for token in self.tokens if token not in gone]
        self.tokens.append({"id": next(self.ids), "at": merge["station"], "forks": left})


def live(seed: int, due: Callable[[dict[str, Json], list[Token]], dict[str, Any] | None]) -> int:
    """Lives one task to its end; `due` answers the join that is decided now, or None. How many were."""
    one, merges = Forks(seed), 0
    for _ in range(MAX_STEPS):
        while (merge := due(one.document, one.tokens)) is not None:
            one.merge(merge)
            merges += 1
        if not one.step():
            break
    return merges
