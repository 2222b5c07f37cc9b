"""Drawing of a line that somebody made, as SVG and as geometry: accepted only as what the canvas draws, of this very
line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, tostring

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.document.ends import BUILT_IN_ENDS

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = frozenset(("svg", "g", "title", "text", "path", "rect", "circle", "polygon"))
TEXTS = frozenset(("title", "text"))
NUMBERS = re.compile(r"[-+0-9A-Za-z., ]*")
COLOUR = re.compile(r"none|var\(--[a-z-]+, #[0-9a-f]{6}\)")
START = "@start"
MAX_WITH_ALL_EDGES = 60
"""Stations; of longer lines an edge to a station far away is a pill."""
CANVAS_WORDS = ("Back to origin", "Wait for answer", "Nowhere", "rejected", "never matches", "△ No limit")
"""Written beside edges by the canvas itself (static/editor/shell/words.ts)."""
OTHER_KIND = "Other"
NUMBER = re.compile("↻ [0-9]+×")
CUT_SIGN = re.compile(r"(\ufffd|\\u\{?[0-9a-f]+\}?|\\x[0-9a-f]{2})+$")
"""Half of a character, or one that joined two, where a name was cut."""
MIN_CUT = 6
"""Letters that are left of a name that was cut."""
NO_CHARACTER = re.compile("[\ufffe\uffff]")
TRANSFORM = re.compile(r"translate\([-0-9. ]+\)")
ATTRIBUTES: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("viewBox", "width", "height", "x", "y", "rx", "r", "cx", "cy", "d", "points"), NUMBERS),
    **dict.fromkeys(("font-size", "font-weight", "text-anchor", "stroke-width"), NUMBERS),
    **dict.fromkeys(("stroke-dasharray", "font-family"), NUMBERS),
    **dict.fromkeys(("fill", "stroke"), COLOUR),
    "transform": TRANSFORM,
    "paint-order": re.compile("stroke"),
    **{f"data-{part}": re.compile(r".*", re.DOTALL) for part in ("station", "rule", "edge", "gate", "end")},
}
"""Nothing here refers to anything else, and nothing runs."""
MAX_LENGTH = 8_000_000


class NotTheDrawing(ValueError):
    """It is no drawing of this line. Its text says what is wrong with which part. `place`: in which frame."""

    place = ""


def checked_svg(svg: str, picture: Mapping[str, Any]) -> str:
    """Return the SVG, written anew, if it is inert and has every station, rule, edge and gate of the picture's document
    once, with its label. :raises NotTheDrawing: in all other cases"""
    if len(svg) > MAX_LENGTH:
        raise NotTheDrawing(f"The drawing is longer than {MAX_LENGTH} characters.")
    try:
        # Drawn by a program outside of this one: nothing in it is believed
        root: Element = fromstring(svg, forbid_dtd=True)
    except (ParseError, DefusedXmlException) as error:
        raise NotTheDrawing(f"The drawing is no SVG: {error}") from None
    for element in root.iter():
        _check_inert(element)
    _check_parts(root, picture)
    _check_texts(root, picture)
    # Written anew, so that nothing is passed on that the parser read otherwise than a browser would
    return _svg_text(root)


def _svg_text(root: Element) -> str:
    """Write a picture without prefixes, by which pages would not know its elements. The table of prefixes is of the
    whole process, and other libraries change it."""
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
    attributes = dict(root.attrib)
    root.attrib.clear()
    root.attrib |= {"xmlns": SVG.strip("{}"), **attributes}
    return tostring(root, encoding="unicode")


def check_document_parts_are_placed_once(placed: Mapping[str, Any], picture: Mapping[str, Any]) -> None:
    """Check that every station, edge and gate of the picture's document has its place, once, and nothing else has one.
    :raises NotTheDrawing: in all other cases"""
    document = picture["document"]
    stations = {station["key"] for station in document["stations"]}
    rules = {rule["id"]: rule for _, rule in _rules_with_stations(document)}
    ends = {*BUILT_IN_ENDS, *(end["key"] for end in document.get("ends", ()))}
    spots = [part["key"] for part in placed["parts"]]
    _require_one_place_each("part", spots, stations, lambda key: key in ends or key == START or ">" in key)
    gates = [gate["key"] for gate in placed["gates"]]
    _require_one_place_each("gate", gates, set(), lambda key: bool(rules.get(key, {}).get("gates")))
    ways = [(way["rule"], way["target"]) for way in placed["ways"]]
    drawn = {rule for rule, _ in ways}
    _require_one_place_each("edge", [f"{rule} → {target}" for rule, target in ways], set(), lambda _: True)
    own = {*rules, START, *(f"{key}@onward" for key in stations), *(f"{key}@rejected" for key in rules)}
    if foreign := sorted(drawn - own):
        raise NotTheDrawing(f"The edge “{foreign[0]}” has a place, and the line does not have it.")
    if len(stations) > MAX_WITH_ALL_EDGES:
        return
    for station in document["stations"]:
        shared: dict[str, set[str]] = {}
        for rule in station.get("rules", ()):
            shared.setdefault(json.dumps([rule["to"], rule.get("gates")]), set()).add(rule["id"])
        for rule in station.get("rules", ()):
            # Rules that ask the same people and lead to the same place share one edge.
            same = shared[json.dumps([rule["to"], rule.get("gates")])]
            if (
                _leads_to_known_target(rule, stations | ends)
                and not _is_retry(station, rule)
                and not same & drawn
            ):
                raise NotTheDrawing(f"The edge of the rule “{rule['id']}” has no place.")
            if rule.get("gates") and not _is_retry(station, rule) and not same & set(gates):
                raise NotTheDrawing(f"The gate of the rule “{rule['id']}” has no place.")


def _require_one_place_each(
    part: str, placed_keys: list[str], required: set[str], is_known: Callable[[str], bool]
) -> None:
    counts = Counter(placed_keys)
    if missing := sorted(required - counts.keys()):
        raise NotTheDrawing(f"The station “{missing[0]}” has no place.")
    for key, count in counts.items():
        if count > 1:
            raise NotTheDrawing(f"The {part} “{key}” has {count} places.")
        if key not in required and not is_known(key):
            raise NotTheDrawing(f"The {part} “{key}” has a place, and the line does not have it.")


def _leads_to_known_target(rule: Mapping[str, Any], known: set[str]) -> bool:
    targets = rule["to"] if isinstance(rule["to"], list) else [rule["to"]]
    return any(target in known for target in targets)


def _check_inert(element: Element) -> None:
    name = str(element.tag).removeprefix(SVG)
    if element.tag != SVG + name or name not in ELEMENTS:
        raise NotTheDrawing(f"The drawing has an element “{element.tag}”.")
    if name in TEXTS and len(element):
        raise NotTheDrawing(f"A {name} of the drawing has an element in it.")
    if (name not in TEXTS and (element.text or "").strip()) or (element.tail or "").strip():
        raise NotTheDrawing("The drawing has text outside of its texts.")
    for attribute, value in element.attrib.items():
        pattern = ATTRIBUTES.get(attribute)
        if pattern is None or not pattern.fullmatch(value):
            raise NotTheDrawing(f"A {name} of the drawing has “{attribute}”: “{value[:80]}”.")


def _check_parts(root: Element, picture: Mapping[str, Any]) -> None:
    document, conditions = picture["document"], picture["conditions"]
    stations = [(station["key"], station.get("name") or station["key"]) for station in document["stations"]]
    rules = [(rule["id"], _rule_label(rule, conditions)) for _, rule in _rules_with_stations(document)]
    _check_drawn_parts("station", stations, _drawn_parts(root, "station"))
    _check_drawn_parts("rule", rules, _drawn_parts(root, "rule"))
    edges = Counter(key for key, _ in _drawn_parts(root, "edge"))
    # A retry of its own station is a badge there, and no edge.
    expected = {
        rule["id"] for station, rule in _rules_with_stations(document) if not _is_retry(station, rule)
    }
    if missing := expected - edges.keys():
        raise NotTheDrawing(f"The edge of the rule “{min(missing)}” is not drawn.")
    if twice := [key for key, count in edges.items() if count > 1]:
        raise NotTheDrawing(f"The edge “{twice[0]}” is drawn twice.")
    names = {gate["key"]: gate.get("name") or gate["key"] for gate in document.get("gates", ())}
    # Rules that ask at the same gates may share a hexagon.
    gates = Counter(
        (keys[0], _xml_text(", ".join(names.get(key, key) for key in keys)))
        for _, rule in _rules_with_stations(document)
        if (keys := rule.get("gates"))
    )
    hexagons = Counter(_drawn_parts(root, "gate"))
    for gate in gates.keys() | hexagons.keys():
        if not 1 <= hexagons[gate] <= gates[gate]:
            raise NotTheDrawing(f"The gate “{gate[1]}” is drawn {hexagons[gate]} times.")


def _check_drawn_parts(part: str, expected: list[tuple[str, str]], drawn: list[tuple[str, str]]) -> None:
    difference = Counter((_xml_text(key), _xml_text(label)) for key, label in expected)
    difference.subtract(drawn)
    for (key, label), count in difference.items():
        if count:
            fault = (
                "is not drawn once, with its label" if count > 0 else "is drawn, which the line does not have"
            )
            raise NotTheDrawing(f"The {part} “{key}” ({label}) {fault}.")


def _check_texts(root: Element, picture: Mapping[str, Any]) -> None:
    """Check that each text says what the part is called that it stands in, and outside of parts what the line says."""
    names = _names_of_parts(picture)
    for part in ("station", "end", "gate", "rule"):
        for group in root.iter(f"{SVG}g"):
            key = group.get(f"data-{part}")
            if key is None:
                continue
            texts = [text.text or "" for text in group.findall(f"{SVG}text")]
            labels = names.get((part, key), ())
            rows = [" ".join(texts)] if part == "gate" else texts
            for text in rows:
                if not any(_is_whole_or_cut_name(text, name) for name in labels):
                    raise NotTheDrawing(f"At the {part} “{key}” is written “{text[:80]}”.")
            if part != "rule" and not any(
                _is_whole_or_cut_name(text, name) for text in rows for name in labels[:1]
            ):
                raise NotTheDrawing(f"The name of the {part} “{key}” is not written on it.")
    everywhere = {*CANVAS_WORDS, *(name for labels in names.values() for name in labels)}
    for element in root.findall(f"{SVG}text"):
        text = element.text or ""
        if not NUMBER.fullmatch(text) and not any(_is_whole_or_cut_name(text, name) for name in everywhere):
            raise NotTheDrawing(f"The drawing says “{text[:80]}”, which the line does not.")


def _names_of_parts(picture: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Return what may be written at each part, its name first."""
    document, kinds = picture["document"], {kind["key"]: kind["name"] for kind in picture["kinds"]}
    names = {("end", START): ["Start"], **{("end", key): [_end_name(key)] for key in BUILT_IN_ENDS}}
    for end in document.get("ends", ()):
        names["end", end["key"]] = [_end_name(end.get("label") or end["key"])]
    for gate in document.get("gates", ()):
        names["gate", gate["key"]] = [gate.get("name") or gate["key"]]
    for station in document["stations"]:
        key, kind = station["key"], station.get("work", {}).get("kind", "")
        joins = station.get("join", {}).get("aggregation", "all-pass").replace("-", " ")
        names["station", key] = [station.get("name") or key, kinds.get(kind, OTHER_KIND), joins]
        for number, rule in enumerate(station.get("rules", ()), start=1):
            label = _rule_label(rule, picture["conditions"]) or rule["id"]
            most = picture.get("limits", {}).get(rule["id"], {}).get("most")
            badge = f"{number} ↻" if most is None else f"{number} ↻ {most}×"
            names["rule", rule["id"]], names["label", rule["id"]] = [str(number), badge], [label]
            for key in rule.get("gates", ()):
                names.setdefault(("gate", key), [key])
            targets = rule["to"] if isinstance(rule["to"], list) else [rule["to"]]
            for target in targets:
                names.setdefault(("target", target), [_end_name(target)])
    return {part: [_xml_text(name) for name in labels] for part, labels in names.items()}


