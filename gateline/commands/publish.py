"""`publish`: shows what would change, asks, and makes it the version on which tasks are started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.commands.lint import counts_by_severity_text, document_text_or_none, error_places, lint_document
from gateline.failures import InvalidFailure, NotFoundFailure
from gateline.lookup import LinePlace
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

MARKS = {"added": "[green]+[/green]", "removed": "[red]−[/red]", "changed": "~", "order": "↕"}

KEYS = ("what", "affects", "sentence")
LAYOUT = "layout"


@dataclass(frozen=True)
class PublishProposal:
    """Proposal to publish: a line's draft, or the text of a file. `line` is None where the file begins a
    line."""

    owner: str
    project: str
    key: str
    line: LinePlace | None
    text: str | None = None

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.project}/{self.key}"

    def api_path(self, *more: str) -> str:
        return LinePlace(self.owner, self.project, self.key, {}).api_path(*more)


def publish(
    ctx: typer.Context,
    what: Annotated[
        str, typer.Argument(help="A file, or a line whose draft is to be published.", metavar="FILE|LINE")
    ],
    project: Annotated[
        str,
        typer.Option(
            "--project",
            help="Publish the file there: owner/project.",
            autocompletion=completion.complete_project,
        ),
    ] = "",
    name: Annotated[str, typer.Option("--name", help="Name of the version.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Publish a line: show what changes, ask, and make it live.

    A file takes the place of the draft when you have agreed; until then nothing is stored. Errors of lint keep it from
    being published."""
    server = signed_in_client(ctx)
    proposal = _proposal_of_file_or_draft(server, what, project)
    report = _lint_report(server, proposal)
    # Before the draft is saved: a document with errors would take the place of one that can be published
    if report["counts"].get("error"):
        raise InvalidFailure(
            f"{what} cannot be published: {counts_by_severity_text(report['counts'])}.",
            places=error_places(report),
        )
    # As it was when the changes were shown: what somebody saves after that is not published unseen
    number = proposal.line.facts["draft"] if proposal.line else 0
    changed = _draft_changes(server, proposal)
    if not json:
        _print_proposal(what, proposal, report, changed)
    if proposal.line and proposal.line.facts["live"] and not changed:
        if json:
            output.print_json({"published": None, "changes": []})
        else:
            print_text("Nothing changes: that is what is live.")
        return
    if not yes:
        output.confirm_or_exit(f"Publish {proposal.full_name}?", "publish", "Nothing was published.")
    if proposal.text is not None:
        saved = server.send(
            "PUT",
            proposal.api_path("draft"),
            # Where somebody saved another draft since, the server refuses this one (409).
            params={"based_on": number},
            content=proposal.text.encode(),
            headers={"Content-Type": "application/yaml"},
        )
        number = saved["draft"]
    made = server.post(proposal.api_path("publish"), {"draft": number, "name": name})
    # law §14, four eyes: it was asked for, and another designer publishes it.
    if "requested_by" in made:
        _print_pending_publish_request(proposal, made, changed, json=json)
        return
    if json:
        output.print_json({"published": made, "changes": changed})
        return
    print_text(f"[green]Published[/green] {unstyled(proposal.full_name)} v{made['number']}.")


def _print_pending_publish_request(
    proposal: PublishProposal, request: dict[str, Any], changed: list[dict[str, Any]], *, json: bool
) -> None:
    """Say that another designer has to publish it."""
    if json:
        output.print_json({"published": None, "waiting": request, "changes": changed})
        return
    who, number = unstyled(request["requested_by"]), request["draft"]
    print_text(
        f"[yellow]Waiting[/yellow] {who} asks for publishing draft {number} of {unstyled(proposal.full_name)}."
    )
    print_text(
        f"Another designer, who wrote none of it, publishes it: gateline publish {unstyled(proposal.full_name)}"
    )


def _proposal_of_file_or_draft(server: Client, what: str, project: str) -> PublishProposal:
    """Raises Usage, NotFoundFailure, InvalidFailure."""
    text = document_text_or_none(what)
    if text is None:
        line = lookup.find_line(server, what)
        return PublishProposal(line.owner, line.project, line.key, line)
    owner, key = lookup.find_owner_and_key_of_project(server, project)
    examined = lint_document(server, (owner, key), text)
    if not examined["readable"] or not examined["line"]:
        raise InvalidFailure(f"{what} is no line that can be read.", places=error_places(examined))
    try:
        line = lookup.find_line(server, f"{owner}/{key}/{examined['line']}")
    # Saving the draft creates the line, so that a file alone is enough to begin
    except NotFoundFailure:
        return PublishProposal(owner, key, examined["line"], None, text)
    return PublishProposal(owner, key, line.key, line, text)


def _lint_report(server: Client, proposal: PublishProposal) -> dict[str, Any]:
    if proposal.text is not None:
        return lint_document(server, (proposal.owner, proposal.project), proposal.text)
    examination: dict[str, Any] = server.get(proposal.api_path("lint"))
    return examination


def _draft_changes(server: Client, proposal: PublishProposal) -> list[dict[str, Any]]:
    """`{what, affects, sentence}` against what is live, without places on the canvas; none where nothing is live."""
    if proposal.line is None or not proposal.line.facts["live"]:
        return []
    if proposal.text is None:
        rows = server.get(proposal.api_path("changes"), from_="live", to="draft")
        return [{key: row[key] for key in KEYS} for row in rows if row["affects"] != LAYOUT]
    picture = server.get(proposal.api_path("picture"), from_="live", to="live")
    preview = server.post(
        proposal.api_path("draft", "import"), {"document": picture["document"], "text": proposal.text}
    )
    return [
        {"what": row["what"], "affects": group["affects"], "sentence": row["sentence"]}
        for group in preview["changes"]
        if group["affects"] != LAYOUT
        for row in group["rows"]
    ]


def _print_proposal(
    what: str, proposal: PublishProposal, report: dict[str, Any], changed: list[dict[str, Any]]
) -> None:
    live = proposal.line.facts["live"] if proposal.line else None
    against = f"against v{live}" if live else "not published yet"
    print_text(f"[bold]{unstyled(proposal.full_name)}[/bold]  [dim]{against}[/dim]")
    for change in changed:
        routing = " [yellow](routing)[/yellow]" if change["affects"] == "routing" else ""
        print_text(f"  {MARKS.get(change['what'], '~')} {unstyled(change['sentence'])}{routing}")
    for finding in report["findings"]:
        if finding["severity"] == "warning":
            print_text(f"  [yellow]warning[/yellow] {unstyled(finding['message'])}")
    if report["findings"]:
        print_text(f"  {counts_by_severity_text(report['counts'])}: gateline lint {unstyled(what)}")
