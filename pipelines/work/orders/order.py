"""The orders of a job: the station's work with every template rendered. An undefined variable is an error before
anything starts (law §8a)."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pipelines.ports.server_folders import FolderRefused, ServerFolders
from pipelines.routing.document.kinds import work_templates
from pipelines.routing.document.networks import station_network
from pipelines.routing.document.templates import TemplateError, UndefinedVariable, render_template
from pipelines.routing.document.work.network import OPEN, name_and_port_of_host_or_none
from pipelines.routing.document.work.references import SECRET, VARIABLE, resolve_secret_name
from pipelines.work.config import WorkerConfig
from pipelines.work.outgoing.authorities import program_variables
from pipelines.work.processes.isolation import Access
from pipelines.work.results.document import FLUX, NATIVE
from pipelines.work.results.output import example_output
from pipelines.work.spec.handler_io import Attempt, ProcessLimits, Spec
from pipelines.work.spec.repository import GitOrder

FEEDBACK = "FEEDBACK FROM PREVIOUS EVALUATION:"
QUESTION, ANSWER = "YOUR QUESTION:", "THE ANSWER:"
EXAMPLES = "Replace each value by your own."
VIBE_FACTORY = "vibe-factory"
# In the folder with what is given to the work.
CONTEXT, ARTIFACTS, HANDOFF, INPUTS = "context.json", "artifacts", "handoff.json", "inputs"
# Without a limit of its own a command may run an hour (dialect A).
MAX_SECONDS = 3600.0
# The system takes 128 KiB for one variable, a character four bytes at most; a prompt has it all.
LONGEST_FEEDBACK = 30_000
PLACE = re.compile(r"\{\{.*?\}\}", re.DOTALL)


class Unrenderable(Exception):
    """A template of the station cannot be rendered; the message says which, and what is missing."""


@dataclass(frozen=True)
class QuestionOrder:
    """A question about an outcome, for the job that answers it. `outcome` is None where the token no longer
    waits for the answer; a report is refused then."""

    asked: Mapping[str, Any]
    outcome: Mapping[str, Any] | None = field(repr=False)


@dataclass(frozen=True)
class StationOrder:
    """Order of a station: what the worker has to know of it. `labels`: those that a `route` chooses from."""

    key: str
    work: Mapping[str, Any]
    output_keys: tuple[str, ...] = ()
    result_document: str = "none"
    idle_timeout: float | None = None
    max_timeout: float | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    # What it is expected to leave (law §13), and the files that it declares: {path, kind, required}.
    expects: str = ""
    artifacts: tuple[Mapping[str, Any], ...] = ()
    labels: tuple[str, ...] = ()
    # What it may reach where its network is a list, as host:port; inputs are resolved.
    hosts: tuple[str, ...] = ()
    # US dollars that one run may cost, where it is an agent's, and whose limit that is: the run's, the task's, the
    # month's.
    cost_usd: float | None = None
    cost_limit: str = ""

    @property
    def kind(self) -> str:
        return str(self.work["kind"])


@dataclass(frozen=True)
class Orders:
    """A job as JSON values; nothing is read again while it runs. `kind`: of the work, or who answers the `question`."""

    job_id: int
    attempt: int
    task_id: int
    project_id: int
    token_id: int
    task: str
    owner: str
    visit: int
    feedback: str
    # The question that the feedback answers; "" where it is an evaluation's, or a reviewer's.
    asked: str
    project: str
    preset: str
    kind: str
    station: StationOrder
    # The tools of which its model is told, as the station that runs them declares them.
    declared: tuple[Mapping[str, Any], ...]
    scope: Mapping[str, Any] = field(repr=False)
    # Keys of the inputs that name a repository.
    repositories: tuple[str, ...] = ()
    # Folders of the server that this job names and that are allowed for its owner, as `PermittedFolder.to_dict`.
    folders: tuple[Mapping[str, Any], ...] = ()
    # Of a repository in such a folder, those in which its submodules may be: all that are allowed for its owner.
    submodule_folders: tuple[Mapping[str, Any], ...] = ()
    # The document that the station before handed over; None where there is none.
    handoff: Any = field(default=None, repr=False)
    question: QuestionOrder | None = None
    # Of a line that works in a repository.
    git: GitOrder | None = None
    # When the task came to the station, in seconds since 1970.
    begun: float = 0.0
    # Somebody asked for the checks of the host to run again, and the host was not told yet.
    rerun: bool = False
    # Of the agent that worked here before, where it is to go on with it.
    session: str = ""
    # Of this worker, at the moment at which it gets the job.
    machine: Mapping[str, Any] = field(default_factory=lambda: machine_values(), repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return the orders as JSON, to be written, not to be changed: it shares its values with the orders."""
        plain = {**vars(self), "station": vars(self.station)}
        for name, part in (("question", self.question), ("git", self.git)):
            plain[name] = None if part is None else vars(part)
        # Of the worker that runs the job: each fills in its own when it reads the orders
        del plain["machine"]
        return plain

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> Orders:
        station, question, git = plain["station"], plain["question"], plain["git"]
        its = {name: tuple(station[name]) for name in ("output_keys", "artifacts", "labels", "hosts")}
        names = ("declared", "repositories", "folders", "submodule_folders")
        made = {name: tuple(plain.get(name, ())) for name in names}
        fields: dict[str, Any] = {**plain, **made, "station": StationOrder(**{**station, **its})}
        question_order = QuestionOrder(**question) if question else None
        return cls(**{**fields, "question": question_order, "git": _git_order_or_none(git)})