def _end_name(label: str) -> str:
    """Return an end as the canvas calls it (static/editor/store/names.ts)."""
    if label in BUILT_IN_ENDS or label == label.upper():
        return label[:1].upper() + label[1:].lower().replace("_", " ")
    return label


def _is_whole_or_cut_name(text: str, name: str) -> bool:
    """Return whether a text is a name, whole or cut at its end."""
    start = CUT_SIGN.sub("", text.removesuffix("…"))
    return text == name or (text.endswith("…") and len(start) >= MIN_CUT and name.startswith(start))


def _drawn_parts(root: Element, part: str) -> list[tuple[str, str]]:
    return [
        (group.get(f"data-{part}", ""), group.findtext(f"{SVG}title", ""))
        for group in root.iter(f"{SVG}g")
        if f"data-{part}" in group.keys()  # noqa: SIM118
    ]


def _rules_with_stations(
    document: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for station in document["stations"]:
        for rule in station.get("rules", ()):
            yield station, rule


def _is_retry(station: Mapping[str, Any], rule: Mapping[str, Any]) -> bool:
    return rule["to"] in (station["key"], [station["key"]]) and not rule.get("gates")


def _rule_label(rule: Mapping[str, Any], conditions: Mapping[str, str]) -> str:
    return str(rule.get("label") or conditions.get(rule["id"], ""))


def _xml_text(text: str) -> str:
    """Return the text as XML has it: a return is a line end there, and two characters are none."""
    return NO_CHARACTER.sub("\ufffd", escape_hidden(text)).replace("\r\n", "\n").replace("\r", "\n")
