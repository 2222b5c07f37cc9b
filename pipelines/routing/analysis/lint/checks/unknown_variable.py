"""A variable that nothing sets: a template that asks for it cannot be filled in, and a check of it fails."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, gate_checks
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.kinds import work_templates
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.template_variables import read_macro_or_none, required_variables
from pipelines.routing.document.templates import EARLIER, ERROR, TASK, TemplateError, placeholder_names
from pipelines.routing.sentences import part_names as named

ID = "unknown-variable"
CAUSE = "Variable that nothing sets"
VARIABLES = "variables"


def check(subject: LintSubject) -> Iterator[Finding]:
    line = subject.line
    known = _settable_variables(line)
    inputs = frozenset(field.key for field in line.inputs)
    others = inputs | _known_short_names(line)
    for station in line.stations:
        for place, text in work_templates(station.work, f"{subject.path_of_station_or_rule(station)}.work"):
            yield from _template_findings(station.key, place, text, known, inputs, others)
    git = line.workspace
    for key in ("base", "head", "branch") if git else ():
        yield from _template_findings("", f"workspace.git.{key}", getattr(git, key), known, inputs, others)
    for place, gate, test in gate_checks(line):
        family, _dot, name = test.field.partition(".")
        if family == VARIABLES and name and name not in known:
            message = _(
                "Gate %(gate)s checks the variable %(name)s, which nothing sets",
                gate=named.gate_part_name(line, gate.key),
                name=name,
            )
            yield Finding(ID, WARNING, place, message, "set it by a rule or a field of a gate")


def _settable_variables(line: ParsedLine) -> frozenset[str]:
    """List variables that a rule or an approval sets."""
    rules = (rule for station in line.stations for rule in station.rules)
    composed = {compose.var for rule in rules for compose in rule.compose}
    return frozenset(composed | {field.key for gate in line.gates for field in gate.fields})


def _known_short_names(line: ParsedLine) -> frozenset[str]:
    """List what else a short name finds: fields of the task, what stations put out, and keys of outputs."""
    keys = {key for station in line.stations for key in station.output_keys}
    stations = {f"{key}{end}" for key in line.stations_by_key for end in ("", ERROR)}
    return frozenset(keys | stations | {*TASK, *EARLIER})


def _template_findings(
    station: str,
    place: str,
    text: str,
    variables: frozenset[str],
    inputs: frozenset[str],
    others: frozenset[str],
) -> Iterator[Finding]:
    try:
        places = placeholder_names(text)
    except TemplateError:
        return
    for words in places:
        macro = read_macro_or_none(words)
        name = next(iter(required_variables(macro)), "") if macro else words.partition(".")[2]
        parts = {name, name.partition(".")[0]}
        known = variables | inputs if macro else variables  # `{{var:x}}` finds an input, too.
        if name and (words.startswith("variables.") or macro) and not parts & known:
            message = _("%(place)s asks for a variable that nothing sets", place=f"{{{{{words}}}}}")
            hint = "set it by a rule or a field of a gate"
            yield Finding(ID, WARNING, place, message, hint, station or None)
        elif words.startswith(".") and not parts & (variables | others):
            message = _(
                "%(place)s is no variable, input or station of the line: it is there only if an output has it",
                place=f"{{{{{words}}}}}",
            )
            yield Finding(ID, INFO, place, message, "correct the name, or let a rule set it", station or None)
