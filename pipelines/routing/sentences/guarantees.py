"""Guarantees of a line, in words."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.routing.basics.wording import PartName
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.guarantees import REJECT, SEND_BACK, Guarantee
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences.part_names import gate_name_even_for_machines
from pipelines.routing.sentences.part_names import place_name_for_sentence as named


def line_guarantee_sentence(line: ParsedLine, guarantee: Guarantee) -> str:
    """Return the guarantee as one sentence, with names as people see them."""
    return guarantee_sentence(guarantee, lambda key: place_part_name(line, key))


def guarantee_sentence(guarantee: Guarantee, name_of: Callable[[str], str | PartName]) -> str:
    """`called`: the name of a place."""
    if guarantee.after is not None and guarantee.never is not None:
        template = AFTER[guarantee.after.word]
        return _(template, gate=name_of(guarantee.after.gate), place=name_of(guarantee.never.reach))
    if guarantee.never is not None:
        reach, without = name_of(guarantee.never.reach), name_of(guarantee.never.without)
        return _("Nothing reaches %(place)s without %(without)s", place=reach, without=without)
    if guarantee.at_most is not None:
        station, times = name_of(guarantee.at_most.visit), guarantee.at_most.times
        if times == 1:
            return _("%(station)s runs at most once per task", station=station)
        return _("%(station)s runs at most %(times)s times per task", station=station, times=times)
    if guarantee.ends_within is not None:
        return _("Every path ends within %(moves)s moves", moves=guarantee.ends_within)
    return _("A task costs at most $%(amount)s", amount=guarantee.cost_at_most or "")


AFTER = {
    REJECT: "After %(gate)s rejects, nothing reaches %(place)s until it is approved",
    SEND_BACK: "After %(gate)s sends back, nothing reaches %(place)s until it is approved",
}


def place_part_name(line: ParsedLine, key: str) -> str | PartName:
    """A station, an end or a gate, by its name."""
    is_gate = key in line.gates_by_key and key not in {*line.stations_by_key, *line.ends_by_key}
    return gate_name_even_for_machines(line, key) if is_gate else named(line, key)
