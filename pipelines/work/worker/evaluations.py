"""Jobs that answer a question about an outcome: who answers, with what input, and where (docs/workers.md,
Evaluations)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.durations import parse_seconds
from pipelines.routing.document.evaluations import HOOK_TIMEOUT, MODEL, WORKER
from pipelines.routing.document.gate_tools import KIND
from pipelines.work.config import WorkerConfig
from pipelines.work.handlers import evaluate, judge
from pipelines.work.handlers.evaluate import no_answer_outcome
from pipelines.work.handlers.job_log import JobLog
from pipelines.work.orders.order import Orders, certificate_variables, command_environment, station_access
from pipelines.work.processes.isolation import Access
from pipelines.work.spec.handler_io import Attempt, Outcome, ProcessLimits, Sink, Spec
from pipelines.work.transport.protocol import JobTransport, Started, StartingWorkspace
from pipelines.work.workspaces import Folders, ReusableFolder, WorkspaceTooLarge, picture_of_workspace

# How long the command of an evaluator may take.
EVALUATOR_SECONDS = 600.0
Prepare = Callable[[int, Attempt, StartingWorkspace | None], ReusableFolder | None]
Run = Callable[[Spec, Sink, Orders], Awaitable[Outcome]]


@dataclass(frozen=True)
class QuestionAnswerer:
    """`prepare` fills an attempt's folder with what the station left."""

    transport: JobTransport
    folders: Folders
    prepare: Prepare = field(repr=False)

    async def answer(self, started: Started, config: WorkerConfig) -> Outcome:
        """The outcome of the question's job: `eval` is the answer, `feedback` its explanation. `config`: this
        worker's, with what came with the job."""
        orders = started.orders
        if orders.question is None or orders.question.outcome is None:
            return no_answer_outcome("The question is gone.")
        if orders.kind == MODEL:
            question = orders.question.asked["agentic"]["question"]
            return await judge.ask_judge_model(str(question), orders.question.outcome, config.outgoing)
        if orders.kind not in PROGRAMS:
            return no_answer_outcome(f"This worker does not know questions of kind “{orders.kind}”.")
        spec, run = PROGRAMS[orders.kind]
        return await self._answer_in_workspace_copy(started, config, spec, run)

    async def _answer_in_workspace_copy(
        self,
        started: Started,
        config: WorkerConfig,
        make: Callable[[Orders, Attempt, WorkerConfig], Spec],
        run: Run,
    ) -> Outcome:
        """Answer in a copy of the workspace; what the question changes there is nobody's work, and is
        dropped."""
        orders = started.orders
        attempt = self.folders.attempt_folder(orders.task_id, orders.job_id, orders.attempt, started.lease)
        before = await self.transport.read_workspace_before_or_none(started)
        try:
            reused_folder = await asyncio.to_thread(self.prepare, orders.task_id, attempt, before)
            outcome = await self._run_with_log(started, config, make(orders, attempt, config), run)
        except BaseException:
            # Shielded: a cancelled attempt leaves no folder either
            await asyncio.shield(asyncio.to_thread(self.folders.remove_attempt, attempt))
            raise
        await asyncio.to_thread(self._keep_or_remove_folder, orders.task_id, attempt, before, reused_folder)
        return outcome

    async def _run_with_log(self, started: Started, config: WorkerConfig, spec: Spec, run: Run) -> Outcome:
        sink = JobLog(self.transport.log_appender(started), config.secrets)
        try:
            outcome = await run(spec, sink, started.orders)
            await sink.end()
        except BaseException:
            await asyncio.shield(sink.abandon())
            raise
        return outcome

    def _keep_or_remove_folder(
        self,
        task_id: int,
        attempt: Attempt,
        starting_workspace: StartingWorkspace | None,
        reused_folder: ReusableFolder | None,
    ) -> None:
        """The folder serves the next station as long as nothing in it was changed."""
        try:
            picture = (
                picture_of_workspace(attempt.workspace, reused_folder.stamps if reused_folder else None)
                if starting_workspace
                else None
            )
        except WorkspaceTooLarge:
            picture = None
        if starting_workspace and picture and picture.digest == starting_workspace.digest:
            self.folders.keep_folder_of_task(task_id, ReusableFolder(attempt, picture.digest, picture.stamps))
        else:
            self.folders.remove_attempt(attempt)


def hook_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    """The outcome as JSON on standard input."""
    assert orders.question is not None and orders.question.outcome is not None
    hook = orders.question.asked["hook"]
    limit = float(parse_seconds(hook.get("timeout", HOOK_TIMEOUT)))
    return _evaluator_spec(orders, attempt, config, tuple(hook["argv"]), orders.question.outcome, limit)


def evaluator_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    """`{question, outcome, task, station}` as JSON on standard input."""
    assert orders.question is not None
    document = {
        "question": orders.question.asked["agentic"]["question"],
        "outcome": orders.question.outcome,
        "task": orders.scope["task"],
        "station": orders.station.key,
    }
    spec = _evaluator_spec(orders, attempt, config, config.evaluator, document, EVALUATOR_SECONDS)
    # The operator's program and no station's: it asks whom it has to ask.
    return replace(spec, access=Access())


def _evaluator_spec(
    orders: Orders,
    attempt: Attempt,
    config: WorkerConfig,
    argv: tuple[str, ...],
    stdin: Mapping[str, Any],
    limit: float,
) -> Spec:
    return Spec(
        kind=orders.kind,
        attempt=attempt,
        argv=argv,
        prompt=jsontext.dumps(stdin, ascii_only=False) + "\n",
        env={**certificate_variables(attempt, config), **command_environment(orders, attempt, config)},
        limits=ProcessLimits(total=limit),
        isolation=config.isolation,
        access=station_access(orders, config),
        outgoing=config.outgoing,
        resources=config.resources.with_limits_of_station(orders.station.resources),
    )


def tool_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    """The outcome as JSON on standard input, unless the tool says what it gets."""
    assert orders.question is not None and orders.question.outcome is not None
    tool = orders.question.asked["tool"]
    spec = _evaluator_spec(
        orders, attempt, config, tuple(tool["argv"]), orders.question.outcome, float(tool["timeout"])
    )
    prompt = tool.get("stdin", spec.prompt)
    # The last one wins: a tool cannot replace PATH, HOME or a GATELINE_ variable
    env = {**tool.get("env", {}), **spec.env}
    return replace(spec, prompt=prompt, env=env, cwd=str(tool.get("cwd", ".")))


async def run_tool(spec: Spec, sink: Sink, orders: Orders) -> Outcome:
    assert orders.question is not None
    tool = orders.question.asked["tool"]
    outcome, retries = tool["outcome"], tool["retries"]
    how = evaluate.ToolRules(
        outcome["parse"], tuple(outcome["success_on"]), int(retries["max"]), float(retries["backoff"])
    )
    return await evaluate.run_tool(spec, sink, how)


async def run_hook(spec: Spec, sink: Sink, orders: Orders) -> Outcome:
    return await evaluate.run_hook(spec, sink)


async def run_evaluator(spec: Spec, sink: Sink, orders: Orders) -> Outcome:
    return await evaluate.run_evaluator(spec, sink)


PROGRAMS: dict[str, tuple[Callable[[Orders, Attempt, WorkerConfig], Spec], Run]] = {
    "hook": (hook_spec, run_hook),
    WORKER: (evaluator_spec, run_evaluator),
    KIND: (tool_spec, run_tool),
}
"""Who answers by a program, and how."""
