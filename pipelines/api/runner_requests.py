"""Addresses, authentication and errors that the calls of runners share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from django.http import HttpRequest
from ninja import Header
from ninja.errors import HttpError

from pipelines.api import runner_bodies as bodies
from pipelines.api.auth import PresentedToken
from pipelines.errors import Conflict
from pipelines.models import ApiToken, Job, Worker
from pipelines.work.runners import agent_questions, presence, runner_claims
from pipelines.work.transport.http import wire_format
from pipelines.work.transport.protocol import LeaseLost, NotStored, QuestionRefused, ReportFailed

ERRORS = (400, 401, 404, 409, 422, 429, 503)
RUNNER = "/runner/{runner}"
JOB = RUNNER + "/jobs/{job}"
LEASE = Header(..., alias=wire_format.LEASE)
F = TypeVar("F", bound=Callable[..., Any])


class RunnerRequest(HttpRequest):
    """A request with the token of a runner."""

    auth: ApiToken


class ReportRequest(HttpRequest):
    auth: PresentedToken


@contextmanager
def translating_errors() -> Iterator[None]:
    """Turn the errors of the rooms of work into problems."""
    try:
        yield
    except LeaseLost as error:
        raise Conflict("This runner does not have this job. Nothing was changed.") from error
    except (NotStored, QuestionRefused) as error:
        raise HttpError(422, str(error)) from error
    except agent_questions.TooManyQuestions as error:
        raise HttpError(429, str(error)) from error
    except ReportFailed as error:
        raise HttpError(503, str(error)) from error


def translates_errors(view: F) -> F:
    """Wrap a view so that errors of the rooms of work become problems."""

    @wraps(view)
    def wrapped(*arguments: Any, **more: Any) -> Any:
        with translating_errors():
            return view(*arguments, **more)

    return wrapped  # type: ignore[return-value]


def get_runner(request: RunnerRequest, runner: uuid.UUID) -> Worker:
    return presence.registered_runner(request.auth, runner)


def get_leased_job(request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID) -> Job:
    return runner_claims.job_under_lease(get_runner(request, runner), bodies.checked_job_id(job), lease)
