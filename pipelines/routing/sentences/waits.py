"""Sentences for what a token waits for: what happened, then the remedy, the verbatim name last (law §11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Protocol

from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.escalations import deadlock_words, trigger_words
from pipelines.routing.sentences.names import gate_name, station_name


@dataclass(frozen=True, slots=True)
class ProblemAndRemedy:
    """`name` is the verbatim error, copyable; "" where there is none."""

    text: str
    remedy: str = ""
    name: str = ""


class WaitingToken(Protocol):
    """A token, or where one stands in a test."""

    @property
    def station(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def wait(self) -> Mapping[str, Any]: ...


def wait_sentence_or_none(
    token: WaitingToken, line: ParsedLine, summary: str = ""
) -> ProblemAndRemedy | None:
    """Return why a token does not go on by itself, and what would free it; None where nothing stops it.
    `summary`: the summary that its last job reported."""
    match token.status:
        case "stuck":
            return stuck_sentence(token, line, summary)
        case "blocked":
            return blocked_sentence(token.wait, summary)
        case "held":
            return hold_sentence(token.wait, line)
        case "evaluating":
            return evaluation_sentence(token.wait)
        case "awaiting_review":
            gates = ", ".join(gate_name(line, key) for key in token.wait.get("gates", ()))
            return ProblemAndRemedy(f"Waits at {gates}.", "A reviewer decides.")
    return None


def stuck_sentence(token: WaitingToken, line: ParsedLine, summary: str = "") -> ProblemAndRemedy:
    rule = token.wait.get("rule")
    words = {"station": station_name(line, token.station), "rule": rule or ""}
    entry = STUCK.get(token.error)
    if entry is None:
        text = str(token.wait.get("message") or "The engine could not decide where this task goes.")
        return ProblemAndRemedy(text, "Retry the station, or change the line and publish it.", token.error)
    sentence, remedy = entry
    text = sentence % words
    if token.error in OF_THE_OUTCOME and (cause := shortened_first_line(summary)):
        # What went wrong comes before what the rules made of it
        text = f"{cause}{'' if cause[-1] in ENDS_OF_SENTENCES else '.'} {text}"
    return ProblemAndRemedy(text, remedy, token.error)


def shortened_first_line(summary: str) -> str:
    """Return what a station said first, shortened to stand in a sentence."""
    line = summary.strip().partition("\n")[0].rstrip()
    return line if len(line) <= LONGEST_CAUSE else f"{line[: LONGEST_CAUSE - 1]}…"


LONGEST_CAUSE = 200
ENDS_OF_SENTENCES = ".!?…"
OF_THE_OUTCOME = ("NoValidTransition", "RetryLimitExceeded")
"""Errors about what a station reported: its own words say more than that nothing took them."""


MOST_AHEAD = 3
"""Tasks that a sentence names."""
STUCK = {
    "NoValidTransition": (
        "No rule of %(station)s took this outcome.",
        "Retry the station, or add a rule that takes it.",
    ),
    "CircularWorkflow": (
        "This task went in a circle: it came to a station again that it may enter once.",
        "Retry by hand from a station, or allow the rule to revisit.",
    ),
    "RetryLimitExceeded": (
        "The retries of %(station)s are used up.",
        "Look at what failed, then retry the station by hand.",
    ),
    "VisitLimitExceeded": (
        "This task came to one station so often that Gateline stopped it.",
        "Look for a loop without a limit in the line.",
    ),
    "InvalidTransitionSyntax": (
        "Rule “%(rule)s” of %(station)s is faulty.",
        "Correct the rule and publish the line, then retry.",
    ),
    "OutputDataParseError": (
        "The output of %(station)s was not JSON, and a rule or the next station asks for it.",
        "Look at the log, then retry the station.",
    ),
    "TransitionEvaluationError": (
        "A condition of %(station)s could not be evaluated.",
        "Look at the trace, correct the rule, then retry.",
    ),
    "ForcedRouteLoop": (
        "A second forced route was demanded in one decision at %(station)s.",
        "Change the gate's checks or the rule, then retry.",
    ),
    "NoOrigin": (
        "A rule of %(station)s leads back to where the task came from, but it came from nowhere.",
        "Retry by hand from another station.",
    ),
    "ForbiddenParallel": (
        "%(station)s cannot continue: two stations that exclude each other would run in parallel.",
        "Retry it when the other branch has left.",
    ),
    "StationGone": (
        "%(station)s leads to a station that the version of this task does not have any more.",
        "Migrate the task with a mapping for that station, or retry the station.",
    ),
    "compose_failed": (
        "A variable could not be composed from the output of %(station)s.",
        "Look at the output, then retry the station.",
    ),
}


def waiting_question_or_empty(wait: Mapping[str, Any]) -> str:
    """Return the question for a person, from a station or from an evaluation."""
    if wait.get("question"):
        return str(wait["question"])
    evaluation = wait.get("evaluation") or {}
    if "agentic" in evaluation:
        return str(evaluation["agentic"].get("question", ""))
    if "tool" in evaluation:
        tool = evaluation["tool"]
        words = {"gate": tool.get("gate", ""), "argv": " ".join(map(str, tool.get("argv", ())))}
        return "What does the tool of gate {gate} say? It runs “{argv}”.".format(**words)
    if "hook" in evaluation:
        return f"Does the hook “{' '.join(map(str, evaluation['hook'].get('argv', ())))}” pass?"
    return ""


MOST_CHOICES = 12


def question_text_blocker_texts_and_choices(
    wait: Mapping[str, Any], blockers: Iterable[Any]
) -> tuple[str, list[str], tuple[str, ...]]:
    """Return the question of a station, what else it says keeps it from going on, and the choices for an answer: of the
    question, or of the only blocker."""
    question, choices = _text_and_choices(str(wait.get("question") or ""))
    texts = [blocker_words(blocker) for blocker in blockers]
    if not choices and len(texts) == 1:
        texts[0], choices = _text_and_choices(texts[0])
    return question, texts, choices


def _text_and_choices(text: str) -> tuple[str, tuple[str, ...]]:
    """Split the choices off: the last lines of a text, where two or more begin with “- ”."""
    lines = text.rstrip().split("\n")
    listed = list(takewhile(lambda line: line.startswith("- ") and line[2:].strip(), reversed(lines)))
    if not 2 <= len(listed) <= MOST_CHOICES:
        return text, ()
    return "\n".join(lines[: -len(listed)]).rstrip(), tuple(line[2:].strip() for line in reversed(listed))


def evaluation_sentence(wait: Mapping[str, Any]) -> ProblemAndRemedy:
    who = EVALUATED.get(str(wait.get("evaluator")), "")
    return ProblemAndRemedy(f"Evaluating: {waiting_question_or_empty(wait)}", who)


EVALUATED = {
    "model": "A model answers; then the rules decide.",
    "worker": "The evaluator of a runner answers; then the rules decide.",
    "hook": "Its exit code decides, as soon as it has run on a runner.",
    "tool": "Whether the gate passes depends on it, as soon as it has run on a runner.",
}


def blocker_words(blocker: Any) -> str:
    """`{title, description}`, a text, or whatever a station says keeps it from going on."""
    if not isinstance(blocker, dict):
        return str(blocker)[:500]
    parts = [str(blocker[key]) for key in ("title", "description") if blocker.get(key)]
    return ": ".join(parts)[:500] or "Something keeps it from going on."


def blocked_sentence(wait: Mapping[str, Any], summary: str = "") -> ProblemAndRemedy:
    question = waiting_question_or_empty(wait)
    if wait.get("why"):
        question = f"{question} Nobody could answer it: {str(wait['why'])[:500]}"
    return ProblemAndRemedy(
        question or summary.strip()[:500] or "The station could not continue by itself.",
        "Answer to continue." if question else "Your answer goes to the station, which runs again.",
    )


def _dependency_sentence(wait: Mapping[str, Any]) -> ProblemAndRemedy:
    ahead, others = wait.get("turn", []), wait["depends_on"]
    if wait.get("failed"):
        text = f"It waits for {', '.join(wait['failed'])}, which failed or was cancelled."
        return ProblemAndRemedy(text, "Release it to continue without them, or cancel it.")
    if ahead and ahead == others:
        more = f" and {len(ahead) - MOST_AHEAD} more" if len(ahead) > MOST_AHEAD else ""
        text = f"It waits for its turn after {', '.join(ahead[:MOST_AHEAD])}{more}: the line has a limit."
    else:
        text = f"It waits until {', '.join(others)} is completed."
    return ProblemAndRemedy(text, "Continues automatically. Release starts it now.")


def hold_sentence(wait: Mapping[str, Any], line: ParsedLine) -> ProblemAndRemedy:
    if "rejection" in wait:
        naming = wait["rejection"]
        words = {"gate": gate_name(line, naming.get("gate", "")), "reason": naming.get("reason", "")}
        text = "Nothing has changed since {gate} rejected it.".format(**words)
        if words["reason"]:
            text = "Nothing has changed since {gate} rejected it: {reason}".format(**words)
        return ProblemAndRemedy(text, "Retry a station so that there is something new to review.")
    if wait.get("missing"):
        names = [missing_precondition_words(str(name)) for name in wait["missing"]]
        text = f"Cannot continue yet. Missing: {'; '.join(names)}."
        return ProblemAndRemedy(
            text,
            first_precondition_remedy(wait["missing"]),
            ", ".join(wait["missing"]),
        )
    if wait.get("deadlock"):
        text = f"A deadlock: {deadlock_words(wait['deadlock'])}."
        return ProblemAndRemedy(text, "Its work is held until somebody responsible resolves it.")
    if wait.get("depends_on"):
        return _dependency_sentence(wait)
    if wait.get("trigger"):
        words = {"trigger": trigger_words(wait["trigger"])}
        text = "It was escalated: %(trigger)s."
        if wait.get("budget"):
            words["budget"] = budget_name_or_key(line, wait["budget"])
            text = "It was escalated: the limit “%(budget)s” is used up."
        if "paused_by" in wait:
            text = "All its work is held until an escalation is resolved: %(trigger)s."
        return ProblemAndRemedy(
            text % words,
            "Somebody responsible decides how it continues.",
            # The one trigger that is also a verbatim name (law §11)
            str(wait["trigger"]) if wait["trigger"] in ("RetryLimitExceeded",) else "",
        )
    if wait.get("paused"):
        reason = f": {wait['reason']}" if wait.get("reason") else "."
        return ProblemAndRemedy(f"Paused by {wait['by']}{reason}", "Continues when somebody resumes it.")
    if wait.get("by"):
        text = f"{wait['by']} holds this task"
        reason = f": {wait['reason']}" if wait.get("reason") else "."
        return ProblemAndRemedy(text + reason, "Continues when released.")
    return ProblemAndRemedy("This task is held.", "Continues when released.")


def missing_precondition_words(name: str) -> str:
    """A precondition of going forward, as what is not there (docs/rules.md)."""
    kind, _colon, what = name.partition(":")
    words = {
        "station_gate": "the station's gate was not passed",
        "handoff": "a valid handoff document",
        "agent": "agent %(agent)s, registered, with a valid contract and a free place",
        "metadata": "a value for %(agent)s",
        "no_open_escalation": "the answer to an escalation",
    }.get(kind, name)
    return words % {"agent": what} if what else words


def first_precondition_remedy(names: Iterable[str]) -> str:
    """Return what to do about the first precondition that somebody can supply."""
    for name in names:
        remedy = SUPPLIED.get(str(name).partition(":")[0])
        if remedy:
            return f"{remedy} Continues automatically when nothing is missing."
    return "Continues automatically when nothing is missing."


SUPPLIED = {
    "handoff": "Hand the document over on the page of the task.",
    "metadata": "Enter the value on the page of the task.",
    "agent": "Register the agent under Settings › Agents, or renew its contract there.",
}


def budget_name_or_key(line: ParsedLine, key: str) -> str:
    return next((budget.name for budget in line.named_budgets_in_force if budget.key == key), key)
