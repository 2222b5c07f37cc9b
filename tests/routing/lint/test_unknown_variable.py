"""unknown-variable"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line

RULE = {"id": "r", "to": "completed", "compose": [{"var": "v", "path": "$.v"}]}
GATE = {"key": "g", "mode": "manual", "fields": [{"key": "ring"}]}
KNOWN = (
    "{{variables.v}} {{variables.v.deep}} {{var:v}} {{variables.ring}} {{.ring}} {{var:i}} {{.i}} {{.title}} {{.a}}"
    " {{.a.n}} {{.a_error}} {{.previous_output}} {{.last_error}} {{var:gone|text}} {{context.any}} {{.high}}"
    ' {{"{{.gone}}"}}'
)


def texts(text: str) -> list[tuple[str, str]]:
    work = {"kind": "command", "argv": ["echo", text]}
    of = line(
        {"work": work, "rules": [RULE], "gate": "g", "output_keys": ["high"]},
        inputs=[{"key": "i"}],
        gates=[GATE],
    )
    return [(each.severity, each.message) for each in found("unknown-variable", of)]


def test_the_page_is_right() -> None:
    assert the_page_is_right("unknown-variable").path == "stations[0].work.argv[1]"


def test_what_is_there_is_not_told() -> None:
    assert texts(KNOWN) == []


def test_what_nothing_sets_is_a_warning_and_what_an_output_may_have_a_hint() -> None:
    told = texts("{{variables.gone}} {{variables.i}} {{var:gone}} {{.gone}} {{.gone_error}}")
    assert [severity for severity, _message in told] == ["warning", "warning", "warning", "info", "info"]


def test_a_check_of_a_variable_and_the_branch_of_a_repository_are_read() -> None:
    checks = {"all": [{"field": f"variables.{name}", "operator": "exists"} for name in ("v", "gone")]}
    of = line(
        {"rules": [RULE]},
        gates=[{"key": "g", "checks": checks}],
        workspace={"git": {"repository": "app", "branch": "x/{{variables.gone}}"}},
    )
    paths = [each.path for each in found("unknown-variable", of)]
    assert paths == ["workspace.git.branch", "gates[0].checks"]