def _git_order_or_none(plain: Mapping[str, Any] | None) -> GitOrder | None:
    return GitOrder(**{**plain, "sensitive": tuple(plain["sensitive"])}) if plain else None


def machine_values() -> dict[str, Any]:
    """Values of this worker now: when, and on which machine, the job starts."""
    return {"now": datetime.now(UTC), "os": platform.system().lower(), "arch": platform.machine().lower()}


def command_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    """:raises Unrenderable: before anything starts"""
    station, work = orders.station, orders.station.work
    argv = tuple(
        rendered_text(orders, f"argv[{index}]", str(part)) for index, part in enumerate(work.get("argv", ()))
    )
    own = {
        key: rendered_text_or_stored_value(orders, f"env.{key}", value, config)
        for key, value in work.get("env", {}).items()
    }
    return Spec(
        kind=station.kind,
        attempt=attempt,
        argv=argv,
        prompt=station_prompt_or_none(orders),
        # The last one wins: a station cannot replace PATH, HOME or a GATELINE_ variable
        env={**certificate_variables(attempt, config), **own, **command_environment(orders, attempt, config)},
        cwd=rendered_text(orders, "cwd", str(work.get("cwd", "."))),
        limits=ProcessLimits(idle=station.idle_timeout, total=station.max_timeout or MAX_SECONDS),
        result_document=station.result_document,
        document_style=FLUX if orders.preset == FLUX else NATIVE,
        output_keys=tuple(station.output_keys),
        isolation=config.isolation,
        access=station_access(orders, config),
        outgoing=config.outgoing,
        resources=config.resources.with_limits_of_station(station.resources),
        expects=station.expects,
        artifacts=station.artifacts,
    )


def station_access(orders: Orders, config: WorkerConfig) -> Access:
    """The network as the version has it; listed repositories for a station whose document names one."""
    work = orders.station.work
    texts = [text for _place, text in work_templates(work, "work")]
    # Which folder an input will name is not in the text: then all that are allowed count
    by_input = any(
        name in place for text in texts for place in PLACE.findall(text) for name in orders.repositories
    )
    allowed = config.folders(orders.folders)
    paths = (folder.path for folder in allowed.allowed)
    reachable = [path for path in paths if by_input or any(path in text for text in texts)]
    folders = tuple(Path(path) for path in reachable if is_real_allowed_folder(allowed, path))
    listed = tuple(
        host for host in map(name_and_port_of_host_or_none, orders.station.hosts) if host is not None
    )
    return Access(network=station_network(work) == OPEN, repositories=folders, hosts=listed)


def is_real_allowed_folder(folders: ServerFolders, path: str) -> bool:
    try:
        # Checked now, not when it was allowed: meanwhile it may be gone or another folder
        return folders.allowed_real_folder(path) == path
    except FolderRefused:
        return False


def rendered_text_or_stored_value(orders: Orders, place: str, value: Any, config: WorkerConfig) -> str:
    """A text rendered, or the secret or variable that is named in its stead."""
    if not isinstance(value, Mapping):
        return rendered_text(orders, place, str(value))
    kind = SECRET if SECRET in value else VARIABLE
    name = resolve_secret_name(str(value[kind]), orders.scope["input"])
    known = config.named_secrets if kind == SECRET else config.named_variables
    if name in known:
        return known[name]
    asks = f"{orders.station.key}: work.{place} asks for the {kind} {name or value[kind]}"
    if not name:
        raise Unrenderable(f"{asks}, which this task was started without.")
    if name in config.withheld_secrets:
        raise Unrenderable(
            f"{asks}, which is a credential of the repository {config.withheld_secrets[name]}: no station gets it. "
            "Store a secret of its own for this station."
        )
    raise Unrenderable(
        f"{asks}, which is not stored for this line. Add it under Settings › Secrets and variables."
    )


