"""`review`: what needs you, what a gate shows, and deciding it."""

from __future__ import annotations

import webbrowser
from collections.abc import Container
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.failures import (
    CommandFailure,
    ConflictFailure,
    ExitCode,
    FaultPlace,
    NotFoundFailure,
    UsageFailure,
)
from gateline.form_values import input_key_and_value, parse_value
from gateline.lookup import TaskPlace
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

WORDS = {
    "approve": "Approve",
    "send_back": "Send back",
    "reject": "Reject",
    "rework": "Rework",
    "abort": "Abort",
}
VERDICTS = {"confirmed": "[green]✓[/green]", "contradicted": "[red]✗[/red]", "unobserved": "[dim]?[/dim]"}
MARKS = {"added": "[green]A[/green]", "deleted": "[red]D[/red]", "renamed": "R"}


def review(
    ctx: typer.Context,
    task: Annotated[
        str,
        typer.Argument(
            help="Show the review of this task; otherwise list what needs you.",
            metavar="WI-…",
            autocompletion=completion.complete_task,
        ),
    ] = "",
    gate: Annotated[str, typer.Option("--gate", help="Where a task waits at several gates: its key.")] = "",
    visit: Annotated[
        str, typer.Option("--visit", help="Where several branches wait at one gate: the visit.")
    ] = "",
    approve: Annotated[bool, typer.Option("--approve", help="Approve what is shown.")] = False,
    send_back: Annotated[
        bool, typer.Option("--send-back", help="Have it done again, with your reason.")
    ] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject it, with your reason.")] = False,
    action: Annotated[
        str, typer.Option("--action", help="Another word that the gate offers: rework, abort.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", "-r", help="Needed to reject and to send back.")] = "",
    route: Annotated[
        str, typer.Option("--route", help="Where a rejection leads, if the gate asks for it.")
    ] = "",
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            help="What an approval fills in; otherwise it is asked for. May be given several times.",
            metavar="KEY=VALUE",
        ),
    ] = None,
    evidence: Annotated[
        str,
        typer.Option(
            "--evidence", help="Decide only what has this digest, as --json showed it.", metavar="DIGEST"
        ),
    ] = "",
    browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needs --evidence.")] = False,
    json: Json = False,
) -> None:
    """List what needs you; show a review; decide it.

    A decision is bound to what was shown: if it changes before you answer, the server refuses it and says so. Machine
    tokens never decide."""
    server = signed_in_client(ctx)
    if not task:
        _print_needs(server, json)
        return
    place = lookup.find_task(server, task)
    details = _review_of_asked_gate(server, place, gate, visit)
    if browser:
        page = server.profile.url + details["page"]
        webbrowser.open(page)
        # Printed as well: over ssh no browser opens here, and that is no error
        output.print_note(unstyled(page))
    word = _single_decision_or_empty(approve=approve, send_back=send_back, reject=reject, action=action)
    if not word:
        _print_review(details, json)
        return
    if values and word != "approve":
        raise UsageFailure("Only an approval fills in fields.", "Leave --field out.")
    field_values = dict(input_key_and_value(assignment) for assignment in values or ())
    _post_decision(
        server,
        place,
        details,
        word,
        reason=reason,
        route=route,
        field_values=field_values,
        evidence=evidence,
        yes=yes,
        json=json,
    )


def _print_needs(server: Client, json: bool) -> None:
    needs = server.get("/needs")
    if json:
        output.print_json(needs)
        return
    if not needs:
        print_text("Nothing needs you.")
    for need in needs:
        due = f" [yellow]due {output.in_or_ago_text(need['due'])}[/yellow]" if need["due"] else ""
        since = f"[dim]{output.age_text_or_empty(need['since'])}[/dim]"
        print_text(f"[bold]{unstyled(need['task'])}[/bold]  {unstyled(need['title'])}  {since}{due}")
        print_text(
            f"    {unstyled(need['place'])}: {unstyled(need['sentence'])} {unstyled(need['remedy'])}".rstrip()
        )


def _review_of_asked_gate(server: Client, task_place: TaskPlace, gate: str, visit: str) -> dict[str, Any]:
    """Raises NotFoundFailure: it waits at no gate; ConflictFailure: several branches do."""
    gate_key = gate or task_place.facts["pendingGateId"]
    if not gate_key:
        raise NotFoundFailure(
            f"{task_place.name} waits at no gate: it is {task_place.facts['display_status'].replace('_', ' ')}."
        )
    details: dict[str, Any] = server.get(task_place.api_path("gates", gate_key, "review"), visit=visit)
    return details


