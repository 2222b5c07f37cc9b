"""A template of ours that asks for a name which nobody gives fails the test that renders it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.template import Context, Origin, Template
from django_cotton.compiler_regex import CottonCompiler

from tests.fixtures import branches, look_ups
from tests.fixtures.look_ups import ABSENT, TEMPLATES, UNKNOWN


def draw(source: str, name: str = "no_such.html", **context: object) -> str:
    """What a file of this name would render, were this its text."""
    template = Template(CottonCompiler().process(source), Origin(str(TEMPLATES / name)))
    return template.render(Context(context))


@pytest.mark.smoke(100)
@pytest.mark.parametrize(
    "source",
    [
        "{{ task }}",
        "{{ task|default:'none' }}",
        "{{ line.task }}",
        "{{ line.stations.1 }}",
        "{{ line.nobody.name }}",
        "{% if task %}{% endif %}",
        "{% if not task %}{% endif %}",
        "{% if task == 1 %}{% endif %}",
        "{% if line and task in line %}{% endif %}",
        "{% for row in tasks %}{% endfor %}",
        "{% with name=task %}{% endwith %}",
        "{% include 'cotton/key.html' with slot=task attrs='' only %}",
        "{% firstof task 'none' %}",
        "<c-key>{{ task }}</c-key>",
        '<c-pill tone="{{ task }}">a</c-pill>',
        '<c-pill :tone="task">a</c-pill>',
        '<c-pill tone="{% if task %}ok{% endif %}">a</c-pill>',
    ],
)
def test_a_name_that_nobody_gives_is_noticed(source: str) -> None:
    with pytest.raises(look_ups.UnknownName, match=r"templates/no_such\.html:1 asks for "):
        draw(source, line={"stations": ["build"], "nobody": None})
        # Operators of `if` swallow what their operands raise: the hook after each test raises it then.
        raise look_ups.UnknownName(*UNKNOWN)
    UNKNOWN.clear()


@pytest.mark.smoke(100)
@pytest.mark.parametrize(
    "source",
    [
        "{{ task }}",
        "{% optional note %}{{ note }}{% if note %}{% endif %}",
        "{% if other and other.name %}{% endif %}",
        "{% for row in task %}{{ row }}{% endfor %}",
        '<c-log :lines="[]" label="{{ task }}" />',
        '<c-card title="a">b</c-card>',
    ],
)
def test_a_name_that_is_given_or_optional_is_rendered(source: str) -> None:
    draw(source, task="a", other=None)
    assert UNKNOWN == []


def test_an_optional_name_that_is_given_is_kept() -> None:
    assert draw("{% optional note %}{{ note }}", note="kept") == "kept"


def test_a_listed_name_may_be_absent_in_its_template_alone() -> None:
    template, name = min(ABSENT)
    assert draw(f"{{{{ {name} }}}}", template) == ""
    with pytest.raises(look_ups.UnknownName):
        draw(f"{{{{ {name} }}}}")
    UNKNOWN.clear()


def test_both_branches_of_each_condition_are_noted() -> None:
    before = set(branches.TAKEN)
    for value in (True, False):
        draw("{% if a %}1{% endif %}", a=value)
    draw("{% if a %}1{% elif b %}2{% else %}3{% endif %}", a=False, b=True)
    draw('<c-pill tone="{% if a == 2 %}ok{% endif %}">a</c-pill>', a=2)
    assert {
        (line, tag, number) for name, line, tag, number in branches.TAKEN - before if name == "no_such.html"
    } == {
        (1, "if a", 0),
        (1, "if a", 1),
        (1, "if a == 2", 0),
    }


def test_every_condition_of_a_template_has_two_branches_or_more() -> None:
    names = [name for _branch, name in branches.branches("cotton/card.html")]
    assert len(names) == len(set(names))
    assert {name.rpartition(" | ")[0] for name in names if name.endswith(" | true")} == {
        name.rpartition(" | ")[0] for name in names if name.endswith(" | false")
    }


def test_what_no_test_comes_to_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    templates = [path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*") if path.is_file()]
    (first, name), *rest = branches.branches("cotton/card.html")
    every = {branch for template in templates for branch, _name in branches.branches(template)}
    listed = tmp_path / "untaken.txt"
    listed.write_text(f"{rest[0][1]}\ncotton/gone.html | if a | true\ncotton/gone.html | if b | true ?\n")
    monkeypatch.setattr(branches, "UNTAKEN", listed)
    monkeypatch.setattr(branches, "TAKEN", every - {first, rest[0][0]})
    monkeypatch.setattr(branches, "RENDERED", {*templates} - {"cotton/key.html"})
    assert branches.faults() == (
        [name, "cotton/key.html | never rendered"],
        ["cotton/gone.html | if a | true"],
    )
