"""The work of one job: the outcome, and what it left behind stored (house §2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from pipelines.routing.document.kinds import KINDS, is_instant, kind_executes
from pipelines.routing.document.kinds.agent import KIND as AGENT_KIND
from pipelines.routing.document.kinds.agent import agent_preset_or_none, uses_runner_sign_in
from pipelines.routing.document.kinds.deliver import KIND as DELIVER_KIND
from pipelines.routing.document.kinds.wait_for_checks import KIND as CHECKS_KIND
from pipelines.work.agents import sign_in
from pipelines.work.config import WorkerConfig
from pipelines.work.file_measure import is_no_room_left
from pipelines.work.git import attempt_repository
from pipelines.work.git.attempt import Prepared
from pipelines.work.git.refusals import GitRefused, list_of_first_paths
from pipelines.work.handlers.job_log import JobLog, SilentSink
from pipelines.work.handlers.table import HANDLERS
from pipelines.work.orders.order import Orders, Unrenderable
from pipelines.work.orders.specs import job_spec, pushed_spec
from pipelines.work.results import repositories
from pipelines.work.results.files import remove_path
from pipelines.work.results.output import outcome_with_output_facts, shortened_reason
from pipelines.work.results.secrets import SecretFinder
from pipelines.work.results.text import Masker, masked_value
from pipelines.work.spec.handler_io import Attempt, LookAgain, Outcome, Spec
from pipelines.work.spec.repository import GitState, RepositoryAccess
from pipelines.work.transport.protocol import (
    NO_VALUES,
    JobTransport,
    Material,
    NotStored,
    Started,
    StartingWorkspace,
)
from pipelines.work.worker import attempt_io, environment_preparation, repository, secret_files
from pipelines.work.worker.attempt_io import (
    Packed,
    complete_outcome_and_packed_results,
    failed_outcome,
    outcome_with_claims,
    outcome_with_git_changes,
)
from pipelines.work.worker.evaluations import QuestionAnswerer
from pipelines.work.worker.prepared_copies import PreparedCopies
from pipelines.work.worker.prepared_files import PreparedFiles
from pipelines.work.worker.task_questions import TaskQuestions
from pipelines.work.workspaces import Folders, ReusableFolder, restore_workspace

log = structlog.get_logger(__name__)


class JobExecution:
    """Execution of jobs, one per process for all of its jobs."""

    def __init__(
        self, config: WorkerConfig, transport: JobTransport, folders: Folders, copies: PreparedCopies
    ) -> None:
        self.config, self.transport, self.folders, self.copies = config, transport, folders, copies
        self.asking = QuestionAnswerer(transport, folders, self._fill_folder_or_none)
        # Something could not be written: shown in /healthz until it can be again.
        self.no_space = False
        self._own_masker = Masker(config.secrets)
        self._prepared = PreparedFiles(config.workspaces, copies)

    async def run_job(self, started: Started) -> Outcome:
        """The outcome of one job; whatever it left behind is stored. A full disk is an outcome, too: another attempt
        here would only meet it again, and what was half written is removed."""
        try:
            return await self._run_work(started)
        except NotStored as error:
            return failed_outcome("not_stored", f"What this run left was not stored: {error}")
        except OSError as error:
            if not is_no_room_left(error):
                raise
            self.no_space = True
            # Copies are made again where they are wanted: what they take is room
            self.copies.remove_all_copies()
            log.error("no_space", job=started.orders.job_id, why=str(error))
            return failed_outcome(
                "no_space", "The disk of this worker is full. Make room on it, then try again."
            )

    def run_instant_job_or_none(self, started: Started) -> Outcome | None:
        """The outcome of work that takes no time, without an event loop; None of any other."""
        orders = started.orders
        if orders.question is not None or orders.git is not None or not is_instant(orders.kind):
            return None
        work = self._run_work(started)
        try:
            # One step by hand is all of it: such work never waits
            work.send(None)
        except StopIteration as done:
            outcome: Outcome = done.value
            return outcome
        work.close()
        raise AssertionError(f"work of kind {orders.kind} waits for something")

    async def _run_work(self, started: Started) -> Outcome:
        kind = started.orders.kind
        if started.orders.question is not None:
            return masked_value(
                await self.asking.answer(started, self._config_for_job(started)),
                self._masker_for_job(started),
            )
        if started.orders.git is not None and started.orders.git.pushed_by:
            return await self._run_in_new_folder(started)
        if kind_executes(kind):
            return await self._run_in_new_folder(started)
        if kind not in HANDLERS:
            return failed_outcome("unknown_work", f"This worker does not know work of kind “{kind}”.")
        if not KINDS[kind].calls and await self._needs_merge(started):
            return await self._run_in_new_folder(started)
        try:
            spec = job_spec(started.orders, Attempt(self.folders.home), self._config_for_job(started))
        except Unrenderable as error:
            return failed_outcome("template_error", str(error))
        if KINDS[kind].calls:
            return await self._run_without_folder(started, spec)
        return masked_value(await HANDLERS[kind](spec, SilentSink()), self._masker_for_job(started))

    async def _needs_merge(self, started: Started) -> bool:
        """Return whether branches or a moved base have to be merged first: then the work gets a folder,
        whatever its kind is."""
        git = started.orders.git
        if git is None or git.problem:
            return False
        state = (await self.transport.read_material(started)).git
        return state is not None and ((git.joins and state.joined) or (state.moved and bool(state.head)))

    async def _run_without_folder(self, started: Started, spec: Spec) -> Outcome:
        """Run work that calls a server: it has a log but no folder."""
        sink = self._log_of_job(started)
        try:
            if spec.kind == DELIVER_KIND.key:
                order = await repository.delivery_order(
                    started, self._config_for_job(started), self.transport
                )
                spec = replace(spec, delivery=order)
            elif spec.kind == CHECKS_KIND.key:
                checks = await repository.checks_order(started, self._config_for_job(started), self.transport)
                spec = replace(spec, checks=checks)
            outcome = await HANDLERS[spec.kind](spec, sink)
            await sink.end()
        except LookAgain:
            await sink.end()
            raise
        except (Unrenderable, GitRefused) as error:
            await sink.end()
            kind = error.failure_type if isinstance(error, GitRefused) else "template_error"
            return failed_outcome(kind, str(error))
        except BaseException:
            await asyncio.shield(sink.abandon())
            raise
        return masked_value(outcome, self._masker_for_job(started))

    async def _run_in_new_folder(self, started: Started) -> Outcome:
        orders = started.orders
        try:
            # Before anything starts, and before a folder is made: an undefined variable is an error (law §8a).
            attempt = self.folders.attempt_folder(
                orders.task_id, orders.job_id, orders.attempt, started.lease
            )
            spec = self._spec_of_job(started, attempt)
        except Unrenderable as error:
            return failed_outcome("template_error", str(error))
        try:
            return await self._run_in_filled_folder(started, spec)
        except Unrenderable as error:  # of the line: where its tasks work
            await asyncio.to_thread(self.folders.remove_attempt, attempt)
            return failed_outcome("template_error", str(error))
        except GitRefused as error:
            await asyncio.to_thread(self.folders.remove_attempt, attempt)
            return failed_outcome(error.failure_type, str(error))
        except BaseException:
            # Shielded: a cancelled attempt leaves no folder either
            await asyncio.shield(asyncio.to_thread(self.folders.remove_attempt, attempt))
            raise

    def _spec_of_job(self, started: Started, attempt: Attempt) -> Spec:
        """Build the spec of a job; the visit of somebody who pushed has no work but theirs. :raises
        Unrenderable"""
        orders = started.orders
        if orders.git is not None and orders.git.pushed_by:
            return pushed_spec(orders, attempt, self._config_for_job(started))
        return job_spec(orders, attempt, self._config_for_job(started))

    async def _run_in_filled_folder(self, started: Started, spec: Spec) -> Outcome:
        orders, attempt = started.orders, spec.attempt
        material = await self.transport.read_material(started)
        access = self._repository_access(started, material) if orders.git else None
        # Counts are of what is committed (law §13): nothing that git left out comes along.
        anew = access is not None and (
            repository.needs_fresh_files(access) or attempt_io.paths_of_counted_reports(spec)
        )
        before = None if anew else material.before
        reused_folder = await asyncio.to_thread(self._fill_folder_or_none, orders.task_id, attempt, before)
        if spec.agent is not None:
            await asyncio.to_thread(
                self.folders.try_to_move_home_into_attempt, orders.task_id, _home_key(orders), attempt
            )
        context, fetch = orders.scope["context"], self.transport.fetch
        await asyncio.to_thread(
            attempt_io.write_input_files, attempt, context, material, fetch, orders.handoff
        )
        folder = Folder(spec, reused_folder, access, before is not None, before)
        outcome, packed = await self._outcome_and_packed_results_with_log(started, folder)
        # Before the report: whoever reads the outcome finds what it names
        await self.transport.store_results(started, packed.results_to_store(attempt.root, before))
        if spec.agent is not None:
            await asyncio.to_thread(self.folders.keep_home, orders.task_id, _home_key(orders), attempt)
        # After the store, which still reads these files
        await asyncio.to_thread(self._keep_or_remove_folder, orders.task_id, attempt, packed)
        if orders.station.kind == attempt_io.AGENT:  # of a push, too: it claims nothing
            outcome = outcome_with_claims(outcome, before, packed.picture)
        masker = self._masker_for_job(started, spec.secrets_now())
        return masked_value(packed.with_observed_trees(outcome, before, orders.station.expects), masker)

    async def _outcome_and_packed_results_with_log(
        self, started: Started, folder: Folder
    ) -> tuple[Outcome, Packed]:
        """Run the work with its log. The log is complete before anything else is stored."""
        sink = self._log_of_job(started, folder.spec.secrets_now if folder.spec.agent else None)
        try:
            outcome, packed = await self._outcome_and_packed_results_with_repository(started, folder, sink)
            for one in packed.artifacts:
                if one.error:
                    await sink.note(f"[gateline] The artifact {one.name} was not kept: {one.error}")
            if packed.picture is not None and packed.picture.skipped:
                names = list_of_first_paths(packed.picture.skipped)
                await sink.note(f"[gateline] Left out, as it cannot be stored: {names}")
            await sink.end()
        except BaseException:
            await asyncio.shield(sink.abandon())
            raise
        return outcome, packed

    async def _outcome_and_packed_results_with_repository(
        self, started: Started, folder: Folder, sink: JobLog
    ) -> tuple[Outcome, Packed]:
        """Run the work of a job: of a line without a repository the work alone; else what it works on comes
        before it, and a commit after."""
        if folder.access is None:
            return await self._outcome_and_packed_results_of_handler(
                started, self._with_questions(started, folder), sink
            )
        try:
            ready = await repository.prepare_workspace_files(folder.access, folder.spec, folder.filled, sink)
        except GitRefused as error:
            await sink.note(f"[gateline] {error}")
            return repository.refusal_outcome(error), Packed((), {}, None)
        if folder.access.state.head and attempt_io.paths_of_counted_reports(folder.spec):
            await sink.note(
                "[gateline] Reports of this station count, so it starts with committed files alone."
            )
        made = await environment_preparation.prepare_environment(
            ready, started.orders, folder.spec, folder.filled, self._prepared, self.config.images, sink
        )
        if made.problem:
            return failed_outcome(environment_preparation.FAILURE_TYPE, made.problem), Packed((), {}, None)
        folder = replace(folder, spec=made.spec_in_prepared_folder(folder.spec))
        roots = made.files.roots
        # What was prepared is no change of the station
        await asyncio.to_thread(attempt_repository.ignore_paths, folder.spec.attempt.workspace, roots)
        but = (attempt_repository.GIT, *ready.modules.git_folders, *roots)
        folder = self._with_questions(started, folder, ready, but)
        outcome, packed = await self._outcome_and_packed_results_of_handler(started, folder, sink, but)
        packed = environment_preparation.packed_without_prepared_files(packed, made)
        packed = attempt_io.packed_without_reports(folder.spec, packed, ready.files)
        return await repository.commit_and_add_facts(ready, started.orders, folder.spec, outcome, packed)

    def _with_questions(
        self, started: Started, folder: Folder, ready: Prepared | None = None, but: tuple[str, ...] = ()
    ) -> Folder:
        spec, transport = folder.spec, self.transport
        asking = TaskQuestions(
            transport, started, spec, partial(self._masker_for_job, started), folder.before, ready, but
        )
        return replace(folder, spec=asking.spec_with_port())

    async def _outcome_and_packed_results_of_handler(
        self, started: Started, folder: Folder, sink: JobLog, but: tuple[str, ...] = ()
    ) -> tuple[Outcome, Packed]:
        if not kind_executes(folder.spec.kind):
            outcome = await HANDLERS[folder.spec.kind](folder.spec, sink)
            return await asyncio.to_thread(
                complete_outcome_and_packed_results, folder.spec, outcome, folder.kept, but
            )
        spec, finder = folder.spec, self._secret_finder_for_job(started)
        workspace = spec.attempt.workspace
        present = await asyncio.to_thread(secret_files.file_stamp_by_path, workspace, but) if finder else {}
        stood = await asyncio.to_thread(repositories.repository_heads, workspace)
        reports = await asyncio.to_thread(attempt_io.report_stamps_before_work, spec)
        outcome = await HANDLERS[spec.kind](spec, sink)
        outcome = outcome_with_git_changes(spec, outcome, await repositories.station_changes(spec, stood))
        outcome, packed = await asyncio.to_thread(
            complete_outcome_and_packed_results, spec, outcome, folder.kept, but, reports
        )
        if not finder:
            return outcome, packed
        # The lent sign-in may have been renewed meanwhile: its new tokens are looked for, too
        if late := spec.secrets_now():
            finder = self._secret_finder_for_job(started, late)
        checked = secret_files.outcome_and_packed_without_secret_files
        outcome, packed = await asyncio.to_thread(checked, spec.attempt, outcome, packed, finder, present)
        if outcome.get("failure_type") == secret_files.FAILURE_TYPE:
            await sink.note(f"[gateline] {outcome['summary']}")
        return outcome, packed

    def _repository_access(self, started: Started, material: Material) -> RepositoryAccess:
        return repository.repository_access(
            started,
            material.git or GitState(),
            self._config_for_job(started),
            self.transport.fetch,
            material.before,
        )

    def _log_of_job(
        self, started: Started, find_secrets: Callable[[], Iterable[str]] | None = None
    ) -> JobLog:
        return JobLog(
            self.transport.log_appender(started),
            self._config_for_job(started).secrets,
            find_secrets=find_secrets,
        )

    # What came with the job

    def _config_for_job(self, started: Started) -> WorkerConfig:
        values, lent = started.values, self._lent_tokens(started)
        # A log names a repository, never a path of the server.
        orders = started.orders
        paths = tuple(str(folder["path"]) for folder in (*orders.folders, *orders.submodule_folders))
        # The very same object: by it `_masker_for_job` sees that this worker's own masker will do
        if values is NO_VALUES and not lent and not paths:
            return self.config
        masked = (*values.masked, *lent, *paths)
        return self.config.with_values(values.secrets, values.variables, masked, values.withheld)

    def _lent_tokens(self, started: Started) -> tuple[str, ...]:
        """Return what nothing may show of the sign-in that this job is lent."""
        work = started.orders.station.work
        preset = (
            agent_preset_or_none(work)
            if started.orders.kind == AGENT_KIND.key and uses_runner_sign_in(work)
            else None
        )
        if preset is None or preset.key not in self.config.signed_in:
            return ()
        return sign_in.sign_in_tokens(preset, self.config.signed_in[preset.key])

    def _masker_for_job(self, started: Started, late: Sequence[str] = ()) -> Masker:
        """`late`: what became known while the work ran."""
        config = self._config_for_job(started)
        return self._own_masker if config is self.config and not late else Masker((*config.secrets, *late))

    def _secret_finder_for_job(self, started: Started, late: Sequence[str] = ()) -> SecretFinder:
        """Return a finder of the secrets that are registered for the line of the job, or with this worker."""
        known = self._config_for_job(started).named_secrets.values()
        return SecretFinder((*started.values.masked, *self._lent_tokens(started), *late, *known))

    # In threads, with files

    def _fill_folder_or_none(
        self, task_id: int, attempt: Attempt, starting_workspace: StartingWorkspace | None
    ) -> ReusableFolder | None:
        """Fill the attempt's folder with what the station before left."""
        self.folders.make_attempt_folders(attempt)
        if starting_workspace is None:
            self.folders.remove_kept_folder(task_id)
            return None
        reused_folder = self.folders.reuse_folder_or_none(task_id, starting_workspace.digest, attempt)
        if reused_folder is None:
            stored = starting_workspace.stored
            restore_workspace(
                starting_workspace.manifest,
                attempt.workspace,
                lambda digest, path: self.transport.fetch(stored[digest], path),
            )
        return reused_folder

    def _keep_or_remove_folder(self, task_id: int, attempt: Attempt, packed: Packed) -> None:
        picture = packed.picture
        if picture is None:
            self.folders.remove_attempt(attempt)
            return
        self._prepared.keep_files_of_station(packed.environment, attempt.workspace)
        for path in packed.apart:
            remove_path(attempt.workspace, path)
        self.folders.keep_folder_of_task(task_id, ReusableFolder(attempt, picture.digest, picture.stamps))


@dataclass(frozen=True)
class Folder:
    """Folder in which one attempt works. `access`: its repository, of a line that has one; `filled`: whether
    the files of the station before are there."""

    spec: Spec
    kept: ReusableFolder | None
    access: RepositoryAccess | None = None
    filled: bool = False
    before: StartingWorkspace | None = None


def _home_key(orders: Orders) -> str:
    """Branches that run side by side share no HOME: of an agent at a station."""
    return f"{orders.station.key}.{orders.station.work.get('agent')}"


def unstorable_outcome(outcome: Outcome, why: str) -> Outcome:
    """The report in place of an outcome that the engine cannot store; it keeps how the work ended."""
    preserved: Outcome = {
        key: outcome[key] for key in ("result", "exit_code", "reason", "verdict") if key in outcome
    }
    reported = {**(preserved or {"result": "failure"}), "output_error": why, "summary": why[:2000]}
    return outcome_with_output_facts(reported, {"unreadable": shortened_reason(why)})