def rendered_text(orders: Orders, place: str, text: str) -> str:
    try:
        return render_template(text, {**orders.scope, "macros": {**orders.scope["macros"], **orders.machine}})
    except UndefinedVariable as missing:
        raise Unrenderable(
            f"{orders.station.key}: work.{place} asks for {{{{{missing.name}}}}}, which this task does not have."
        ) from missing
    except TemplateError as fault:
        raise Unrenderable(f"{orders.station.key}: work.{place}: {fault}") from fault


def station_prompt_or_none(orders: Orders) -> str | None:
    """The prompt, the outputs that are expected of it, and the latest feedback (law §2 and §5)."""
    text = orders.station.work.get("prompt")
    if text is None:
        return None
    parts = [rendered_text(orders, "prompt", str(text))]
    if orders.preset == VIBE_FACTORY and orders.scope["context"]:
        parts.append(context_so_far(orders.scope["context"]))
    parts += _expected_section_if_any(orders)
    if orders.feedback:
        parts.append(feedback_section(orders))
    return _paragraphs_ending_in_newline(parts)


def follow_up_prompt(orders: Orders) -> str:
    """The next message to an agent that already knows its task: the feedback and what is expected of it."""
    return _paragraphs_ending_in_newline([feedback_section(orders), *_expected_section_if_any(orders)])


def _expected_section_if_any(orders: Orders) -> list[str]:
    """None or one. What changed in git is found, not said."""
    expected = tuple(key for key in orders.station.output_keys if key != "git")
    return [expected_outputs(expected)] if expected else []


def _paragraphs_ending_in_newline(paragraphs: list[str]) -> str:
    return "\n\n".join(part.rstrip("\n") for part in paragraphs) + "\n"


def context_so_far(context: Mapping[str, Any]) -> str:
    """The output of completed stations, for a station of Vibe Factory, whose prompts do not refer to it (C24)."""
    text = json.dumps(dict(context), indent=2, ensure_ascii=False)
    return f"## Context from previous stations\n\n```json\n{text}\n```"


def feedback_section(orders: Orders) -> str:
    """The latest feedback to the station, or the answer to its question (law §5 step 3)."""
    if orders.asked:
        return f"{QUESTION}\n{orders.asked}\n\n{ANSWER}\n{orders.feedback}"
    return f"{FEEDBACK}\n{orders.feedback}"


def expected_outputs(keys: tuple[str, ...]) -> str:
    """The section that names the keys which are taken from the answer, with an example (C23)."""
    listed = "\n".join(f"- {key}" for key in keys)
    example_json = json.dumps(example_output(keys), indent=2, ensure_ascii=False)
    how = f"End your answer with one block like this. {EXAMPLES}"
    return f"## Expected outputs\n\n{listed}\n\n{how}\n\n```json\n{example_json}\n```"


def certificate_variables(attempt: Attempt, config: WorkerConfig) -> dict[str, str]:
    """Return the variables that tell programs whom to trust besides the public authorities. A station's own
    variables take precedence."""
    return program_variables(attempt.certificates) if config.authorities.own else {}


PROGRAMS_AS_THEY_ARE: Final = {"npm_config_manage_package_manager_versions": "false"}
"""Keep pnpm from fetching another version of itself, which `packageManager` names: a station has no network for it."""


def command_environment(orders: Orders, attempt: Attempt, config: WorkerConfig) -> dict[str, str]:
    """The whole environment of a command; nothing of the worker's own is inherited."""
    return {
        "PATH": os.pathsep.join(config.station_path) or os.defpath,
        "HOME": str(attempt.home if orders.git else attempt.workspace),
        "TMPDIR": str(attempt.temporary),
        "LANG": "C.UTF-8",
        **PROGRAMS_AS_THEY_ARE,
        **config.variables,
        "GATELINE_RESULT": str(attempt.result),
        "GATELINE_CONTEXT": str(attempt.inputs_folder / CONTEXT),
        **({"GATELINE_HANDOFF": str(attempt.inputs_folder / HANDOFF)} if orders.handoff is not None else {}),
        "GATELINE_ARTIFACTS": str(attempt.inputs_folder / ARTIFACTS),
        "GATELINE_INPUTS": str(attempt.inputs_folder / INPUTS),
        "GATELINE_TASK": orders.task,
        "GATELINE_STATION": orders.station.key,
        "GATELINE_FEEDBACK": orders.feedback[:LONGEST_FEEDBACK],
        "GATELINE_VISIT": str(orders.visit),
        "GATELINE_JOB": str(orders.job_id),
        # What the dialects call the same (dialect A and D).
        "RESULT_DOC_PATH": str(attempt.result),
        "AGENTICS_JOB_ID": str(orders.job_id),
        "AGENTICS_OWNER": orders.owner,
        "AGENTICS_PROJECT_NAME": orders.project,
    }
