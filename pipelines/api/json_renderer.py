"""JSON of every answer: a fraction of a line, a finding or an example is a number, as the document has it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ninja.renderers import JSONRenderer
from ninja.responses import NinjaJSONEncoder

from pipelines.routing.basics import jsontext


class ExactEncoder(NinjaJSONEncoder):
    def default(self, o: Any) -> Any:
        """Return a decimal as the integer or double that it is; as its text where it is neither."""
        if isinstance(o, Decimal):
            number = jsontext.parse_number(str(o)) if o.is_finite() else o
            return str(number) if isinstance(number, Decimal) else number
        return super().default(o)


class ExactRenderer(JSONRenderer):
    encoder_class = ExactEncoder
