"""`import`: documents of other systems as lines: a table of what each becomes, then kept as drafts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from gateline import completion, lookup, output
from gateline.client import Client, url_path
from gateline.failures import ConflictFailure, ExitCode, InvalidFailure, UsageFailure
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

DOCUMENTS = (".json", ".yaml", ".yml", ".ndjson")
OF_A_FOLDER = (*DOCUMENTS, ".md")
HEAD, STATION = "assembly-line.json", "station.json"
MOST = 500
COLUMNS = ("File", "Dialect", "Line", "Stations", "Rules", "Gates", "Losses", "Findings")


def import_(
    ctx: typer.Context,
    what: Annotated[Path, typer.Argument(help="A document, or a folder of them.", metavar="FILE|FOLDER")],
    project: Annotated[
        str,
        typer.Option(
            "--project", help="Import into it: owner/project.", autocompletion=completion.complete_project
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what they become; keep nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Read documents of Vibe Factory, ALP, contenox, Flux or AEEF as lines: show what each becomes and loses, ask, and
    keep them as drafts. Ends with 1 if one cannot be read.

    A folder with assembly-line.json is one line of ALP. The documents are sent to the server; nothing that they name is
    run, opened or fetched."""
    server = signed_in_client(ctx)
    where = url_path(
        "owners", *_project_path_parts(lookup.find_owner_and_key_of_project(server, project)), "import"
    )
    rows = [_preview_import(server, where, name, files) for name, files in find_documents(what)]
    if not json:
        print_rows(rows)
    importable = [row for row in rows if "error" not in row]
    if not dry_run and importable:
        # A program cannot be asked: with --json nothing is kept without --yes
        if not yes and not json:
            output.confirm_or_exit(
                f"Keep {len(importable)} as new lines?",
                "keep these lines",
                "Nothing was kept.",
                "Add --yes, or --dry-run.",
            )
        if yes:
            for row in importable:
                _save_line(server, where, row, json)
    if json:
        output.print_json([{key: value for key, value in row.items() if key != "files"} for row in rows])
    if any("error" in row for row in rows):
        raise typer.Exit(ExitCode.NO)


def _project_path_parts(project: tuple[str, str]) -> tuple[str, str, str]:
    return project[0], "projects", project[1]


def find_documents(what: Path) -> list[tuple[str, dict[str, str]]]:
    """Return each document with its files: name, and texts by path. A folder of an assembly line is one
    document. Raises Usage."""
    if what.is_file():
        return [(str(what), {what.name: _read_text(what)})]
    if not what.is_dir():
        raise UsageFailure(f"There is no file or folder {what}.")
    files = sorted(_document_files(what))
    if len(files) > MOST:
        raise UsageFailure(f"{what} holds more than {MOST} documents.", "Name a folder further down.")
    # Before the files: a part may come before the head that its folder is known by
    roots = [file.parent for file in files if file.name == HEAD]
    roots += [
        # Of stations/NN-name/station.json the line is the folder above `stations`.
        root
        for file in files
        if file.name == STATION and (root := file.parent.parent.parent) not in roots
    ]
    documents: dict[Path, dict[str, str]] = {}
    for file in files:
        # A file inside the folder of a line is a part of that line, and no document by itself
        around = next((root for root in roots if file.is_relative_to(root)), None)
        if around is not None:
            documents.setdefault(around, {})[file.relative_to(around).as_posix()] = _read_text(file)
        elif file.suffix in DOCUMENTS:
            documents[file] = {file.name: _read_text(file)}
    if not documents:
        raise UsageFailure(f"{what} holds no document: {', '.join(DOCUMENTS)}.")
    return [
        (str(name.relative_to(what)) if name != what else str(what), texts)
        for name, texts in documents.items()
    ]


def _document_files(folder: Path) -> Iterator[Path]:
    """Never through a link: it may lead anywhere; nor what is no file: a pipe would never end."""
    for root, folders, names in os.walk(folder):
        # In place: os.walk goes into what is left in its own list.
        folders[:] = [folder for folder in folders if folder not in (".git", "node_modules")]
        for name in names:
            file = Path(root, name)
            if file.suffix in OF_A_FOLDER and not file.is_symlink() and file.is_file():
                yield file


def _read_text(file: Path) -> str:
    try:
        # Drops a byte order mark, with which some editors begin a file.
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageFailure(f"{file} cannot be read: {fault}") from fault


def _preview_import(server: Client, where: str, name: str, files: dict[str, str]) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = server.post(where, {"files": files})
    except InvalidFailure as fault:
        faults = [
            {"path": p.path, "message": p.message, "hint": p.hint, "line": p.line, "column": p.column}
            for p in fault.places
        ]
        return {"file": name, "files": files, "error": fault.message, "problems": faults}
    # For the canvas: printed as JSON it would be longer than all the rest
    answer.pop("picture")
    return {"file": name, "files": files, **answer}


def print_rows(rows: list[dict[str, Any]]) -> None:
    output.print_table(COLUMNS, (_table_row(row) for row in rows))
    for row in rows:
        for loss in row.get("losses", ()):
            print_text(f"  {_position_text(row, loss)}: [yellow]loss[/yellow] {unstyled(loss['message'])}")
        for fault in row.get("problems", ()):
            print_text(f"  {_position_text(row, fault)}: [red]error[/red] {unstyled(fault['message'])}")
            if fault["hint"]:
                print_text(f"    {unstyled(fault['hint'])}")


def _table_row(row: dict[str, Any]) -> tuple[object, ...]:
    if "error" in row:
        return unstyled(row["file"]), "[red]not read[/red]", "", "", "", "", "", len(row["problems"])
    numbers = (row["stations"], row["rules"], row["gates"], len(row["losses"]), sum(row["findings"].values()))
    return unstyled(row["file"]), unstyled(row["system"] or "Gateline"), unstyled(row["key"]), *numbers


def _position_text(row: dict[str, Any], place: dict[str, Any]) -> str:
    """File, line and place in it. Of a folder the path names the file first, or is one."""
    file, _colon, path = place["path"].rpartition(": ")
    if path in row["files"]:
        file, path = path, ""
    line = f":{place['line']}:{place['column'] or 1}" if place["line"] else ""
    return (
        unstyled("/".join(filter(None, (row["file"], file)))) + line + (f" {unstyled(path)}" if path else "")
    )


def _save_line(server: Client, where: str, row: dict[str, Any], json: bool) -> None:
    """Save an imported document as a new line, under the first free key."""
    # As many losses as were shown: with others the server keeps nothing (409).
    body = {"files": row["files"], "save": True, "losses": len(row["losses"])}
    for number in range(1, 21):
        # A key has at most 64 characters.
        key = row["key"] if number == 1 else f"{row['key'][:60]}-{number}"
        try:
            row["saved"] = server.post(where, {**body, "key": key})["saved"]
        except ConflictFailure:
            continue
        if not json:
            print_text(f"[green]Kept[/green] {unstyled(row['file'])} as {unstyled(row['saved']['key'])}.")
        return
    raise ConflictFailure(f"All keys like {row['key']} are taken.", "Rename its line, or archive old ones.")
