"""What a forward move needs and a script does not call missing: a person gives it, as on the page of a held task."""

from __future__ import annotations

from pipelines import engine
from pipelines.engine.commands.supply_preconditions import fields_for_missing_metadata
from pipelines.models import Status, Token
from pipelines.queries import versions
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.preconditions import HANDOFF, METADATA
from pipelines.routing.simulate import candidates
from tests.playing.minimal import least_handoff
from tests.playing.stage import NotPlayable, Stage


def give(stage: Stage) -> None:
    """To every token that is held for a handoff or for metadata. What else is missing stays missing."""
    for token in stage.living.filter(status=Status.HELD):
        lacking = _lacking(stage, token)
        if HANDOFF in lacking:
            _hand_over(stage, token)
            token.refresh_from_db()
            lacking = _lacking(stage, token)
        named = {name.removeprefix(METADATA) for name in lacking if name.startswith(METADATA)}
        if named:
            _supply(stage, token, named)


def _lacking(stage: Stage, token: Token) -> set[str]:
    if token.status != Status.HELD:
        return set()
    return set(token.wait.get("missing", ())) - stage.withheld.get((token.pk, token.station), set())


def _hand_over(stage: Stage, token: Token) -> None:
    """The least document that the schema of the station takes."""
    document, faults = least_handoff(_line(stage, token).handoff_schema(token.station))
    if faults:
        raise NotPlayable(
            f"{token.station} needs a handoff, and none could be made up that fits its schema ({faults[0]}); write "
            "one in the script, as `handoff` of the outcome."
        )
    engine.store_handoff_and_decide_again(
        token.pk, user=stage.cast.person(""), token_version=token.version, document=document
    )


def _supply(stage: Stage, token: Token, named: set[str]) -> None:
    fields = [
        field for field in fields_for_missing_metadata(_line(stage, token), token) if field.key in named
    ]
    given = {field.key: candidates.sample_input_value(field) for field in fields}
    unknown = next((field for field in fields if given[field.key] is None), None)
    if unknown is not None:
        what = "is a secret" if unknown.type == "secret" else "has to match a pattern"
        raise NotPlayable(
            f"{token.station} needs {unknown.label or unknown.key}, which {what}: nobody can make one up."
        )
    engine.supply_metadata_and_decide_again(
        token.pk, user=stage.cast.person(""), token_version=token.version, values=given
    )


def _line(stage: Stage, token: Token) -> ParsedLine:
    return versions.parsed_line_by_version_id(token.task.pinned_id)
