"""`review`: what needs you, what a gate shows, and deciding it."""

from __future__ import annotations

import webbrowser
from collections.abc import Container
from typing import Annotated, Any

import typer

from gateline import completion, output, places
from gateline.client import Client
from gateline.failures import CommandFailure, ConflictFailure, Exit, FaultPlace, NotFoundFailure, Usage
from gateline.output import Json, plain, say
from gateline.places import TaskPlace
from gateline.session import client
from gateline.typed import pair, typed

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
            autocompletion=completion.task,
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
    seen: Annotated[
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
    server = client(ctx)
    if not task:
        _list(server, json)
        return
    place = places.task(server, task)
    shown = _shown(server, place, gate, visit)
    if browser:
        page = server.profile.url + shown["page"]
        webbrowser.open(page)
        output.note(plain(page))
    word = _word(approve=approve, send_back=send_back, reject=reject, action=action)
    if not word:
        _show(shown, json)
        return
    if values and word != "approve":
        raise Usage("Only an approval fills in fields.", "Leave --field out.")
    given = dict(pair(each) for each in values or ())
    _decide(
        server, place, shown, word, reason=reason, route=route, given=given, seen=seen, yes=yes, json=json
    )


def _list(server: Client, json: bool) -> None:
    needs = server.get("/needs")
    if json:
        output.as_json(needs)
        return
    if not needs:
        say("Nothing needs you.")
    for each in needs:
        due = f" [yellow]due {output.when(each['due'])}[/yellow]" if each["due"] else ""
        since = f"[dim]{output.ago(each['since'])}[/dim]"
        say(f"[bold]{plain(each['task'])}[/bold]  {plain(each['title'])}  {since}{due}")
        say(f"    {plain(each['place'])}: {plain(each['sentence'])} {plain(each['remedy'])}".rstrip())


def _shown(server: Client, place: TaskPlace, gate: str, visit: str) -> dict[str, Any]:
    """Raises NotFoundFailure: it waits at no gate; ConflictFailure: several branches do."""
    wanted = gate or place.facts["pendingGateId"]
    if not wanted:
        raise NotFoundFailure(
            f"{place.name} waits at no gate: it is {place.facts['display_status'].replace('_', ' ')}."
        )
    found: dict[str, Any] = server.get(place.path("gates", wanted, "review"), visit=visit)
    return found


def _show(shown: dict[str, Any], json: bool) -> None:
    if json:
        output.as_json(shown)
        return
    say(f"[bold]{plain(shown['task'])}[/bold]  {plain(shown['title'])}")
    again = f", round {shown['round']}" if shown["round"] > 1 else ""
    say(
        f"[dim]{plain(shown['line'])} · {plain(shown['name'])}{again} · opened {output.ago(shown['opened'])}[/dim]"
    )
    if shown["description"]:
        say(f"\n{plain(shown['description'])}")
    if shown["summary"]:
        say(f"\n{plain(shown['station'])}: {plain(shown['summary'])}")
    for key, value in shown["output"].items() if isinstance(shown["output"], dict) else ():
        if isinstance(value, str) and value.strip() != shown["summary"].strip():
            say(f"\n[bold]{plain(key.capitalize())}[/bold]\n{plain(value.strip())}")
    _files(shown)
    for title, rows in (
        ("What ran", [_ran(each) for each in shown.get("ran", ())]),
        ("Facts", [f"{plain(each['words'])} [dim]{plain(each['by'])}[/dim]" for each in shown["facts"]]),
        ("Claims", [_claim(each) for each in shown["claims"]]),
        ("To fill in with an approval", [_field(each) for each in shown["fields"]]),
        ("Decide", [f"{_flag(each['action'])}  {plain(each['then'])}" for each in shown["offers"]]),
    ):
        if rows:
            say(f"\n[bold]{title}[/bold]")
        for row in rows:
            say(f"  {row}")
    say()
    say(plain(shown["asks_for"]))
    if not shown["may"]:
        say(f"[yellow]You cannot decide here:[/yellow] {plain(shown['why'])}")
    say(f"[dim]Evidence {shown['evidence']}[/dim]")


def _ran(run: dict[str, Any]) -> str:
    sign = "[green]✓[/green]" if run["result"] == "success" else "[red]✗[/red]"
    stale = " [yellow]before the last change of the files[/yellow]" if run["stale"] else ""
    return f"{sign} {plain(run['station'])}: {plain(run['words'])}{stale} [dim]{plain(run['command'])}[/dim]"


def _files(shown: dict[str, Any]) -> None:
    count = len(shown["files"]) + shown["more_files"]
    if not count:
        return
    say(
        f"\n[bold]{count} {'file' if count == 1 else 'files'} changed[/bold] +{shown['added']} −{shown['removed']}"
    )
    for each in shown["files"]:
        lines = f"+{each['added']} −{each['removed']}" if each["added"] is not None else ""
        say(f"  {MARKS.get(each['change'], 'M')} {plain(each['path'])}  [dim]{lines}[/dim]")
    if shown["more_files"]:
        say(f"  and {shown['more_files']} more")


def _claim(claim: dict[str, Any]) -> str:
    observed = f" [dim]{plain(claim['observed'])}[/dim]" if claim["observed"] else ""
    return f"{VERDICTS[claim['verdict']]} {plain(claim['text'])}{observed}"


def _field(field: dict[str, Any]) -> str:
    among = f": {', '.join(field['choices'])}" if field["choices"] else ""
    needed = "" if field["required"] else " [dim](may be left empty)[/dim]"
    return f"--field {plain(field['key'])}=…  {plain(field['label'] + among)}{needed}"


def _flag(action: str) -> str:
    named = action in ("approve", "send_back", "reject")
    return f"--{action.replace('_', '-')}" if named else f"--action {action}"


def _word(*, approve: bool, send_back: bool, reject: bool, action: str) -> str:
    """Raises Usage: more than one."""
    given = [("approve", approve), ("send_back", send_back), ("reject", reject), (action, bool(action))]
    words = [word for word, wanted in given if wanted]
    if len(words) > 1:
        raise Usage("One decision at a time.", f"You gave {' and '.join(words)}.")
    return next(iter(words), "")


def _decide(
    server: Client,
    place: TaskPlace,
    shown: dict[str, Any],
    word: str,
    *,
    reason: str,
    route: str,
    given: dict[str, str],
    seen: str,
    yes: bool,
    json: bool,
) -> None:
    """What was shown before is what is decided: here, or earlier, by the digest that was noted then. Raises Usage,
    ConflictFailure."""
    offer = next((each for each in shown["offers"] if each["action"] == word), None)
    if offer is None:
        words = ", ".join(_flag(each["action"]) for each in shown["offers"])
        raise Usage(f"“{shown['name']}” does not offer {word}.", f"It offers {words}.")
    if seen and seen != shown["evidence"]:
        raise ConflictFailure(
            "What you looked at is no longer what is under review.",
            f"Look again: gateline review {place.name}",
            problem={"visit": shown["visit"], "evidence": shown["evidence"]},
        )
    if yes and not seen:
        raise Usage(
            "--yes decides what you looked at before.", "Add --evidence with the digest that was shown."
        )
    if not yes:
        if not output.asks():
            raise Usage("There is no terminal to show the review and to ask.", "Use --evidence DIGEST --yes.")
        _show(shown, json=False)
        say()
        if offer["needs_reason"] and not reason:
            reason = typer.prompt("Reason", err=True)
        if word == "approve":
            given = {**_asked(shown["fields"], given), **given}
        if not typer.confirm(f"{WORDS[word]}? {offer['then']}", err=True):
            output.note("Nothing was decided.")
            raise typer.Exit(Exit.NO)
    known = {each["key"]: each for each in shown["fields"]}
    fields = {key: typed(known.get(key), key, text, "fields") for key, text in given.items()}
    try:
        answer = server.post(
            place.path("gates", shown["gate"]),
            {
                "action": word,
                "reason": reason,
                "route": route,
                "fields": fields,
                "visit": shown["visit"],
                "evidence": shown["evidence"],
            },
        )
    except ConflictFailure as fault:
        changed = _since(server, place, shown)
        look = f"Look again: gateline review {place.name}"
        raise ConflictFailure(fault.message, look, changed, problem=fault.problem) from fault
    if json:
        output.as_json(answer)
        return
    status = answer["task"]["display_status"].replace("_", " ")
    more = "" if answer["state"] == "decided" else " More votes are needed."
    say(f"[green]{WORDS[word]}[/green]: recorded.{more} {plain(place.name)} is {status}.")


def _asked(fields: list[dict[str, Any]], given: Container[str]) -> dict[str, str]:
    """What an approval fills in, of the person at this terminal; nothing where they leave a field empty."""
    found = {}
    for each in fields:
        if each["key"] in given:
            continue
        choices = ["yes", "no"] if each["type"] == "yes_no" else each["choices"]
        among = f" ({', '.join(choices)})" if choices else ""
        label = "".join(map(output.visible, f"{each['label']}{among}"))
        begin = None if each["required"] else ""
        if text := typer.prompt(label, default=begin, show_default=False, err=True):
            found[each["key"]] = text
    return found


def _since(server: Client, place: TaskPlace, shown: dict[str, Any]) -> list[FaultPlace]:
    """What is otherwise than it was shown, as far as that can still be looked at."""
    try:
        now = server.get(place.path("gates", shown["gate"], "review"))
    except CommandFailure:
        return []
    if now["evidence"] == shown["evidence"] and now["visit"] == shown["visit"]:
        return []
    paths = sorted({path for path, _added, _removed in _counted(shown) ^ _counted(now)})
    told = [
        FaultPlace(
            f"You saw round {shown['round']}; round {now['round']} is open, opened {output.ago(now['opened'])}."
        )
    ]
    if paths:
        told.append(FaultPlace(f"Files that changed otherwise: {', '.join(paths[:10])}"))
    return told


def _counted(shown: dict[str, Any]) -> set[tuple[str, int | None, int | None]]:
    return {(each["path"], each["added"], each["removed"]) for each in shown["files"]}
