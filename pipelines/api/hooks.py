"""Webhooks of hosts about their issues. Nobody is signed in: the body is signed with the secret of the
repository."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone
from ninja.errors import HttpError
from pydantic import BaseModel

from pipelines.api.lookup import PROJECT, Operations
from pipelines.lines import issue_tasks
from pipelines.models import Repository
from pipelines.web.shell.costly_requests import TurnRefused
from pipelines.web.shell.rate_limits import wrong_tokens

router = Operations("repositories", (400, 401, 409, 429))


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
def take(request: HttpRequest, owner: str, project: str, name: str) -> HookAnswerOut:
    """Receive the webhooks of GitHub, GitLab, Gitea and Forgejo: issues that are labelled or assigned start
    tasks. 401 without a right signature; 409 for a delivery that was processed already. Everything else
    changes nothing."""
    repository = (
        Repository.objects.select_related("project__owner")
        .filter(project__owner__key=owner, project__key=project, project__archived_at=None, name=name)
        .first()
    )
    headers = {key.lower(): value for key, value in request.headers.items()}
    try:
        # Answered as a wrong signature is, so that nobody learns which repositories there are.
        if repository is None:
            raise issue_tasks.UnsignedDelivery
        delivery = issue_tasks.process_delivery(repository, headers, request.body, timezone.now())
    except issue_tasks.UnsignedDelivery as unsigned:
        if seconds := wrong_tokens.count_and_retry_after(request):
            message = "Too many wrong tokens came from this address. Wait a minute."
            raise TurnRefused(message, seconds) from unsigned
        why = "The signature is missing or wrong. Compare the secret of the webhook with that of the repository."
        raise HttpError(401, why) from unsigned
    return HookAnswerOut(said=delivery.said, task=delivery.task.name if delivery.task else "")
