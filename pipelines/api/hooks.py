"""Webhooks: those of hosts about their issues, and those that triggers are called with. Nobody is signed in: the body
is signed with the secret of the repository, or of the trigger."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone
from ninja import Status
from ninja.errors import HttpError
from pydantic import BaseModel

from pipelines.api.lookup import PROJECT, Operations
from pipelines.api.problems import ProblemOut
from pipelines.lines import issue_tasks
from pipelines.models import Repository
from pipelines.web.shell.costly_requests import TurnRefused
from pipelines.web.shell.rate_limits import wrong_tokens
from pipelines.work.triggers import receiving

router = Operations("repositories", (400, 401, 409, 429))


STATUSES = {"started": 202, "ignored": 200, "repeated": 200, "failed": 422}


class ReceivedOut(BaseModel):
    """`outcome`: started, ignored, repeated or failed; `detail`: why, and what to do. `task`: the one that was started,
    such as WI-app-7."""

    outcome: str
    detail: str = ""
    task: str = ""


class HookAnswerOut(BaseModel):
    """`task`: the one that was started, such as WI-app-7."""

    said: str
    task: str = ""


@router.post(
    PROJECT + "/repositories/{name}/hook",
    response=HookAnswerOut,
    auth=None,
    summary="A delivery of the host of a repository",
)
def receive_code_host_webhook(request: HttpRequest, owner: str, project: str, name: str) -> HookAnswerOut:
    """Receive the webhooks of GitHub, GitLab, Gitea and Forgejo: issues that are labelled or assigned start
    tasks. 401 without a right signature; 409 for a delivery that was processed already. Everything else
    changes nothing."""
    repository = (
        Repository.objects.select_related("project__owner")
        .filter(project__owner__key=owner, project__key=project, project__archived_at=None, name=name)
        .first()
    )
    try:
        # Answered as a wrong signature is, so that nobody learns which repositories there are.
        if repository is None:
            raise issue_tasks.UnsignedDelivery
        delivery = issue_tasks.process_hook_delivery(
            repository, _lower_case_headers(request), request.body, timezone.now()
        )
    except issue_tasks.UnsignedDelivery as unsigned:
        # A signature is guessed by trying: each wrong one counts against its address
        _count_wrong_signature_or_refuse(request)
        why = "The signature is missing or wrong. Compare the secret of the webhook with that of the repository."
        raise HttpError(401, why) from unsigned
    return HookAnswerOut(said=delivery.detail, task=delivery.task.name if delivery.task else "")


@router.post(
    "/hooks/{address}",
    response=dict.fromkeys(sorted({*STATUSES.values()}), ReceivedOut) | {413: ProblemOut},
    auth=None,
    url_name="webhook",
    summary="A delivery of a webhook that starts tasks",
)
def receive_trigger_webhook(request: HttpRequest, address: str) -> Status[ReceivedOut]:
    """The address of a trigger. 202 with the task that it started; 200 where it starts nothing: a delivery that was
    received before, one that the trigger does not wait for; 422 where something has to be mended; 401 without a right
    signature."""
    if len(request.body) > receiving.MAX_BODY:
        raise HttpError(413, "A body has at most 1 MiB.")
    try:
        delivery = receiving.receive_call(address, _lower_case_headers(request), request.body)
    except receiving.UnsignedCall as unsigned:
        _count_wrong_signature_or_refuse(request)
        raise HttpError(401, unsigned.detail) from unsigned
    except receiving.OverLimit as limit:
        raise TurnRefused(limit.detail, limit.seconds) from limit
    task = delivery.task.name if delivery.task else ""
    answer = ReceivedOut(outcome=str(delivery.outcome), detail=delivery.detail, task=task)
    return Status(STATUSES[answer.outcome], answer)


def _lower_case_headers(request: HttpRequest) -> dict[str, str]:
    return {key.lower(): value for key, value in request.headers.items()}


def _count_wrong_signature_or_refuse(request: HttpRequest) -> None:
    """Raises TurnRefused: many wrong signatures from one address."""
    if seconds := wrong_tokens.count_and_retry_after(request):
        raise TurnRefused(
            "Too many deliveries without a right signature came from this address. Wait a minute.", seconds
        )
