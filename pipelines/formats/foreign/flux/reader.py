"""Flux playbooks: `name, description, prompt, stages` (D1…D21). The native document has the preset `flux`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.flux.gate_rules import check_group_or_none
from pipelines.formats.foreign.import_notes import (
    ImportNotes,
    Json,
    key_slug,
    manual_work,
    objects_in_list,
    shortened_json,
    text_or_none,
    unread_parts,
)
from pipelines.routing.basics.wording import Wording as _

PRESET: Final = "flux"
WAYS: Final = (("onPass", "pass"), ("onFail", "fail"), ("fallback", "blocked"))
COMPLETE: Final = ("complete", "__complete__")
BLOCKED: Final = ("blocked", "__blocked__")
META_ROUTE: Final = "__meta_route__"
JOINED: Final = "_parallel_complete"
MODES: Final = {"auto": "auto", "rules": "auto", "hold": "manual", "manual": "manual", "skip": "skip"}
TYPES: Final = ("sequential", "parallel", "loop")
LIMITS: Final = {"timeoutSec": "max_timeout", "maxRetries": "max_retries"}
LEAST: Final = {"timeoutSec": 1, "maxRetries": 0}
READ_OF_STAGE: Final = ("name", "onPass", "onFail", "fallback", "rules", "gateMode", *LIMITS)
USUAL_ITERATIONS: Final = 10
MOST_SECONDS: Final = 10**7 - 1


class Playbook:
    """Relations of the stages of a playbook. `entered`: stations that a move to a stage enters; `joined_at`:
    of a child, the stage at which its branch ends."""

    def __init__(self, document: Mapping[str, Any], import_notes: ImportNotes) -> None:
        self.import_notes = import_notes
        self.prompt = document.get("prompt")
        self.stages = objects_in_list(import_notes, document.get("stages"), "stages")
        self.keys: dict[str, str] = {}
        self.entered: dict[str, list[str]] = {}
        self.joined_at: dict[str, str] = {}
        self.gates: list[Json] = []
        self.completes = False
        for place, stage in self.stages:
            identity = stage.get("id")
            if not isinstance(identity, str) or not identity:
                import_notes.note_fault(f"{place}.id", "is missing", "every stage has an id")
            elif identity in self.keys:
                import_notes.note_fault(f"{place}.id", _("%(id)s is there twice", id=identity))
            else:
                self.keys[identity] = import_notes.claim_key(identity, "stage")
        for place, stage in self.stages:
            # In a loop of its own: a stage may fork to stages that stand behind it.
            self._note_fork(place, stage)

    def _note_fork(self, place: str, stage: Mapping[str, Any]) -> None:
        children: list[str] = []
        for at, child in self.parallel_children(place, stage):
            child_id = child.get("id")
            if not isinstance(child_id, str) or not child_id:
                self.import_notes.note_fault(f"{at}.id", "is missing", "every stage has an id")
            elif child_id in self.keys or child_id in children:
                self.import_notes.note_fault(f"{at}.id", _("%(id)s is there twice", id=child_id))
            else:
                children.append(child_id)
        # Children stand within their stage, or it names stages of the list.
        if isinstance(stage.get("parallel"), list):
            children = [str(stage_id) for stage_id in stage["parallel"]]
        if not children:
            return
        at = self.keys.get(str(stage.get("id")), "")
        for name in children:
            if name not in self.keys:
                if stage.get("type") != "parallel":
                    self.import_notes.note_fault(f"{place}.parallel", _("there is no stage %(id)s", id=name))
                    continue
                self.keys[name] = self.import_notes.claim_key(name, "stage")
            self.joined_at[name] = at
        if known := [self.keys[child] for child in children if child in self.keys]:
            self.entered[str(stage.get("id"))] = known

    def parallel_children(self, place: str, stage: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        if stage.get("type") != "parallel":
            return []
        return objects_in_list(self.import_notes, stage.get("children"), f"{place}.children")

    def rule_target(self, stage_id: Any, path: str) -> Any:
        """Return the target of a rule; None where it is refused."""
        stage_id = text_or_none(stage_id)
        if stage_id in COMPLETE:
            self.completes = True
            return "complete"
        if stage_id in BLOCKED:
            return "@blocked"
        if stage_id == META_ROUTE:
            self.import_notes.note_loss(
                path, "a person chooses where the task goes, in place of another playbook"
            )
            if META_ROUTE not in self.keys:
                self.keys[META_ROUTE] = self.import_notes.claim_key("meta-route", "stage")
            return self.keys[META_ROUTE]
        if stage_id in self.entered:
            entered = self.entered[stage_id]
            return entered if len(entered) > 1 else entered[0]
        if isinstance(stage_id, str) and stage_id in self.keys:
            return self.keys[stage_id]
        self.import_notes.note_fault(
            path,
            _("there is no stage %(id)s", id=shortened_json(stage_id)),
            "name a stage, complete or blocked",
        )
        return None


def read_playbook(document: Mapping[str, Any], import_notes: ImportNotes) -> Json:
    name = str(document.get("name") or "Playbook")
    # The usual end is there under its own name; stations may not take it.
    import_notes.claim_key("complete", "complete")
    book = Playbook(document, import_notes)
    stations: list[Json] = []
    for place, stage in book.stages:
        if text_or_none(stage.get("id")) in book.keys:
            stations += _stations_of_stage(stage, place, book)
    if META_ROUTE in book.keys and META_ROUTE not in [stage.get("id") for _place, stage in book.stages]:
        stations.append(_choice_station(book))
    if book.stages and (forked := book.entered.get(str(book.stages[0][1].get("id")))):
        # A line starts at one station.
        rule = {"id": import_notes.claim_rule_id("start", "rule"), "to": forked}
        start = {
            "key": import_notes.claim_key("start", "start"),
            "name": "Start",
            "work": {"kind": "noop"},
            "rules": [rule],
        }
        stations.insert(0, start)
    return {
        "gateline": 1,
        "key": key_slug(name, "playbook"),
        "name": name,
        **({"description": str(document["description"])} if document.get("description") else {}),
        "preset": PRESET,
        "stations": stations,
        **({"gates": book.gates} if book.gates else {}),
        **(
            {"ends": [{"key": "complete", "kind": "completed", "label": "COMPLETE"}]}
            if book.completes
            else {}
        ),
        **unread_parts(document, ("name", "description", "stages")),
    }


def _choice_station(book: Playbook) -> Json:
    """The station at which a person says where a task goes that the original hands to another playbook."""
    key, rules = book.keys[META_ROUTE], []
    for name in (
        "complete",
        *(str(stage["id"]) for _place, stage in book.stages if text_or_none(stage.get("id"))),
    ):
        rule = {"id": book.import_notes.claim_rule_id(f"{key}-{name}", "rule")}
        when = {"eval": {"op": "equals", "value": name}}
        rules.append({**rule, "when": when, "to": book.rule_target(name, "stages")})
    prompt = "Start a task on the line that takes over (meta.targetPipeline), then say where this one goes."
    return {
        "key": key,
        "name": "Choose where it goes",
        "work": {"kind": "route", "by": "person", "prompt": prompt},
        "rules": rules,
        "extra": {"id": META_ROUTE},
    }


def _stations_of_stage(stage: Mapping[str, Any], place: str, book: Playbook) -> list[Json]:
    """The stage, and before it the children that run side by side."""
    identity = str(stage["id"])
    key, children = book.keys[identity], book.parallel_children(place, stage)
    if (kind := stage.get("type", TYPES[0])) not in TYPES:
        message = _("%(type)s is no type of a stage: it is read as sequential", type=shortened_json(kind))
        book.import_notes.note_loss(f"{place}.type", message)
    child_stations = []
    for at, child in children:
        if text_or_none(child.get("id")) not in book.keys:
            continue  # refused
        for name in ("onPass", "onFail", "fallback", "rules", "gateMode"):
            if child.get(name):
                book.import_notes.note_loss(
                    f"{at}.{name}", "a child only works: its stage says where the task goes"
                )
        rule = {"id": book.import_notes.claim_rule_id(f"{child.get('id')}-done", "rule"), "to": key}
        child_stations.append(_station_document(child, at, book, book.keys[str(child.get("id"))], [rule]))
    # A branch without ways of its own ends at the stage that joins it.
    if identity in book.joined_at and all(stage.get(way) in (None, JOINED) for way, _verdict in WAYS):
        rules = [
            {
                "id": book.import_notes.claim_rule_id(f"{identity}-done", "rule"),
                "to": book.joined_at[identity],
            }
        ]
    elif stage.get("type") == "loop":
        rules = _loop_rules(stage, place, book, key)
    else:
        rules = _verdict_rules(stage, place, book, key, WAYS)
    made = _station_document(stage, place, book, key, rules)
    if forked := book.entered.get(identity):
        aggregation = stage.get("aggregation", "all-pass")
        made["join"] = {"wait_for": forked, "aggregation": aggregation}
        if children:
            # A parallel stage does nothing itself: its children work.
            made["work"] = {"kind": "noop"}
    _add_gate(stage, place, book, made)
    return [*child_stations, made]


def _station_document(
    stage: Mapping[str, Any], place: str, book: Playbook, key: str, station_rules: list[Json]
) -> Json:
    skill, name = stage.get("skill"), str(stage.get("name") or stage.get("id") or key)
    prompt = book.import_notes.escaped_template("prompt", book.prompt)
    instructions = "\n\n".join(part for part in (prompt.strip(), f"Skill: {skill}" if skill else "") if part)
    label = name.replace("-", " ").replace("_", " ")
    if stage.get("trustMode") == "declarative":
        book.import_notes.note_loss(f"{place}.trustMode", "a verdict routes here even where no rule reads it")
    limits = {
        ours: most
        for field, ours in LIMITS.items()
        if (
            most := book.import_notes.whole_number_or_loss(
                stage.get(field), f"{place}.{field}", LEAST[field], MOST_SECONDS
            )
        )
        is not None
    }
    # A loop looks at no rules of a gate, so they are only kept.
    read = [name for name in READ_OF_STAGE if name != "rules" or stage.get("type") != "loop"]
    return {
        "key": key,
        "name": label[:1].upper() + label[1:],
        "work": manual_work(
            book.import_notes, f"{place}.skill", name, f"the skill “{skill}”" if skill else "", instructions
        ),
        **({"limits": limits} if limits else {}),
        "rules": station_rules,
        **unread_parts(stage, read),
    }


def _verdict_rules(
    stage: Mapping[str, Any], place: str, book: Playbook, key: str, ways: tuple[tuple[str, str], ...]
) -> list[Json]:
    rules = []
    for way, verdict in ways:
        if stage.get(way) is None:
            continue
        target = book.rule_target(stage[way], f"{place}.{way}")
        if target is not None:
            rules.append(
                {
                    "id": book.import_notes.claim_rule_id(f"{key}-{verdict}", "rule"),
                    "label": way,
                    "when": {"verdict": verdict},
                    "to": target,
                }
            )
    return rules


def _loop_rules(stage: Mapping[str, Any], place: str, book: Playbook, key: str) -> list[Json]:
    """Again until the verdict that it waits for came, at most so many times; then `onExhausted`."""
    until = text_or_none(stage.get("until", "VERDICT_PASS"))
    if until not in ("VERDICT_PASS", "VERDICT_FAIL", "ISSUE_OUT_OF_ACTIVE_STATE", "ALWAYS"):
        book.import_notes.note_fault(
            f"{place}.until", _("%(until)s is no end of a loop", until=shortened_json(until))
        )
        return []
    most = stage.get("maxIterations", USUAL_ITERATIONS)
    # Not isinstance: true is an int to Python, too
    if type(most) is not int or not 1 <= most <= 10_000:
        book.import_notes.note_fault(f"{place}.maxIterations", "has to be a whole number from 1 to 10,000")
        return []
    done = book.rule_target(stage.get("onComplete"), f"{place}.onComplete")
    # ALWAYS goes on only after the last iteration, by onComplete.
    over = done if until == "ALWAYS" else book.rule_target(stage.get("onExhausted"), f"{place}.onExhausted")
    if done is None or over is None:
        return []
    end_word, other = ("fail", "pass") if until == "VERDICT_FAIL" else ("pass", "fail")
    again: Json = {"verdict": ["pass", "fail"] if until == "ALWAYS" else other}
    rules: list[Json] = []
    if until != "ALWAYS":
        rules.append(
            {
                "id": book.import_notes.claim_rule_id(f"{key}-complete", "rule"),
                "label": "onComplete",
                "when": {"verdict": end_word},
                "to": done,
            }
        )
    repeat: Json = {
        "id": book.import_notes.claim_rule_id(f"{key}-again", "rule"),
        "label": "Again",
        "when": again,
        "to": key,
    }
    # A fork and @blocked cannot be the target of a limit.
    exhausted = over if isinstance(over, str) and not over.startswith("@") else ""
    if exhausted:
        # The first run is an iteration there, and no retry here.
        repeat |= {"max_retries": most - 1, "on_exhausted": {"to": exhausted}}
    else:
        repeat |= {"max_retries": most - 1, "on_exhausted": "stuck"}
        book.import_notes.note_loss(
            f"{place}.onExhausted", "after the last repetition the task is stuck here"
        )
    if most > 1:
        rules.append(repeat)
    else:
        # One iteration only: nothing is repeated, and it leads on at once.
        rules.append({"id": repeat["id"], "label": "onExhausted", "when": again, "to": over})
    return rules + _verdict_rules(stage, place, book, key, (("fallback", "blocked"),))


def _add_gate(stage: Mapping[str, Any], place: str, book: Playbook, station: Json) -> None:
    """Its gate rules are checks of a gate of the station (D15, D18)."""
    rules, mode = stage.get("rules"), stage.get("gateMode")
    if mode not in (None, "") and str(mode) not in MODES:
        book.import_notes.note_fault(
            f"{place}.gateMode",
            _("%(mode)s is no mode of a gate", mode=shortened_json(mode)),
            f"it is {', '.join(MODES)}",
        )
        return
    if rules and stage.get("type") == "loop":
        book.import_notes.note_loss(
            f"{place}.rules", "a loop looks at no rules there, so nothing is checked here"
        )
        rules = None
    checks = check_group_or_none(rules, f"{place}.rules", book.import_notes) if rules else None
    if checks is None and MODES.get(str(mode)) in (None, "auto"):
        return
    # 57 characters and “-rules” fit into a key, which has 64.
    gate: Json = {"key": f"{station['key'][:57]}-rules", "name": f"Rules of {station['name']}"}
    gate["mode"] = MODES.get(str(mode), "auto")
    if checks is not None and gate["mode"] == "auto":
        gate["checks"] = checks
    elif checks is not None:
        book.import_notes.note_loss(f"{place}.rules", "a gate that always asks, or never, looks at no rules")
    book.gates.append(gate)
    station["gate"] = gate["key"]
