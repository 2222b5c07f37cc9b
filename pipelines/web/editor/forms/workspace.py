"""The repository that the tasks of a line work in."""

from __future__ import annotations

from pipelines.models import Repository
from pipelines.routing.document.workspace import GIT_WORKSPACE, INPUT
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.declared_fields import declared_control
from pipelines.web.editor.forms.fields import ChoiceField, FormField
from pipelines.web.editor.forms.form import FormSetting, Fragment, Rows, Section

AT = ("workspace", "git")


def workspace_section(fragment: Fragment, setting: FormSetting) -> Section:
    """The other fields are there once a repository is chosen."""
    repository = declared_control(
        GIT_WORKSPACE,
        AT,
        "repository",
        ChoiceField,
        options=_repository_options(setting),
        whole=("workspace",),
    )
    fields: list[FormField | Rows] = [repository]
    if type(fragment_paths.value_at(fragment, AT)) is dict:
        fields += [declared_control(GIT_WORKSPACE, AT, key) for key in ("base", "head", "branch", "commit")]
    return Section(title="Repository", fields=fields, help=_help_text(setting))


def _repository_options(setting: FormSetting) -> list[tuple[str, str]]:
    known = Repository.objects.filter(project=setting.project).order_by("name").values_list("name", flat=True)
    names = setting.names.input_names
    inputs = [
        (INPUT + key, f"The one that the input {names.get(key) or key} names") for key in setting.names.inputs
    ]
    return [
        ("", "None: each task works in a folder of its own"),
        *((name, name) for name in known),
        *inputs,
    ]


def _help_text(setting: FormSetting) -> str:
    if Repository.objects.filter(project=setting.project).exists():
        return ""
    return "Connect a repository in the settings of the project, then choose it here."
