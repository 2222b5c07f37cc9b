"""A field of a form whose text is JSON."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput


class JsonTextField(forms.JSONField):
    """Refuses also what the parser breaks at (nested too deeply, a number of too many digits), and halves of
    characters, which no page can show."""

    def to_python(self, value: Any) -> Any:
        try:
            parsed = super().to_python(value)
            # Half of a character, such as a lone surrogate, cannot be encoded.
            json.dumps(parsed, ensure_ascii=False).encode()
        except (RecursionError, ValueError) as fault:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from fault
        return parsed

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the typed text, to be displayed again."""
        try:
            return super().bound_data(data, initial)
        except (RecursionError, ValueError):
            return InvalidJSONInput(data)
