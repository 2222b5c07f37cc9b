"""An end: how a task is called that came there."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.routing.document.ends import BUILT_IN_ENDS, END
from pipelines.routing.document.line import Problem
from pipelines.web.editor.forms.declared_fields import declared_control, remaining_fields
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import (
    FormSetting,
    Fragment,
    PlacedFragment,
    Rows,
    Section,
    other_skeletons,
    sections_with_uncovered_rest,
    skeleton_document,
)


class EndForm:
    def sections(self, fragment: Fragment, setting: FormSetting) -> Sequence[Section]:
        always = setting.own in BUILT_IN_ENDS
        label = declared_control(END, (), "label", placeholder=setting.own.upper())
        fields: list[FormField | Rows] = [label]
        # Key and kind of a built-in end are shown only where the draft says otherwise.
        if not always or fragment.get("key") != setting.own:
            fields.append(declared_control(END, (), "key", covers=("",)))
        if not always or fragment.get("kind") != BUILT_IN_ENDS[setting.own]:
            fields.append(declared_control(END, (), "kind", ChoiceField))
        fields += remaining_fields(END, (), fields, excluded_keys=("key", "kind"))
        known = [(key,) for key in ("key", "kind") if always]
        words = "What has no field of its own, as JSON."
        help_words = "This end exists in every line." if always else ""
        return sections_with_uncovered_rest(
            [Section(fields=fields, help=help_words)], fragment, "Everything else", words, *known
        )

    def placed_fragment(self, fragment: Fragment, setting: FormSetting) -> PlacedFragment:
        keys = {end["key"] for end in other_skeletons(setting.names.ends, setting.own)}
        rest = [{"key": key, "kind": BUILT_IN_ENDS.get(key, "completed")} for key in sorted(keys)]
        return PlacedFragment(skeleton_document(setting.names, ends=[*rest, fragment]), f"ends[{len(rest)}]")

    def extra_problems(self, fragment: Fragment, setting: FormSetting) -> Sequence[Problem]:
        """A station of the same key is told at the station; here it belongs to the end."""
        if fragment.get("key") in [station.key for station in setting.names.stations]:
            return [Problem("key", "a station has this key, and stations and ends share one name space")]
        return ()
