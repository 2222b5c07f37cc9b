"""Work of a person."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.document.fields.nested import ListField
from pipelines.routing.document.inputs import INPUT, Input, read_inputs
from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.keys import TextKey, WorkKey
from pipelines.routing.document.work.kind import PERSON, Kind


@dataclass(frozen=True, kw_only=True)
class FormKey(ListField, WorkKey):
    """Fields that a person fills in, as the line's inputs are. `add`, `empty`: said where a row is added, and where
    there is none."""

    add: str
    empty: str


def _form_fields(station: Station) -> tuple[Input, ...]:
    return read_inputs(station.work.get("form"))


KIND = Kind(
    key="manual",
    name="Manual",
    about="A person does the work.",
    icon="hand",
    docs="kinds.md#manual",
    title="Manual work",
    keys={
        "instructions": TextKey(
            label="Instructions",
            help="What the person should do.",
            template=True,
            rows=5,
        ),
        "form": FormKey(
            INPUT,
            unique="key",
            what="the field",
            label="Form",
            add="Add a field",
            empty="The person only reports the result. Add fields to ask for more.",
        ),
    },
    done_by=PERSON,
    form=_form_fields,
    actor="person",
    signed=lambda work: "",
    says=lambda station: str(station.work.get("instructions") or ""),
    silent="Completed by a person.",
)
