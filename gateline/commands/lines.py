"""Lines: `lines` lists them, `lines LINE` draws one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.commands.lint import counts_by_severity_text
from gateline.failures import UsageFailure
from gateline.lookup import LinePlace
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client


def lines(
    ctx: typer.Context,
    line: Annotated[
        str,
        typer.Argument(
            help="Draw this line: line, project/line or owner/project/line.",
            autocompletion=completion.complete_line,
        ),
    ] = "",
    draft: Annotated[bool, typer.Option("--draft", help="Draw its draft, not what is live.")] = False,
    project: Annotated[
        str,
        typer.Option(
            "--project", help="List only those of this project.", autocompletion=completion.complete_project
        ),
    ] = "",
    json: Json = False,
) -> None:
    """List lines, or draw one: its stations, its rules in order, and what was proved of each rule."""
    server = signed_in_client(ctx)
    if line:
        _print_drawing(server, lookup.find_line(server, line), draft, json)
        return
    visible_lines = lookup.find_lines(server, project)
    if json:
        output.print_json([line_place.facts for line_place in visible_lines])
        return
    output.print_table(
        ("Line", "Name", "Live", ""),
        (
            (
                unstyled(line_place),
                unstyled(line_place.facts["name"]),
                f"v{line_place.facts['live']}" if line_place.facts["live"] else "not published",
                "archived" if line_place.facts["archived"] else "",
            )
            for line_place in visible_lines
        ),
    )


def _print_drawing(server: Client, line: LinePlace, draft: bool, json: bool) -> None:
    live = line.facts["live"]
    if not draft and not live:
        raise UsageFailure(
            f"{line} has no published version.", f"Draw its draft: gateline lines {line} --draft"
        )
    which = "draft" if draft else "live"
    picture = server.get(line.api_path("picture"), from_=which, to=which)
    lint = server.get(line.api_path("lint"), version=None if draft else live)
    if json:
        facts = {**line.facts, "drawn": which, "document": picture["document"]}
        output.print_json({**facts, "conditions": picture["conditions"], "lint": lint})
        return
    drawn = f"draft {line.facts['draft']}" if draft else f"v{live}"
    print_text(f"[bold]{unstyled(line.facts['name'])}[/bold]  [dim]{unstyled(line)} · {drawn}[/dim]")
    print_text()
    for row in TerminalDrawing(picture["document"], picture["conditions"], lint).rows():
        print_text(row)
    if lint["findings"]:
        print_text()
        print_text(
            f"  {counts_by_severity_text(lint['counts'])}: gateline lint {unstyled(line)}{' --draft' if draft else ''}"
        )


# A line drawn as text: its stations in order, below each its rules in the order in which they are tried, and
# what lint proved of every rule.


STANDINGS = {
    "live": ("Live", "green"),
    "partly shadowed": ("Partly shadowed", "dim"),
    "dead": ("Never matches", "red"),
    "unknown": ("Unknown", "dim"),
}
"""How each is said, as on the canvas."""
BUILT_IN = {"@origin": "back to where it came from", "@blocked": "wait for a person"}


@dataclass(frozen=True)
class TerminalDrawing:
    """`document` as JSON; `conditions`: of each rule in words, by its id; `lint`: what the server's lint answered."""

    document: Mapping[str, Any]
    conditions: Mapping[str, str]
    lint: Mapping[str, Any]

    def rows(self) -> Iterator[str]:
        """Styled lines of text."""
        standings = {row["station"]: row for row in self.lint["stations"]}
        for number, station in enumerate(self.document["stations"], 1):
            if number > 1:
                yield "  [dim]│[/dim]"
            yield from self._station_rows(
                station, standings.get(station["key"], {"rules": [], "untaken": []})
            )
        ends = [
            f"{unstyled(end.get('name') or end['key'])} ({end['kind']})"
            for end in self.document.get("ends", ())
        ]
        if ends:
            yield ""
            yield f"  [dim]Ends:[/dim] {', '.join(ends)}"

    def _station_rows(self, station: Mapping[str, Any], analysis: Mapping[str, Any]) -> Iterator[str]:
        kind = station["work"]["kind"]
        gate = f"  ◇ {self._gate_name_or_key(station['gate'])}" if station.get("gate") else ""
        yield f"  [bold]● {unstyled(self._node_name_or_key(station['key']))}[/bold]  [dim]{unstyled(kind)}[/dim]{gate}"
        proved = {verdict["rule"]: verdict for verdict in analysis["rules"]}
        for number, rule in enumerate(station.get("rules", ()), 1):
            yield from self._rule_rows(number, rule, proved.get(rule["id"]))
        for outcomes in analysis["untaken"]:
            yield f"  [dim]│  – otherwise, {outcomes['outcomes']} → {unstyled(outcomes['then'])}[/dim]"

    def _rule_rows(
        self, number: int, rule: Mapping[str, Any], proved: Mapping[str, Any] | None
    ) -> Iterator[str]:
        to = rule["to"] if isinstance(rule["to"], list) else [rule["to"]]
        gates = "".join(f" ◇ {self._gate_name_or_key(gate)} →" for gate in rule.get("gates", ()))
        words = self.conditions.get(rule["id"]) or "always"
        label = f"{unstyled(rule['label'])}: " if rule.get("label") else ""
        verdict, colour = STANDINGS[proved["standing"]] if proved else ("", "dim")
        targets = " + ".join(unstyled(self._node_name_or_key(key)) for key in to)
        yield f"  [dim]│[/dim]  {number} {label}{unstyled(words)} →{gates} {targets}   [{colour}]{verdict}[/{colour}]"
        killers = (proved or {}).get("killers") or (proved or {}).get("shadowed_by") or ()
        if killers:
            names = ", ".join(unstyled(self._rule_station_and_number(rule_id)) for rule_id in killers)
            yield f"  [dim]│    behind {names}[/dim]"

    def _node_name_or_key(self, key: str) -> str:
        every = [*self.document["stations"], *self.document.get("ends", ())]
        return next((node.get("name") or key for node in every if node["key"] == key), BUILT_IN.get(key, key))

    def _gate_name_or_key(self, key: str | Mapping[str, Any]) -> str:
        if not isinstance(key, str):
            return unstyled(key.get("name") or key.get("key") or "gate")
        names = (gate.get("name") for gate in self.document.get("gates", ()) if gate["key"] == key)
        return unstyled(next(names, "") or key)

    def _rule_station_and_number(self, rule_id: str) -> str:
        for station in self.document["stations"]:
            for number, rule in enumerate(station.get("rules", ()), 1):
                if rule["id"] == rule_id:
                    return f"{station.get('name') or station['key']}, rule {number}"
        return rule_id