def _print_review(details: dict[str, Any], json: bool) -> None:
    if json:
        output.print_json(details)
        return
    print_text(f"[bold]{unstyled(details['task'])}[/bold]  {unstyled(details['title'])}")
    again = f", round {details['round']}" if details["round"] > 1 else ""
    print_text(
        f"[dim]{unstyled(details['line'])} · {unstyled(details['name'])}{again} · "
        f"opened {output.age_text_or_empty(details['opened'])}[/dim]"
    )
    if details["description"]:
        print_text(f"\n{unstyled(details['description'])}")
    if details["summary"]:
        print_text(f"\n{unstyled(details['station'])}: {unstyled(details['summary'])}")
    for key, value in details["output"].items() if isinstance(details["output"], dict) else ():
        # Agents often repeat their summary in the output, and it stands above already
        if isinstance(value, str) and value.strip() != details["summary"].strip():
            print_text(f"\n[bold]{unstyled(key.capitalize())}[/bold]\n{unstyled(value.strip())}")
    _print_files(details)
    for title, rows in (
        ("What ran", [_run_text(ran_row) for ran_row in details.get("ran", ())]),
        (
            "Facts",
            [f"{unstyled(fact['words'])} [dim]{unstyled(fact['by'])}[/dim]" for fact in details["facts"]],
        ),
        ("Claims", [_claim_text(claim) for claim in details["claims"]]),
        ("To fill in with an approval", [_field_text(field) for field in details["fields"]]),
        (
            "Decide",
            [f"{_flag_of_action(offer['action'])}  {unstyled(offer['then'])}" for offer in details["offers"]],
        ),
    ):
        if rows:
            print_text(f"\n[bold]{title}[/bold]")
        for row in rows:
            print_text(f"  {row}")
    print_text()
    print_text(unstyled(details["asks_for"]))
    if not details["may"]:
        print_text(f"[yellow]You cannot decide here:[/yellow] {unstyled(details['why'])}")
    print_text(f"[dim]Evidence {details['evidence']}[/dim]")


def _run_text(run: dict[str, Any]) -> str:
    sign = "[green]✓[/green]" if run["result"] == "success" else "[red]✗[/red]"
    stale = " [yellow]before the last change of the files[/yellow]" if run["stale"] else ""
    return f"{sign} {unstyled(run['station'])}: {unstyled(run['words'])}{stale} [dim]{unstyled(run['command'])}[/dim]"


def _print_files(details: dict[str, Any]) -> None:
    count = len(details["files"]) + details["more_files"]
    if not count:
        return
    print_text(
        f"\n[bold]{count} {'file' if count == 1 else 'files'} changed[/bold] +{details['added']} −{details['removed']}"
    )
    for file in details["files"]:
        lines = f"+{file['added']} −{file['removed']}" if file["added"] is not None else ""
        print_text(f"  {MARKS.get(file['change'], 'M')} {unstyled(file['path'])}  [dim]{lines}[/dim]")
    if details["more_files"]:
        print_text(f"  and {details['more_files']} more")


def _claim_text(claim: dict[str, Any]) -> str:
    observed = f" [dim]{unstyled(claim['observed'])}[/dim]" if claim["observed"] else ""
    return f"{VERDICTS[claim['verdict']]} {unstyled(claim['text'])}{observed}"


def _field_text(field: dict[str, Any]) -> str:
    among = f": {', '.join(field['choices'])}" if field["choices"] else ""
    needed = "" if field["required"] else " [dim](may be left empty)[/dim]"
    return f"--field {unstyled(field['key'])}=…  {unstyled(field['label'] + among)}{needed}"


def _flag_of_action(action: str) -> str:
    has_own_flag = action in ("approve", "send_back", "reject")
    return f"--{action.replace('_', '-')}" if has_own_flag else f"--action {action}"


def _single_decision_or_empty(*, approve: bool, send_back: bool, reject: bool, action: str) -> str:
    """Raises Usage: more than one."""
    flags = [("approve", approve), ("send_back", send_back), ("reject", reject), (action, bool(action))]
    words = [word for word, is_set in flags if is_set]
    if len(words) > 1:
        raise UsageFailure("One decision at a time.", f"You gave {' and '.join(words)}.")
    return next(iter(words), "")


