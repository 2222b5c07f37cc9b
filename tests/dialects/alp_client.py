"""A client of the Assembly Line Protocol, written from the description of the protocol alone.

Nothing here looks at the server: addresses, bodies and codes are those that ALP describes, so that what works
with this client works with a runner or an operator that was never written for Gateline. Standard library only.

The two sides of the protocol are two classes. A `Person` starts tasks, looks at them, decides gates and
registers runners, with a user token. A `Runner` polls for jobs, says that it is alive, reports results, stores
artifacts, asks for approvals and listens for jobs, with the token that the registration gave it.
"""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final, Literal, Self, TypeAlias
from urllib.parse import quote, urlsplit
from uuid import uuid4

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
JobResult: TypeAlias = Literal["success", "failed", "in_progress"]
Conclusion: TypeAlias = Literal["success", "failure"]
CompletionReason: TypeAlias = Literal["success", "idle_timeout", "timeout"]
GateAction: TypeAlias = Literal["approve", "reject"]
Collection: TypeAlias = Literal["stages", "assembly-lines"]

TIMEOUT: Final = 30.0


class UnexpectedAnswer(Exception):
    """The server answered with a status that the protocol does not name for this call."""

    def __init__(self, method: str, path: str, answer: "Answer") -> None:
        super().__init__(f"{method} {path}: {answer.status} {answer.text[:500]}")
        self.answer = answer

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.answer.status


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the server: status, headers by lower-case name, and the body as it came."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    def object(self) -> dict[str, Json]:
        """The body, which has to be a JSON object."""
        body: Json = json.loads(self.content)
        if not isinstance(body, dict):
            raise TypeError(f"Expected a JSON object, got {self.text[:200]}")
        return body


@dataclass(frozen=True, slots=True)
class Content:
    """A body that is no JSON."""

    content: bytes
    kind: str


