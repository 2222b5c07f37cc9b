"""The templates of lines. Each is a document as a person would have typed it (`lines/`), proven by tests: lint finds
neither errors nor warnings in it, and its sample run goes where it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pipelines.formats import native
from pipelines.routing.basics.wording import as_heading
from pipelines.routing.decide.decisions import Wait
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.guarantees import line_guarantee_sentence
from pipelines.routing.sentences.names import end_name, gate_name, station_name
from pipelines.routing.simulate.run import ScenarioResult, run_scenario_until_refused
from pipelines.routing.simulate.scenario import ScenarioScript, read_scenario

LINES = Path(__file__).with_name("lines")
Steps = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Starter:
    """`needs`: what has to be there before a task of it gets through. `sample`: the steps of a run."""

    key: str
    purpose: str
    needs: tuple[str, ...]
    steps: Steps
    inputs: Mapping[str, Any]

    @property
    def reviewer_needs(self) -> tuple[str, ...]:
        """Needs of the template that are people who review."""
        return tuple(need for need in self.needs if need in (REVIEWER, TWO_REVIEWERS))

    @cached_property
    def text(self) -> str:
        return (LINES / f"{self.key}.yaml").read_text(encoding="utf-8")

    @cached_property
    def line(self) -> ParsedLine:
        return native.read_text(self.text)

    @property
    def guarantee_sentences(self) -> list[str]:
        """Its guarantees as sentences; each is proved."""
        return [
            as_heading(line_guarantee_sentence(self.line, guarantee)) for guarantee in self.line.guarantees
        ]

    @cached_property
    def scenario(self) -> ScenarioScript:
        return read_scenario(
            {"key": "sample", "name": "Sample run", "inputs": dict(self.inputs), "steps": list(self.steps)}
        )

    @cached_property
    def sample_run(self) -> ScenarioResult:
        return run_scenario_until_refused(self.line, self.scenario)

    @property
    def sample_path(self) -> Iterator[str]:
        """Names of the stations and gates of the sample run, in order, and of its end, as people read them."""
        pending: set[str] = set()
        for step in self.sample_run.steps:
            gates = [
                key for _, decision in step.decisions if isinstance(decision, Wait) for key in decision.gates
            ]
            # A gate is asked once, though each of several gates that is decided leaves the others waiting.
            yield from (gate_name(self.line, key) for key in gates if key not in pending)
            pending = {*pending, *gates} if gates else set()
            yield from (station_name(self.line, key) for key in step.entered)
        if self.sample_run.walk and self.sample_run.walk.end:
            yield end_name(self.line, self.sample_run.walk.end)

    def text_with_key(self, key: str) -> str:
        """The text, of a line with another key."""
        # With the line break in front: the keys of stations are indented.
        return self.text.replace(f"\nkey: {self.key}\n", f"\nkey: {key}\n", 1)


def _outcome_step(result: str = "success", **more: Any) -> Mapping[str, Any]:
    return {"outcome": {"result": result, **more}}


def _gate_step(gate: str, word: str = "approve") -> Mapping[str, Any]:
    return {"gates": {gate: word}}


TWO_REVIEWERS = "Two members who may review, besides who asks"
REVIEWER = "A member who may review, besides who asks and who does the work"
EXECUTE = "The permission to publish programs, and a runner"

REPOSITORY = "A repository that is connected to the project, and may be pushed to"

AGENT = "A coding agent, with its key among the secrets"
INPUT = {"repository": "https://git.example.com/team/app.git"}

STARTERS: tuple[Starter, ...] = (
    Starter(
        "request-to-merged-change",
        "Changes that somebody asks for: planned, agreed on, made, checked, reviewed and merged as reviewed.",
        (
            REPOSITORY,
            EXECUTE,
            REVIEWER,
            AGENT,
            "A command that tests the repository",
        ),
        (
            _outcome_step(output={"plan": "Count attempts by account and address."}),
            _gate_step("plan-approval"),
            _outcome_step(),
            _outcome_step(),
            _outcome_step(),
            _outcome_step(),
            _gate_step("code-review"),
            _outcome_step(eval="delivered"),
        ),
        {"request": "Add rate limiting to sign-in", **INPUT},
    ),
    Starter(
        "fix-lint-findings",
        "Small repository fixes that a program makes and a person reviews. Needs no model and no key.",
        (REPOSITORY, EXECUTE, REVIEWER, "A linter that can fix, and a command that tests the repository"),
        (
            _outcome_step(),
            _outcome_step(artifacts=["lint.sarif"]),
            _outcome_step(artifacts=["tests.xml"]),
            _gate_step("code-review"),
            _outcome_step(eval="delivered"),
        ),
        INPUT,
    ),
    Starter(
        "dependency-update",
        "Updates that nobody likes to do by hand, and that somebody should look at before they are merged.",
        (REPOSITORY, EXECUTE, REVIEWER, "A command that updates the dependencies, and one that tests"),
        (_outcome_step(), _outcome_step(), _gate_step("code-review"), _outcome_step(eval="delivered")),
        INPUT,
    ),
    Starter(
        "review-branch",
        "Work that was made elsewhere: tested, read first, and merged as it was reviewed.",
        (REPOSITORY, EXECUTE, REVIEWER, AGENT, "A command that tests the repository"),
        (
            _outcome_step(),
            _outcome_step(output={"findings": "None"}),
            _gate_step("code-review"),
            _outcome_step(eval="delivered"),
        ),
        {**INPUT, "branch": "add-login"},
    ),
    Starter(
        "release",
        "Versions that two people answer for, from the change of the number to what is published.",
        (
            REPOSITORY,
            EXECUTE,
            TWO_REVIEWERS,
            "A command that writes the version, one that tests, and one that publishes",
        ),
        (
            _outcome_step(),
            _outcome_step(),
            _gate_step("release-approval"),
            _outcome_step(eval="delivered"),
            _outcome_step(),
        ),
        {**INPUT, "version": "2.4.0"},
    ),
    Starter(
        "review-before-delivery",
        "Work that needs a second pair of eyes: documents, releases, answers to customers.",
        (REVIEWER,),
        (_outcome_step(), _gate_step("review"), _outcome_step(output={"where": "to the customer"})),
        {"what": "The offer"},
    ),
    Starter(
        "build-test-fix",
        "Software that has to pass its tests, with a limit on retries.",
        (EXECUTE, "The commands make build and make test"),
        (_outcome_step(), _outcome_step("failure"), _outcome_step(), _outcome_step(), _outcome_step()),
        {},
    ),
    Starter(
        "checks-in-turn",
        "Several checks of one thing, with one place to fix whatever failed.",
        (EXECUTE, REVIEWER, "The commands make lint, make test and make audit"),
        (
            _outcome_step(),
            _outcome_step("failure"),
            _outcome_step(),
            _outcome_step(),
            _outcome_step(),
            _gate_step("sign-off"),
        ),
        {},
    ),
    Starter(
        "checks-side-by-side",
        "Long, independent checks: they run in parallel, and the release waits for both.",
        (
            EXECUTE,
            "The commands make build, make test and make audit",
            "Somebody who may do manual work",
        ),
        (
            _outcome_step(),
            _outcome_step(),
            _outcome_step("failure"),
            _outcome_step(),
            _outcome_step(),
            _outcome_step(),
            _outcome_step(),
            _outcome_step(),
        ),
        {},
    ),
    Starter(
        "triage",
        "Reports of any kind that take different paths, and sometimes need a question answered first.",
        ("Somebody who may do manual work",),
        (_outcome_step(output={"grave": "high"}), _outcome_step()),
        {"report": "The door does not close"},
    ),
    Starter(
        "agent-draft",
        "Texts that an agent drafts and people are responsible for.",
        (
            EXECUTE,
            "An agent program, named in AGENT_COMMAND",
            "Two members who may review, besides who asked",
        ),
        (
            _outcome_step("failure"),
            _outcome_step(output={"draft": "A first draft"}),
            _gate_step("two-people"),
            _outcome_step(),
        ),
        {"goal": "Explain the new tariff"},
    ),
    Starter(
        "intake",
        "Requests from others: a form to fill in, a decision, a day.",
        ("Somebody who may do manual work",),
        (_outcome_step(output={"accepted": "accept"}), _outcome_step(output={"day": "2030-01-15"})),
        {"request": "Access to the archive", "kind": "access"},
    ),
)
BY_KEY: Mapping[str, Starter] = {starter.key: starter for starter in STARTERS}
