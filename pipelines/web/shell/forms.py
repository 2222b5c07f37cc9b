"""Forms of the pages. Django's forms refuse NUL and cut nothing silently; the templates draw them with components."""

from __future__ import annotations

import zoneinfo
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from pipelines import access
from pipelines.engine.commands.deadlocks import WORDS as DEADLOCK_WORDS
from pipelines.errors import Invalid
from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.folder_archive import folder_error, readable_file_by_path
from pipelines.lines.addressed_documents import fetch_document
from pipelines.models import Agent, ApiToken, Group, Membership, Project, Role, User
from pipelines.models.agents import agent_id
from pipelines.models.people import slug, smallest_equal_roles
from pipelines.routing.basics import jsontext
from pipelines.routing.document.escalations import WORDS_TO_RESOLVE
from pipelines.web.shell.json_text import JsonTextField

METADATA = "metadata."
"""What the fields of a form for metadata begin with."""
DAYS = ((30, "30 days"), (90, "90 days"), (365, "1 year"))


class PersonalForm(forms.ModelForm):
    time_zone = forms.ChoiceField(
        label="Time zone", choices=lambda: [(z, z) for z in sorted(_time_zone_names())]
    )

    class Meta:
        model = User
        fields = ("first_name", "last_name", "email", "theme", "density", "time_zone", "letter_shortcuts")


def _time_zone_names() -> set[str]:
    # Names without a slash are old ones, such as EST; localtime is that of the server
    return {name for name in zoneinfo.available_timezones() if "/" in name or name == "UTC"} - {"localtime"}


class NewTokenForm(forms.Form):
    """A token of a person: what it may do is what the person may, within these scopes."""

    name = forms.CharField(label="Name", max_length=100)
    scopes = forms.MultipleChoiceField(label="Scopes", choices=ApiToken.Scope.choices)
    days = forms.TypedChoiceField(label="Valid for", choices=DAYS, coerce=int, initial=90)

    def expires_at(self, now: datetime) -> datetime:
        return now + timedelta(days=self.cleaned_data["days"])


