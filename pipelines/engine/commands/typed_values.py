"""Convert what somebody typed for an input into a value to check, in forms and on the command line alike."""

from __future__ import annotations

import math
import re
from typing import Any

from pipelines.routing.document.inputs import Input

# Bounded, because int() refuses more than 4,300 digits
INTEGER = re.compile(r"[+-]?[0-9]{1,999}\Z")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
YES_NO = {"yes": True, "true": True, "no": False, "false": False}


def parsed_value_or_text(field: Input, text: str) -> Any:
    """Text that is not a value of the type stays text, so that its check refuses it."""
    if field.type in ("text", "long_text"):
        # Browsers send a form's line ends so, whatever was typed
        return text.replace("\r\n", "\n")
    text = text.strip()
    if field.type == "number":
        return _number_or_text(text)
    return YES_NO.get(text.lower(), text) if field.type == "yes_no" else text


def _number_or_text(text: str) -> int | float | str:
    if INTEGER.match(text):
        return int(text)
    # Infinity stands for what is no number: both stay text.
    value = float(text) if DECIMAL.match(text) else math.inf
    return value if math.isfinite(value) else text