@dataclass(frozen=True, slots=True)
class Registration:
    """What a registered runner is given."""

    id: str
    token: str
    registered_at: Json


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a poll: one visit of one task at one station."""

    id: str
    run_id: str
    agent: Mapping[str, Json]

    @property
    def station(self) -> str:
        """The station; the protocol calls it `stageId` here, and means the line by that word elsewhere."""
        return text_of(self.agent, "stageId")

    @property
    def task(self) -> str:
        """The id of the task."""
        return text_of(self.agent, "taskId")

    @property
    def prompt(self) -> str:
        """What the agent is told."""
        return text_of(self.agent, "prompt")


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    name: str
    data: dict[str, Json]


def text_of(document: Mapping[str, Json], key: str) -> str:
    """The text under a key, which has to be there and to be one."""
    value = document[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is no text: {value!r}")
    return value


class _Side:
    """What both sides share: where the server is, which project is meant and whose token is sent."""

    def __init__(self, server: str, owner: str, project: str, token: str | None) -> None:
        self.server = server.rstrip("/")
        self.owner = owner
        self.project = project
        self.token = token

    @property
    def base(self) -> str:
        """The address below which everything of the project lies."""
        return f"/api/owners/{quote(self.owner, safe='')}/projects/{quote(self.project, safe='')}"

    def ask(
        self,
        method: str,
        path: str,
        body: "Json | Content" = None,
        *,
        accept: Sequence[int] = (HTTPStatus.OK,),
    ) -> Answer:
        """Send one request and return the answer, if its status is one of those that the protocol names."""
        connection = self._connect(TIMEOUT)
        try:
            response = self._send(connection, method, path, body)
            answer = Answer(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        finally:
            connection.close()
        if answer.status not in accept:
            raise UnexpectedAnswer(method, path, answer)
        return answer

    def _connect(self, timeout: float) -> HTTPConnection:
        address = urlsplit(self.server)
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        return kind(address.netloc, timeout=timeout)

    def _send(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        body: "Json | Content",
        accept: str = "application/json",
    ) -> HTTPResponse:
        headers = {"Accept": accept}
        sent: Content | None
        if body is None or isinstance(body, Content):
            sent = body
        else:
            sent = Content(json.dumps(body).encode(), "application/json")
        if sent is not None:
            headers["Content-Type"] = sent.kind
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        connection.request(method, path, None if sent is None else sent.content, headers)
        return connection.getresponse()


class Person(_Side):
    """The side of whoever starts tasks, decides gates and registers runners."""

    def register(self, name: str, labels: Sequence[str]) -> Registration:
        """Register a runner: `POST …/runners/register`."""
        body = self.ask(
            "POST",
            f"{self.base}/runners/register",
            {"name": name, "labels": list(labels)},
            accept=(HTTPStatus.OK, HTTPStatus.CREATED),
        ).object()
        return Registration(text_of(body, "id"), text_of(body, "token"), body["registeredAt"])

    def runner(self, name: str, labels: Sequence[str]) -> "Runner":
        """Register a runner and be it."""
        return Runner.of(self, self.register(name, labels))

    def create_task(
        self,
        line: str,
        title: str,
        description: str,
        *,
        column: str | None = None,
        priority: Literal["low", "medium", "high"] | None = None,
        labels: Sequence[str] | None = None,
        below: Collection = "stages",
    ) -> dict[str, Json]:
        """Put a task on a line, and get its TaskData: `POST …/stages/{line}/tasks`, or its alias."""
        body: dict[str, Json] = {"title": title, "description": description}
        if column is not None:
            body["columnId"] = column
        if priority is not None:
            body["priority"] = priority
        if labels is not None:
            body["labels"] = list(labels)
        return self.ask(
            "POST", f"{self._line(line, below)}/tasks", body, accept=(HTTPStatus.OK, HTTPStatus.CREATED)
        ).object()

    def task(self, line: str, task: str, *, below: Collection = "stages") -> dict[str, Json]:
        """The TaskData as it stands now."""
        return self.ask("GET", f"{self._line(line, below)}/tasks/{quote(task, safe='')}").object()

    def decide(
        self,
        line: str,
        task: str,
        gate: str,
        action: GateAction,
        reason: str | None = None,
        *,
        visit: str | None = None,
        below: Collection = "stages",
    ) -> dict[str, Json]:
        """Approve or reject at a gate; `visit` says which of several visits of it was looked at."""
        body: dict[str, Json] = {"action": action}
        if reason is not None:
            body["reason"] = reason
        if visit is not None:
            body["visit"] = visit
        path = f"{self._line(line, below)}/tasks/{quote(task, safe='')}/gates/{quote(gate, safe='')}"
        return self.ask("POST", path, body).object()

    def _line(self, line: str, below: Collection) -> str:
        return f"{self.base}/{below}/{quote(line, safe='')}"


class Runner(_Side):
    """The side that does the work: one job at a time, with the labels of its registration."""

    def __init__(self, server: str, owner: str, project: str, registration: Registration) -> None:
        super().__init__(server, owner, project, registration.token)
        self.id = registration.id

    @classmethod
    def of(cls, person: Person, registration: Registration) -> Self:
        """The runner that a person registered, on the same server and project."""
        return cls(person.server, person.owner, person.project, registration)

    def poll(self) -> list[Job]:
        """Ask for work: `POST …/runners/jobs`; nothing to do is 204."""
        answer = self.ask("POST", f"{self.base}/runners/jobs", accept=(HTTPStatus.OK, HTTPStatus.NO_CONTENT))
        if answer.status == HTTPStatus.NO_CONTENT:
            return []
        jobs = answer.object()["jobs"]
        if not isinstance(jobs, list):
            raise TypeError(f"jobs is no list: {jobs!r}")
        return [_job(each) for each in jobs]

    def report(
        self, result: JobResult, *, exit_code: int | None = None, error: str | None = None
    ) -> dict[str, Json] | None:
        """Say how the runner's one job stands: `PATCH …/runners/{id}`."""
        body: dict[str, Json] = {"jobResult": result}
        if exit_code is not None:
            body["exitCode"] = exit_code
        if error is not None:
            body["error"] = error
        answer = self.ask("PATCH", self._own, body)
        return answer.object() if answer.content else None

    def heartbeat(self) -> None:
        """Say that the work goes on."""
        self.report("in_progress")

    def complete(
        self,
        job: Job,
        conclusion: Conclusion,
        *,
        reason: CompletionReason = "success",
        session: str | None = None,
        logs: str | None = None,
    ) -> None:
        """Report as the operator of the live server does: `PATCH …/runs/{run}/jobs/{job}`."""
        body: dict[str, Json] = {"status": "completed", "conclusion": conclusion, "completionReason": reason}
        if session is not None:
            body["sessionId"] = session
        if logs is not None:
            body["logs"] = logs
        self.ask(
            "PATCH", f"{self.base}/runs/{quote(job.run_id, safe='')}/jobs/{quote(job.id, safe='')}", body
        )

    def store(self, name: str, content: bytes) -> dict[str, Json]:
        """Keep an artifact of the job: `POST …/artifacts`.

        The description names the address only; a form with the field `file` is what the server said it wants.
        """
        boundary = f"alp-{uuid4().hex}"
        head = (
            f"--{boundary}\r\n"
            f'Content-Disposition: form-data; name="file"; filename="{quote(name)}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        form = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        accept = (HTTPStatus.OK, HTTPStatus.CREATED)
        kind = f"multipart/form-data; boundary={boundary}"
        return self.ask("POST", f"{self.base}/artifacts", Content(form, kind), accept=accept).object()

    def ask_approval(self, body: Mapping[str, Json]) -> dict[str, Json]:
        """Ask that a person allows something: `POST …/runners/{id}/approval-requests`."""
        accept = (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED)
        return self.ask("POST", f"{self._own}/approval-requests", dict(body), accept=accept).object()

    def events(self, seconds: float = TIMEOUT) -> Generator[Event]:
        """What the server says while it is listened to: `GET …/runners/events`.

        Ends when the server closes the stream, or says nothing at all for so many seconds.
        """
        connection = self._connect(seconds)
        try:
            path = f"{self.base}/runners/events"
            response = self._send(connection, "GET", path, None, accept="text/event-stream")
            if response.status != HTTPStatus.OK:
                raise UnexpectedAnswer("GET", path, Answer(response.status, {}, response.read()))
            yield from _events(response)
        except (TimeoutError, HTTPException):
            return
        finally:
            connection.close()

    @property
    def _own(self) -> str:
        return f"{self.base}/runners/{quote(self.id, safe='')}"


def _job(document: Json) -> Job:
    if not isinstance(document, dict):
        raise TypeError(f"A job is no object: {document!r}")
    agent = document["agentDefinition"]
    if not isinstance(agent, dict):
        raise TypeError(f"agentDefinition is no object: {agent!r}")
    return Job(text_of(document, "id"), text_of(document, "runId"), agent)


def _events(lines: Iterator[bytes] | HTTPResponse) -> Iterator[Event]:
    name, data = "message", list[str]()
    for line in lines:
        field, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif not field and not value:
            if data:
                body: Json = json.loads("\n".join(data))
                yield Event(name, body if isinstance(body, dict) else {"value": body})
            name, data = "message", []
