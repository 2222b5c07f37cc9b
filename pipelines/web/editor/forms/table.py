"""Every form of the editor by the name in its address. A new one is a line here and a file of its own."""

from __future__ import annotations

from pipelines.web.editor.forms.end import EndForm
from pipelines.web.editor.forms.failures import FailuresForm
from pipelines.web.editor.forms.form import PartForm
from pipelines.web.editor.forms.gate import GateForm
from pipelines.web.editor.forms.inputs import InputsForm
from pipelines.web.editor.forms.line import LineForm
from pipelines.web.editor.forms.rule import RuleForm
from pipelines.web.editor.forms.several_stations import SeveralStationsForm
from pipelines.web.editor.forms.station import StationForm

FORMS: dict[str, PartForm] = {
    "station": StationForm(),
    "several": SeveralStationsForm(),
    "gate": GateForm(),
    "end": EndForm(),
    "line": LineForm(),
    "inputs": InputsForm(),
    "rule": RuleForm(),
    "failures": FailuresForm(),
}
