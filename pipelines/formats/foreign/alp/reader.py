"""Assembly lines of ALP: one document, or the files of `.agentics` put together (A1…A31). The preset is `alp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.alp import gate_tools as alp_tools
from pipelines.formats.foreign.alp import typed_conditions as alp_typed
from pipelines.formats.foreign.alp.assembly_line import (
    ALSO,
    FROM,
    GATE,
    TO,
    WORKED,
    AssemblyLine,
    first_named_value,
    station_trigger,
)
from pipelines.formats.foreign.import_notes import (
    ImportNotes,
    Json,
    key_slug,
    shortened_json,
    text_or_none,
    unread_parts,
)
from pipelines.routing.basics.wording import Wording as _

PRESET: Final = "alp"
CONDITIONS: Final = ("success", "failure", "cancelled", "any")
REPOSITORY: Final = ("createAssemblyLineRepo", "createStageRepo")
UNUSED: Final = {
    "schedule": "no task starts by it: save a schedule under Triggers, whose form begins with its day and time zone",
    "automations": "no task starts by what happens elsewhere: let a program start them over the API, or a person",
    "marketplaces": "nothing is installed from marketplaces: choose an agent that has what its station needs",
    "tunables": "nothing is tuned: write into the prompts what it would change",
    "specs": "stations are given no specifications of a line: keep them in the repository that they work on",
    "operatorConfig": "an operator's settings do nothing: choose agent, secrets and limits at the stations",
    "testbench": "recorded answers of models are not played: give the line scenarios of its own",
    "devcontainer": "no development container is made: say under Runners what stations work in",
}
"""What is otherwise here, by its key in the line, and by the name of the file or folder of its own."""
READ_OF_STATION: Final = ("name", "prompt")
READ_OF_TRIGGER: Final = (
    "labels",
    "promptTemplate",
    "idleTimeoutMinutes",
    "maxTimeoutMinutes",
)
READ_OF_RULE: Final = (
    *FROM, *TO, *GATE, ALSO,
    *("id", "label", "condition", "maxRetries", "evaluator", "onYes", "onNo", "hook", "onPass", "onBlock"),
)  # fmt: skip
DRY_RUN: Final = "dry-run"
READ_OF_GATE: Final = ("name", "description", "requiresApproval", "notifyEmails")


def read_assembly_line(document: Mapping[str, Any], import_notes: ImportNotes) -> Json:
    line = AssemblyLine(document, import_notes)
    for at, rule in line.rules:
        if str(first_named_value(rule, FROM)) not in line.keys:
            path = f"{at}.{next((name for name in FROM if name in rule), FROM[0])}"
            import_notes.note_fault(
                path, _("there is no station %(id)s", id=shortened_json(first_named_value(rule, FROM)))
            )
    name = str(document.get("name") or document.get("id") or "Line")
    stations = _station_documents(line)
    if line.asks:
        import_notes.note_loss(
            line.of_rules,
            "conditions may ask an evaluator or a hook in this line, because its rules do",
        )
    _report_unused(line, document)
    return {
        "gateline": 1,
        "key": key_slug(document.get("id") or name, "line"),
        "name": name,
        **({"description": str(document["description"])} if document.get("description") else {}),
        "preset": PRESET,
        **({"flags": {"agentic_conditions": True}} if line.asks else {}),
        "stations": stations,
        **({"ends": ends} if (ends := _end_documents(line, stations)) else {}),
        **(
            {"gates": [_gate_document(gate, place, line) for place, gate in line.gates]} if line.gates else {}
        ),
        **unread_parts(document, ("id", "name", "description", line.part, line.of_rules, "gates")),
    }


def _station_documents(line: AssemblyLine) -> list[Json]:
    """Make each with those of its questions behind it, so that the one before it in order stays the one before it."""
    made = [
        _station_document(station, place, line)
        for place, station in line.stations
        if str(station.get("id")) not in line.sinks
    ]
    keys = list(line.keys.values())
    # With those that are ends here: what succeeds may go on to one.
    after = {key: keys[place + 1] for place, key in enumerate(keys[:-1])}
    sinks = {line.keys[identity] for identity in line.sinks}
    for station in made:
        results = [rule["when"].get("result") for rule in station["rules"]]
        follows = after.get(station["key"], "completed")
        # What succeeds goes past the questions, and to an end that stands behind it.
        if (station["key"] in line.questions or follows in sinks) and not {"success", "any"} & set(results):
            rule = {
                "id": line.import_notes.claim_rule_id(f"{station['key']}-next", "rule"),
                "when": {"result": "success"},
            }
            station["rules"].append({**rule, "to": follows})
    return [member for station in made for member in (station, *line.questions.get(station["key"], ()))]


def _end_documents(line: AssemblyLine, stations: list[Json]) -> list[Json]:
    """Stations where nothing works and nothing leads on: failed, if only failures and cancellations lead there (T5)."""
    results_by_target: dict[str, set[str]] = {}
    for rule in (rule for station in stations for rule in station["rules"]):
        results_by_target.setdefault(rule["to"], set()).add(str(rule.get("when", {}).get("result")))
    ends = []
    for index, (_place, station) in enumerate(line.stations):
        if (identity := str(station.get("id"))) in line.sinks:
            key = line.keys[identity]
            results = results_by_target.get(key, set())
            # The dialect has no ends: what leads there says which kind it is
            kind = "failed" if results and results <= {"failure", "cancelled"} else "completed"
            extra = {**unread_parts(station, ("name",)).get("extra", {}), "place": index}
            ends.append({"key": key, "kind": kind, "label": _station_label(station), "extra": extra})
    return ends


def _station_label(station: Mapping[str, Any]) -> str:
    name = str(station.get("name") or station.get("id"))
    return name.capitalize() if name.isupper() else name


def _report_unused(line: AssemblyLine, document: Mapping[str, Any]) -> None:
    """Name what the line, a station or `init.json` beside it says and what nothing does here."""
    holders = [("", document), ("init.", _to_object(document.get("init")))]
    for place, station in line.stations:
        _report_trigger(station, place, line.import_notes)
        holders += [(f"{place}.", station), (f"{place}.trigger.", station_trigger(station))]
    for path, holder in holders:
        for name, message in UNUSED.items():
            if holder.get(name):
                line.import_notes.note_loss(f"{path}{name}", message)


def _report_trigger(station: Mapping[str, Any], place: str, import_notes: ImportNotes) -> None:
    """Name a trigger that is another one than this system reads: whoever works there is a person."""
    trigger = import_notes.object_or_loss(station.get("trigger"), f"{place}.trigger")
    if (kind := trigger.get("type")) not in (None, "", "none", WORKED):
        message = _("%(kind)s starts nothing here: a person works at this station", kind=shortened_json(kind))
        import_notes.note_loss(f"{place}.trigger.type", message)


def _report_repository(trigger: Mapping[str, Any], place: str, import_notes: ImportNotes) -> None:
    for name in REPOSITORY:
        if trigger.get(name) is True:
            import_notes.note_loss(
                f"{place}.trigger.{name}",
                "no repository is made for a task: its runners hand on files as artifacts",
            )


def _station_document(station: Mapping[str, Any], place: str, line: AssemblyLine) -> Json:
    import_notes, identity = line.import_notes, str(station.get("id"))
    key, label, trigger = line.keys[identity], _station_label(station), station_trigger(station)
    _report_repository(trigger, place, import_notes)
    system = _prompt_text(trigger, "appendSystemPrompt", station, "system", place, import_notes)
    prompt = _prompt_text(trigger, "promptTemplate", station, "prompt", place, import_notes)
    rules = [
        made for at, rule in line.rules_from(identity) for made in _rule_documents(rule, at, key, label, line)
    ]
    limits = {
        to: f"{minutes}m"
        for to, field in (("idle_timeout", "idleTimeoutMinutes"), ("max_timeout", "maxTimeoutMinutes"))
        if (minutes := import_notes.whole_number_or_loss(trigger.get(field), f"{place}.trigger.{field}"))
    }
    labels = import_notes.texts_or_loss(trigger.get("labels"), f"{place}.trigger.labels")
    rest = unread_parts(station, (*READ_OF_STATION, "trigger")).get("extra", {})
    # What nobody reads of the trigger is kept, so that an export has it.
    rest |= {"trigger": unread} if (unread := unread_parts(trigger, READ_OF_TRIGGER).get("extra")) else {}
    return {
        "key": key,
        "name": label,
        "work": _work_document(trigger.get("type") == WORKED, system, prompt),
        **({"limits": limits} if limits else {}),
        **({"labels": labels} if labels else {}),
        "rules": rules,
        **({"extra": rest} if rest else {}),
    }


def _prompt_text(
    trigger: Mapping[str, Any],
    key: str,
    station: Mapping[str, Any],
    fallback_key: str,
    place: str,
    import_notes: ImportNotes,
) -> str:
    """Take it of the trigger, else of the file beside its station."""
    if trigger.get(key):
        return import_notes.escaped_template(f"{place}.trigger.{key}", trigger[key])
    return import_notes.escaped_template(f"{place}.{fallback_key}", station.get(fallback_key))


def _work_document(dispatched: bool, system: str, prompt: str) -> Json:
    """Make it a runner's, who asks for it; or a person's, who is told both."""
    if dispatched:
        return {
            "kind": "runner",
            **({"prompt": prompt} if prompt else {}),
            **({"system": system} if system else {}),
        }
    instructions = "\n\n".join(filter(None, (system, prompt)))
    return {"kind": "manual", **({"instructions": instructions} if instructions else {})}


def _rule_documents(rule: Mapping[str, Any], at: str, key: str, name: str, line: AssemblyLine) -> list[Json]:
    if alp_typed.is_typed(rule.get("condition")):
        return _typed_rules(rule, at, key, name, line)
    condition = text_or_none(rule.get("condition"))
    if condition == "agentic":
        return _answer_rules(rule, at, key, line, ("onYes", "onNo"))
    if condition == "hook":
        return _answer_rules(rule, at, key, line, ("onPass", "onBlock"))
    if condition not in CONDITIONS:
        line.import_notes.note_fault(
            f"{at}.condition",
            _("%(condition)s is no condition", condition=shortened_json(rule.get("condition"))),
            "it is success, failure, cancelled or any",
        )
        return []
    name = next((candidate for candidate in TO if candidate in rule), TO[0])
    target = line.target_key_or_fault(rule.get(name), f"{at}.{name}")
    if target is None:
        return []
    return [_rule_document(rule, at, line, f"{key}-{condition}", {"result": condition}, target)]


def _typed_rules(rule: Mapping[str, Any], at: str, key: str, name: str, line: AssemblyLine) -> list[Json]:
    """Lead to the station that its questions are, after the outcome that it names, and through its own gates."""
    condition = rule["condition"].get("when", "success")
    if condition not in CONDITIONS:
        line.import_notes.note_fault(
            f"{at}.condition.when", _("%(condition)s is no condition", condition=shortened_json(condition))
        )
        return []
    station = alp_typed.question_station_or_none(rule, at, name, line)
    if station is None:
        return []
    line.questions.setdefault(key, []).append(station)
    # Where the rule led is kept with the station of its questions, under `typed`.
    bare = {name: value for name, value in rule.items() if name not in TO}
    return [_rule_document(bare, at, line, f"{key}-typed", {"result": condition}, station["key"])]


def _answer_rules(
    rule: Mapping[str, Any], at: str, key: str, line: AssemblyLine, ways: tuple[str, str]
) -> list[Json]:
    """Return one rule for each answer, and only after a success (A25, A27, A29)."""
    # The line gets the flag without which such rules are not published (law §3).
    line.asks = True
    asks = ways[0] == "onYes"
    question = rule.get("evaluator" if asks else "hook")
    if not isinstance(question, str) or not question.strip():
        line.import_notes.note_fault(f"{at}.{'evaluator' if asks else 'hook'}", "is missing")
        return []
    question_test: Json = {"agentic": {"question": question}} if asks else {"hook": {"argv": [question]}}
    rules = []
    for way, answer in zip(ways, ("yes", "no") if asks else ("pass", "block"), strict=True):
        to = rule.get(way)
        if not isinstance(to, Mapping):
            line.import_notes.note_fault(f"{at}.{way}", "has to name a station")
            continue
        target = line.target_key_or_fault(to, f"{at}.{way}.toStationId")
        if target is None:
            continue
        when: Json = {"all": [{"result": "success"}, {**question_test, "answer": answer}]}
        made = _rule_document(rule, at, line, f"{key}-{answer}", when, target)
        # The evaluator's explanation, where it leads back to its own station; a hook's text, where it says so (A28).
        if (feedback := to.get("feedbackFromHook")) is True or (asks and target == key):
            made["feedback"] = True
        elif feedback:
            message = _("%(value)s is read as false", value=shortened_json(feedback))
            line.import_notes.note_loss(f"{at}.{way}.feedbackFromHook", message)
        rules.append(made)
    return rules


def _rule_document(
    rule: Mapping[str, Any], at: str, line: AssemblyLine, otherwise: str, when: Json, to: str
) -> Json:
    most = line.import_notes.whole_number_or_loss(rule.get("maxRetries"), f"{at}.maxRetries", least=0)
    gates = line.required_gates(rule, at)
    return {
        "id": line.import_notes.claim_rule_id(rule.get("id") or otherwise, "rule"),
        **({"label": str(rule["label"])} if rule.get("label") else {}),
        "when": when,
        "to": to,
        **({"gates": gates} if gates else {}),
        **({"max_retries": most} if most is not None else {}),
        **unread_parts(rule, READ_OF_RULE),
    }


def _gate_document(gate: Mapping[str, Any], place: str, line: AssemblyLine) -> Json:
    emails = line.import_notes.texts_or_loss(gate.get("notifyEmails"), f"{place}.notifyEmails")
    decided = _decision_mode(gate, place, line.import_notes)
    # That nobody had to approve is kept where a person decides here in place of a tool.
    replaced = bool(gate.get("tool")) and decided == {"mode": "manual"}
    return {
        "key": line.gate_keys[str(gate.get("id"))],
        "name": str(gate.get("name") or gate.get("id")),
        **({"description": str(gate["description"])} if gate.get("description") else {}),
        **decided,
        # That system bars nobody.
        "approval": {"requester_may": True, "producer_may": True},
        **({"notify": emails} if emails else {}),
        **unread_parts(
            gate, [field for field in READ_OF_GATE if field != "requiresApproval" or not replaced]
        ),
    }


def _decision_mode(gate: Mapping[str, Any], place: str, import_notes: ImportNotes) -> Json:
    """Say who decides: a person, a tool, both or nobody."""
    bare = {"requires_approval": False} if gate.get("requiresApproval") is False else {}
    if gate.get("enabled") is False:
        return {"mode": "skip", **bare}  # T8: it passes, and that is recorded
    if not gate.get("tool"):
        return bare
    tool = alp_tools.gate_tool_or_loss(gate, place, import_notes)
    if tool is None:
        return {"mode": "manual"}
    if gate.get("mode") == DRY_RUN:
        return {"mode": "manual", **bare, "tool": tool}  # its result is shown, and decides nothing
    return {"mode": "auto" if bare else "checks_then_manual", "tool": tool}


def _to_object(document: Any) -> Json:
    return dict(document) if isinstance(document, Mapping) else {}