class NewMachineTokenForm(NewTokenForm):
    """A token of a machine: a role in one project, and never a decision at a gate."""

    # Reviewer is not offered: a machine never decides, and the role gives nothing else.
    role = forms.ChoiceField(
        label="Role", choices=[c for c in Role.choices if c[0] not in (Role.REVIEWER, Role.ADMIN)]
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes = self.fields["scopes"]
        assert isinstance(scopes, forms.MultipleChoiceField)
        scopes.choices = [c for c in ApiToken.Scope.choices if c[0] not in ApiToken.PERSONAL]


class RolesForm(forms.Form):
    """The roles of a member, a set, and the permission that no role includes."""

    roles = forms.MultipleChoiceField(
        label="Roles", choices=Role.choices, error_messages={"required": "Choose at least one role."}
    )
    execute = forms.BooleanField(label="Can publish stations that run programs", required=False)

    def clean_roles(self) -> list[str]:
        return smallest_equal_roles(self.cleaned_data["roles"])


class AddMemberForm(RolesForm):
    """Somebody whom the admin `by` works with elsewhere. Whoever they do not know is invited: nobody learns here which
    accounts there are."""

    username = forms.CharField(label="Person", max_length=150)

    def __init__(self, project: Project, by: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project, self.by = project, by

    def clean_username(self) -> str:
        name = self.cleaned_data["username"]
        person = access.people_user_may_name(self.by).filter(username=name).first()
        if person is None:
            raise ValidationError(
                "Nobody in your projects has this user name. Invite people who are new to you."
            )
        self.user = person
        if Membership.objects.filter(project=self.project, user=self.user).exists():
            raise ValidationError("This person is already a member. Change the role in the list.")
        return name


class ChoiceForm(forms.Form):
    """The choices of one field, `offered`, are of who asks."""

    offered = ""

    def __init__(self, choices: list[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields[self.offered]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


class NewGroupForm(forms.Form):
    key = forms.CharField(label="Key", max_length=64, validators=[slug])
    name = forms.CharField(label="Name", max_length=200)

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project

    def clean_key(self) -> str:
        key = self.cleaned_data["key"]
        if Group.objects.filter(project=self.project, key=key).exists():
            raise ValidationError("A group with this key already exists.")
        return key


class GroupMembersForm(forms.Form):
    """Only members of the project can be in one of its groups."""

    members = forms.ModelMultipleChoiceField(queryset=User.objects.none(), required=False)

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        members = self.fields["members"]
        assert isinstance(members, forms.ModelMultipleChoiceField)
        members.queryset = User.objects.filter(memberships__project=project)


class TextLinesField(forms.CharField):
    """Field of one entry a line; empty lines are ignored."""

    def clean(self, value: Any) -> list[str]:
        text = super().clean(value)
        return [line.strip() for line in str(text or "").splitlines() if line.strip()]


class AgentForm(forms.Form):
    """An agent of a project; its owner is a member. `key` only of a new one."""

    name = forms.CharField(max_length=200, required=False)
    owner = forms.ModelChoiceField(
        queryset=User.objects.none(), error_messages={"required": "Choose who is responsible for it."}
    )
    contract_version = forms.CharField(max_length=40, required=False)
    allowed_inputs = TextLinesField(max_length=20_000, required=False)
    allowed_outputs = TextLinesField(max_length=20_000, required=False)
    forbidden_actions = TextLinesField(max_length=20_000, required=False)
    required_checks = TextLinesField(max_length=20_000, required=False)
    escalates_to = forms.CharField(max_length=100, required=False)
    valid_until = forms.DateField(required=False)
    capacity = forms.IntegerField(min_value=0, max_value=100_000, required=False)
    trust = TextLinesField(max_length=20_000, required=False)

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        owner = self.fields["owner"]
        assert isinstance(owner, forms.ModelChoiceField)
        owner.queryset = User.objects.filter(memberships__project=project).order_by("username")

    def clean_trust(self) -> dict[str, int]:
        levels = {}
        for line in self.cleaned_data["trust"]:
            station, _colon, level = (part.strip() for part in line.rpartition(":"))
            if not station or level not in ("0", "1", "2", "3"):
                raise ValidationError(
                    "Write a station and a level from 0 to 3, one per line, like “testing: 2”."
                )
            levels[station] = int(level)
        return levels

    def clean_valid_until(self) -> datetime | None:
        """Return the end of that day (UTC)."""
        day = self.cleaned_data["valid_until"]
        return datetime.combine(day, time.max, UTC) if day else None

    def model_fields(self) -> dict[str, Any]:
        """Fields of the model."""
        field_values = {
            name: value for name, value in self.cleaned_data.items() if name not in ("owner", "key")
        }
        return {**field_values, "owner_id": self.cleaned_data["owner"].pk}


class NewAgentForm(AgentForm):
    key = forms.CharField(max_length=64, validators=[agent_id])

    def clean_key(self) -> str:
        key = self.cleaned_data["key"]
        if Agent.objects.filter(project=self.project, key=key).exists():
            raise ValidationError("An agent with this key already exists.")
        return key


class TokenVersionForm(forms.Form):
    """`token_version`: what the page showed of the position when the person decided."""

    token_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)


class MoveForm(TokenVersionForm):
    """Form of a move by hand; "" is where the position stands."""

    to = forms.CharField(label="Station", max_length=64, required=False)
    reason = forms.CharField(label="Reason", max_length=10_000, required=False)


class ForkForm(forms.Form):
    """Form of a fork: the event behind which it begins, whose files it has, and where it starts; each may be left
    out. `request_key`: of one showing of the form."""

    at = forms.IntegerField(label="Event", min_value=1, max_value=2**31 - 1, required=False)
    position = forms.IntegerField(label="Branch", min_value=1, max_value=2**63 - 1, required=False)
    station = forms.CharField(label="Station", max_length=64, required=False)
    reason = forms.CharField(label="Reason", max_length=10_000, required=False)
    request_key = forms.CharField(label="Key of the form", max_length=64, required=False)


class ReasonForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=10_000)


class OptionalReasonForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=10_000, required=False)


class EndedTaskRetryForm(forms.Form):
    """Form of a retry of a task that has ended: at which station, and why, where somebody gives a reason."""

    station = forms.CharField(label="Station", max_length=64)
    reason = forms.CharField(label="Reason", max_length=10_000, required=False)


class VersionedReasonForm(TokenVersionForm, ReasonForm):
    """A reason about a position, bound to what the page showed of it."""


class EscalationForm(ReasonForm):
    trigger = forms.CharField(label="What it is about", max_length=100)


class EscalationResolutionForm(ReasonForm):
    """`route` counts only where a station or a branch is chosen."""

    word = forms.ChoiceField(
        label="How it goes on",
        choices=[(word, word) for word in WORDS_TO_RESOLVE],
        error_messages={"required": "Choose one."},
    )
    route = forms.CharField(max_length=64, required=False)

    @property
    def resolution(self) -> dict[str, Any]:
        form_data = self.cleaned_data
        return {**form_data, "route": form_data["route"] if form_data["word"] in ("route", "choose") else ""}


class DeadlockResolutionForm(ReasonForm):
    """`output`: any JSON value, and counts only where one is chosen."""

    word = forms.ChoiceField(
        label="How it goes on",
        choices=[(word, word) for word in DEADLOCK_WORDS],
        error_messages={"required": "Choose one."},
    )
    output = JsonTextField(
        label="Output", required=False, error_messages={"invalid": "This is not valid JSON."}
    )

    @property
    def resolution(self) -> dict[str, Any]:
        form_data = self.cleaned_data
        return {**form_data, "output": form_data["output"] if form_data["word"] == "output" else None}


class AnswerForm(TokenVersionForm):
    text = forms.CharField(label="Answer", max_length=10_000)


class HandoffForm(TokenVersionForm):
    document = forms.CharField(label="Handoff document", max_length=300_000)

    def clean_document(self) -> Any:
        try:
            return jsontext.loads(self.cleaned_data["document"])
        except jsontext.JsonTextError as fault:
            raise ValidationError(f"This is not valid JSON: {fault}.") from fault


class MetadataForm(TokenVersionForm):
    """Besides, one field `metadata.NAME` for each that is asked for: `posted`, as they came; the engine checks them."""

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or self.cleaned_data
        return {**form_data, "posted": {name: self.data[name] for name in posted_metadata(self.data)}}


def posted_metadata(data: Mapping[str, str]) -> dict[str, str]:
    """The fields for metadata, to be shown again."""
    return {name: data[name].replace("\0", "") for name in data if name.startswith(METADATA)}


class EvaluationAnswerForm(TokenVersionForm):
    """An answer to an evaluation: one word of two."""

    answer = forms.ChoiceField(
        label="Your answer",
        choices=[(w, w) for w in ("yes", "no", "pass", "block", "warn", "fail")],
        error_messages={"required": "Choose one."},
    )
    text = forms.CharField(label="Explanation", max_length=10_000, required=False)


def first_error(form: forms.Form) -> str:
    """The first fault of a form that is not valid, with the label of its field."""
    for name, faults in form.errors.items():
        # This field is hidden: whoever reads the fault could not mend it
        if name == "token_version":
            return "Reload the page and try again."
        return f"{form.fields[name].label}: {faults[0]}" if name in form.fields else str(faults[0])
    return "This form is not complete."


class DraftTextForm(forms.Form):
    """`strip` is off: the text is kept as it was typed."""

    text = forms.CharField(label="Document", max_length=2_000_000, strip=False, required=False)
    based_on = forms.IntegerField(min_value=0, max_value=2**31 - 1)


class PublishForm(forms.Form):
    """Form of the Publish page as displayed: `based_on` the draft's number, `live` the number of the version
    that it was compared with (0: none), `findings` and `plan` digests. Texts that are too long are refused
    by `publish_review`."""

    name = forms.CharField(label="Name of the version", required=False)
    based_on = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    live = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    findings = forms.CharField(max_length=64, required=False)
    running = forms.ChoiceField(choices=[("pin", "pin"), ("migrate", "migrate")], required=False)
    plan = forms.CharField(max_length=64, required=False)
    reason = forms.CharField(label="Reason", required=False)

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or self.cleaned_data
        return {**form_data, "migrate": form_data.get("running") == "migrate"}


class RestoreForm(forms.Form):
    """`source`: the number of a version, or `aside-<id>`; `based_on`: of the draft that the page showed."""

    source = forms.RegexField(r"^(\d{1,8}|aside-\d{1,18})$")
    based_on = forms.IntegerField(min_value=0, max_value=2**31 - 1)


class VersionNameForm(forms.Form):
    name = forms.CharField(label="Name of the version", required=False)


class EmptyLineForm(forms.Form):
    """A line that begins with nothing but its name."""

    name = forms.CharField(label="Name", max_length=200, error_messages={"required": "Give the line a name."})


class ImportForm(forms.Form):
    text = forms.CharField(label="Document", max_length=2_000_000, strip=False, required=False)
    file = forms.FileField(label="File", required=False, allow_empty_file=True)
    address = forms.CharField(label="Address", max_length=2_000, required=False)
    paths = JsonTextField(required=False)
    """Of the files of `folder_files`, in their order: the name of an uploaded file has no folder."""

    def clean_paths(self) -> list[str]:
        paths = self.cleaned_data["paths"] or []
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise ValidationError("Choose the folder again.")
        return paths

    def folder_files(self) -> dict[str, bytes]:
        """Its files by path. Raises DocumentError."""
        files = self.files.getlist("folder") if hasattr(self.files, "getlist") else []
        uploaded = [file for file in files if file.name]
        if sum(file.size or 0 for file in uploaded) > 2_000_000:
            raise folder_error("the files are larger than 2 MB together")
        paths = self.cleaned_data["paths"]
        if len(paths) != len(uploaded):
            raise folder_error("the names of the files are missing")
        return {path: file.read() for path, file in zip(paths, uploaded, strict=True)}

    def clean_address(self) -> bytes:
        """Return what stands there, b"" without an address."""
        try:
            return fetch_document(address) if (address := self.cleaned_data["address"]) else b""
        except Invalid as fault:
            raise ValidationError(" ".join(filter(None, (fault.message, fault.problems[0].hint)))) from fault

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file and file.size > 2_000_000:
            raise ValidationError("The file is larger than 2 MB.")
        return file

    def open_document(self) -> document_import.ImportedDocument:
        """A line, or a document of another system as one; a .zip is that of a folder. Raises DocumentError."""
        if fetched := self.cleaned_data["address"]:
            return document_import.import_document(fetched)
        file = self.cleaned_data.get("file")
        if not file:
            folder = self.folder_files()
            return (
                document_import.import_files(folder)
                if folder
                else document_import.import_document(self.cleaned_data["text"])
            )
        content = file.read()
        # So every .zip begins, whatever the file is called
        return (
            document_import.import_files(readable_file_by_path(content))
            if content.startswith(b"PK")
            else document_import.import_document(content)
        )

    def submitted_text(self) -> str:
        """Return the text that was pasted or chosen, to be mended; nothing of a file that is not text."""
        file = self.cleaned_data.get("file") if self.is_valid() else None
        if not file:
            return str(self["text"].value() or "")
        file.seek(0)
        try:
            return bytes(file.read()).decode()
        except UnicodeDecodeError:
            return ""
