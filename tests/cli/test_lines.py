"""Lines on the command line: listed, drawn, checked and published."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.utils import timezone
from ruamel.yaml import YAML

from pipelines.lines import drawings, publishing
from pipelines.models import Drawing, Membership, Repository, RepositoryProtection
from pipelines.queries.protections import canonical_address
from tests.cli.conftest import Gateline
from tests.factories import World, document, make_member, station
from tests.reviews.conftest import gated

Cli = Callable[..., Gateline]


def yaml_of(given: dict[str, object], file: object) -> None:
    YAML().dump(given, file)


@pytest.mark.wide
def test_it_draws_a_line_with_what_is_proved_of_each_rule(cli: Cli, world: World) -> None:
    given = gated()
    version = world.line(**given)
    given["stations"][0]["rules"].append({"id": "never", "to": "failed"})
    publishing.save_draft(version.line, document(**given), world.admin, version.line.draft_number)
    mine = cli(world.viewer)
    place = f"{world.project.owner.key}/{world.project.key}/release"
    drawn = mine.ok("lines", "release", "--draft")
    assert f"Release  {place} · draft 2" in drawn
    assert "1 Built: always → ◇ Release review → ship   Live" in drawn
    assert "2 always → failed   Never matches" in drawn
    assert "\x1b" not in drawn
    assert mine.json("lines", place)["lint"]["stations"][0]["rules"][0]["standing"] == "live"
    said = mine.run("lines", "nothing")
    assert said.returncode == 5
    assert place in said.stderr


def test_it_checks_a_file_and_publishes_it_when_told(cli: Cli, world: World) -> None:
    world.line(**gated())
    assert world.reviewer  # else lint warns that nobody can decide
    mine = cli(world.designer)
    file = mine.config.parent / "release.yaml"
    changed = document(**gated()) | {"name": "Releases"}
    with file.open("w") as stream:
        yaml_of(changed, stream)
    assert "no problems" in mine.ok("lint", str(file))
    unasked = mine.run("publish", str(file))
    assert (unasked.returncode, "Add --yes." in unasked.stderr) == (2, True)
    assert "Name of the line: “Release” → “Releases”." in unasked.stdout
    assert mine.json("publish", str(file), "--yes")["published"]["number"] == 2
    assert "Nothing changes" in mine.ok("publish", str(file), "--yes")
    file.write_text(file.read_text().replace("to: ship", "to: nowhere"))
    wrong = mine.run("lint", str(file))
    assert wrong.returncode == 1
    assert f"{file}:" in wrong.stdout
    assert "no station or end “nowhere”" in wrong.stdout
    refused = mine.run("publish", str(file), "--yes")
    assert (refused.returncode, "line " in refused.stderr) == (7, True)
    assert world.project.lines.get(key="release").live.number == 2


@pytest.mark.wide
def test_where_two_people_publish_it_says_what_waits(cli: Cli, world: World) -> None:
    Repository.objects.create(project=world.project, name="app", address="/no", connected_at=timezone.now())
    RepositoryProtection.objects.create(
        project=world.project, place=canonical_address("/no"), rules={"four_eyes": True}
    )
    deliver = station("merge", {"id": "end", "to": "completed"}, kind="deliver", work={"to": "push"})
    held = document([station("build", {"id": "on", "to": "merge"}), deliver], key="fresh")
    held["workspace"] = {"git": {"repository": "app"}}
    Membership.objects.filter(user=world.designer).update(execute=True)
    mine, second = cli(world.designer), make_member(world.project, "designer", "second", execute=True)
    file = mine.config.parent / "new.yaml"
    with file.open("w") as stream:
        yaml_of(held, stream)
    said = mine.ok("publish", str(file), "--yes")
    assert "Waiting" in said and "asks for publishing draft 1" in said and "Published" not in said
    told = mine.json("publish", "fresh", "--yes")
    assert told["published"] is None and told["waiting"]["state"] == "open"
    assert world.project.lines.get(key="fresh").live is None
    assert "Published acme/" in cli(second).ok("publish", "fresh", "--yes")
    assert world.project.lines.get(key="fresh").live.published_by == second


@pytest.mark.wide
def test_a_file_begins_a_line_and_a_draft_is_published_by_its_name(cli: Cli, world: World) -> None:
    mine = cli(world.designer)
    file = mine.config.parent / "new.yaml"
    with file.open("w") as stream:
        yaml_of(document([station("build", {"id": "on", "to": "completed"})], key="fresh"), stream)
    assert "Published acme/" in mine.ok("publish", str(file), "--yes", "--name", "First")
    line = world.project.lines.get(key="fresh")
    assert line.live.name == "First"
    world_line = line.draft | {"name": "Fresher"}
    from_page = cli(world.designer)
    with file.open("w") as stream:
        yaml_of(world_line, stream)
    assert from_page.run("publish", "fresh", "--yes").stdout.endswith(
        "Nothing changes: that is what is live.\n"
    )
    viewer = cli(world.viewer).run("publish", str(file), "--yes")
    assert viewer.returncode == 4


@pytest.mark.wide
def test_a_file_is_judged_by_the_people_of_its_project(cli: Cli, world: World) -> None:
    mine = cli(world.designer)
    file = mine.config.parent / "line.yaml"
    file.write_text(
        "key: x\nstations:\n  - key: a\n    work: {kind: noop}\n    rules: [{id: r, to: completed, gates: [g]}]\n"
        "gates:\n  - {key: g, approval: {who: [{group: security}]}}\n"
    )
    name = f"{world.project.owner.key}/{world.project.key}"
    unheld = mine.run("lint", str(file), "--project", name)
    assert "it needs 1 in the group security, and the project has nobody" in unheld.stdout
    world.group("security", world.reviewer, world.admin)
    assert "no problems" in mine.ok("lint", str(file), "--project", name)
    nowhere = mine.run("lint", str(file), "--project", "no/where")
    assert (nowhere.returncode, "There is no project" in nowhere.stderr) == (5, True)


@pytest.mark.wide
@pytest.mark.usefixtures("not_requested")
def test_it_writes_the_drawing_of_a_version(cli: Cli, world: World) -> None:
    world.line(**gated())
    mine = cli(world.viewer)
    pending = mine.run("export", "release", "--to", "svg")
    assert (pending.returncode, "Try again" in pending.stderr) == (6, True)
    for row in Drawing.objects.all():
        drawings.draw_if_pending(row.pk)
    assert mine.ok("export", "release", "--to", "svg").startswith("<svg xmlns=")
    for more in ((), ("--narrow",)):
        placed = json.loads(mine.ok("export", "release", "--to", "geometry", *more))["placed"]
        assert {"build", "ship"} <= {part["key"] for part in placed["parts"]}
