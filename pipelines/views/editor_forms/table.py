"""Every form of the editor by the name in its address. A new one is a line here and a file of its own."""

from __future__ import annotations

from pipelines.views.editor_forms.end import EndForm
from pipelines.views.editor_forms.failures import FailuresForm
from pipelines.views.editor_forms.form import Form
from pipelines.views.editor_forms.gate import GateForm
from pipelines.views.editor_forms.inputs import InputsForm
from pipelines.views.editor_forms.line import LineForm
from pipelines.views.editor_forms.rule import RuleForm
from pipelines.views.editor_forms.station import StationForm

FORMS: dict[str, Form] = {
    "station": StationForm(),
    "gate": GateForm(),
    "end": EndForm(),
    "line": LineForm(),
    "inputs": InputsForm(),
    "rule": RuleForm(),
    "failures": FailuresForm(),
}