def _post_decision(
    server: Client,
    task_place: TaskPlace,
    details: dict[str, Any],
    word: str,
    *,
    reason: str,
    route: str,
    field_values: dict[str, str],
    evidence: str,
    yes: bool,
    json: bool,
) -> None:
    """Send a decision on exactly what was displayed: here, or earlier, by the digest that was noted then.
    Raises Usage, ConflictFailure."""
    offer = next((candidate for candidate in details["offers"] if candidate["action"] == word), None)
    if offer is None:
        words = ", ".join(_flag_of_action(choice["action"]) for choice in details["offers"])
        raise UsageFailure(f"“{details['name']}” does not offer {word}.", f"It offers {words}.")
    if evidence and evidence != details["evidence"]:
        raise ConflictFailure(
            "What you looked at is no longer what is under review.",
            f"Look again: gateline review {task_place.name}",
            problem={"visit": details["visit"], "evidence": details["evidence"]},
        )
    # Without the digest it would approve whatever is there at this moment, and nobody has seen that
    if yes and not evidence:
        raise UsageFailure(
            "--yes decides what you looked at before.", "Add --evidence with the digest that was shown."
        )
    if not yes:
        if not output.can_ask_person():
            raise UsageFailure(
                "There is no terminal to show the review and to ask.", "Use --evidence DIGEST --yes."
            )
        # Whatever was shown earlier: what is decided has to stand on this screen
        _print_review(details, json=False)
        print_text()
        if offer["needs_reason"] and not reason:
            reason = typer.prompt("Reason", err=True)
        if word == "approve":
            field_values = {**_prompt_missing_fields(details["fields"], field_values), **field_values}
        if not typer.confirm(f"{WORDS[word]}? {offer['then']}", err=True):
            output.print_note("Nothing was decided.")
            raise typer.Exit(ExitCode.NO)
    # A key that the gate does not have is sent as typed: the server refuses it by its name
    known = {field["key"]: field for field in details["fields"]}
    fields = {key: parse_value(known.get(key), key, text, "fields") for key, text in field_values.items()}
    try:
        answer = server.post(
            task_place.api_path("gates", details["gate"]),
            {
                "action": word,
                "reason": reason,
                "route": route,
                "fields": fields,
                # By both the server knows that nothing was put under review since: else it answers 409
                "visit": details["visit"],
                "evidence": details["evidence"],
            },
        )
    except ConflictFailure as fault:
        changed = _changes_since_displayed(server, task_place, details)
        look = f"Look again: gateline review {task_place.name}"
        raise ConflictFailure(fault.message, look, changed, problem=fault.problem) from fault
    if json:
        output.print_json(answer)
        return
    status = answer["task"]["display_status"].replace("_", " ")
    more = "" if answer["state"] == "decided" else " More votes are needed."
    print_text(f"[green]{WORDS[word]}[/green]: recorded.{more} {unstyled(task_place.name)} is {status}.")


def _prompt_missing_fields(fields: list[dict[str, Any]], filled_keys: Container[str]) -> dict[str, str]:
    """Return what the person at this terminal fills in for an approval; nothing for fields that they leave
    empty."""
    answers = {}
    for field in fields:
        if field["key"] in filled_keys:
            continue
        choices = ["yes", "no"] if field["type"] == "yes_no" else field["choices"]
        among = f" ({', '.join(choices)})" if choices else ""
        # Not `plain`: a prompt knows no markup that would have to be escaped.
        label = "".join(map(output.visible_or_escaped_sign, f"{field['label']}{among}"))
        # With None the prompt comes again until something is typed
        begin = None if field["required"] else ""
        if text := typer.prompt(label, default=begin, show_default=False, err=True):
            answers[field["key"]] = text
    return answers


def _changes_since_displayed(
    server: Client, task_place: TaskPlace, details: dict[str, Any]
) -> list[FaultPlace]:
    """Return what changed since it was displayed, as far as that can still be looked at."""
    try:
        now = server.get(task_place.api_path("gates", details["gate"], "review"))
    except CommandFailure:
        # Only an addition to the refusal, which is told without it
        return []
    if now["evidence"] == details["evidence"] and now["visit"] == details["visit"]:
        return []
    paths = sorted({path for path, _added, _removed in _file_counts(details) ^ _file_counts(now)})
    messages = [
        FaultPlace(
            f"You saw round {details['round']}; round {now['round']} is open, "
            f"opened {output.age_text_or_empty(now['opened'])}."
        )
    ]
    if paths:
        messages.append(FaultPlace(f"Files that changed otherwise: {', '.join(paths[:10])}"))
    return messages


def _file_counts(details: dict[str, Any]) -> set[tuple[str, int | None, int | None]]:
    return {(file["path"], file["added"], file["removed"]) for file in details["files"]}
