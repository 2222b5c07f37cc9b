"""The guided first run: four steps, each checked, from an empty project to the form of a first task."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.lines.starters.catalogue import BY_KEY
from pipelines.models import (
    AdministrativeAct,
    Line,
    LineVersion,
    Membership,
    Repository,
    StoredValue,
    VisitCommit,
    Worker,
)
from pipelines.ports.terms import SHIPPED
from pipelines.web.setup import templates
from tests.factories import World, document, make_project
from tests.pages.conftest import As, at, text
from tests.work.remotes import RemoteRepository, allow, remote

pytestmark = pytest.mark.django_db
CLAUDE = {"path": "/opt/bin/claude", "version": "2.1.330 (Claude Code)", "seconds": 0.4}


@pytest.fixture
def origin(world: World, tmp_path: Path) -> RemoteRepository:
    made = remote(tmp_path / "app.git", {"a": b"1"})
    allow(world.project.owner, made.path)
    return made


@pytest.fixture
def runner(world: World) -> Any:
    """A runner that is alive, with one agent."""
    world.worker.name, world.worker.agents = "worker-1", {"claude": CLAUDE}
    world.worker.seen_at = timezone.now()
    world.worker.save()
    return world.worker


@pytest.fixture
def admin(world: World, signed_in: As) -> Client:
    Membership.objects.filter(user=world.admin).update(execute=True)
    return signed_in(world.admin)


def page(client: Client, world: World, **query: str) -> str:
    answer = client.get(at(world, "project-setup"), query)
    assert answer.status_code == 200
    return text(answer)


def send(client: Client, world: World, **said: str) -> Any:
    return client.post(at(world, "project-setup"), said, follow=True)


def connected(world: World, origin: RemoteRepository) -> Repository:
    found = [{"check": "reach", "ok": True, "said": "1", "commit": "", "seconds": 0.0}]
    return Repository.objects.create(
        project=world.project,
        name="app",
        address=str(origin.path),
        connected_at=timezone.now(),
        tested=found,
        tested_at=timezone.now(),
    )


def test_from_nothing_to_the_form_of_a_first_task(
    world: World, admin: Client, runner: Any, origin: RemoteRepository
) -> None:
    begun = page(admin, world, step="task")
    assert "Connect and test" in begun and 'aria-current="step"' in begun, "no step is skipped"
    chosen = send(admin, world, do="connect", step="repository", address=str(origin.path), pushing="execute")
    shown = text(chosen)
    assert "Choose an agent" in shown and "1 branch" in shown and "found on worker-1 · 2.1.330" in shown
    shown = page(admin, world, step="template", agent="codemod")
    assert "Fix lint findings" in shown and "Dependency update" in shown
    listed, left_out = shown.split(" need an agent with a model: ")
    assert (
        "Review somebody" not in listed and "Review somebody" in left_out and "Codemod has none" in left_out
    )
    last = text(
        send(admin, world, do="begin", step="template", agent="codemod", template="fix-lint-findings")
    )
    line = Line.objects.get()
    assert line.live is not None and line.live.number == 1
    assert "Start the task" in last and '<option value="app" selected>' in last
    assert at(world, "task-new", "fix-lint-findings") in last


def test_no_step_is_ticked_because_of_a_line_of_the_demo(
    world: World, admin: Client, runner: Any, origin: RemoteRepository
) -> None:
    connected(world, origin)
    workspace = {"git": {"repository": "input.repository"}}
    where = {"key": "repository", "type": "repository", "label": "Repository", "required": True}
    shipped = world.line(document(key="fix", workspace=workspace, inputs=[where]))
    LineVersion.objects.filter(pk=shipped.pk).update(name=SHIPPED)
    shown = page(admin, world, step="agent")
    assert shown.count('class="stepper-done"') == 1, "the repository alone"
    assert 'class="stepper-done"' not in shown.partition("Choose an agent")[2]
    assert "Start the task" not in page(admin, world, step="task"), "no line is set up yet"
    LineVersion.objects.filter(pk=shipped.pk).update(name="")
    assert page(admin, world, step="agent").count('class="stepper-done"') == 2, "this one is somebody's own"


PNPM = {
    "package.json": b'{"scripts": {"test": "vitest", "lint": "eslint ."}, "devDependencies": {"vitest": "3"}}',
    "pnpm-lock.yaml": b"resolution: {tarball: https://packages.example.com/a}\n",
}


def test_the_files_of_the_repository_propose_its_environment_and_the_commands_of_the_line(
    world: World, admin: Client, runner: Any, tmp_path: Path, settings: Any
) -> None:
    origin = remote(tmp_path / "web.git", PNPM)
    allow(world.project.owner, origin.path)
    send(admin, world, do="connect", step="repository", address=str(origin.path), pushing="execute")
    shown = page(admin, world, step="template", agent="codemod")
    assert "> pnpm install --frozen-lockfile</textarea>" in shown and 'value="pnpm-lock.yaml"' in shown
    assert "packages.example.com</textarea>" in shown and "> pnpm run lint</textarea>" in shown
    begin = {"do": "begin", "step": "template", "agent": "codemod", "template": "fix-lint-findings"}
    refused = send(admin, world, **begin, lint="eslint '")
    assert refused.status_code == 422 and "A quotation mark is not closed." in text(refused)
    assert not Line.objects.exists() and Repository.objects.get().prepare == {}
    send(admin, world, **begin, cache="", tests="pnpm exec vitest run --reporter=junit --outputFile=out.xml")
    assert Repository.objects.get().prepare == {
        "argv": ["pnpm", "install", "--frozen-lockfile"],
        "network": {"egress": ["packages.example.com"]},
    }, "what people typed counts"
    line = Line.objects.get().live
    assert line is not None and "ruff" not in str(line.document) and "pytest" not in str(line.document)
    stations = {each["key"]: each for each in line.document["stations"]}
    assert stations["lint"]["work"]["argv"] == ["pnpm", "run", "lint"] and "artifacts" not in stations["lint"]
    assert "findings.total" not in str(stations["lint"]["rules"]), "eslint counts nothing without a report"
    assert [each["path"] for each in stations["tests"]["artifacts"]] == ["out.xml"]
    admin.post(at(world, "lines-new"), {"starter": "review-branch"})
    drawn = Line.objects.get(key="review-branch").draft
    assert drawn["stations"][0]["work"]["argv"][:3] == ["pnpm", "exec", "vitest"], "New line knows it, too"


def test_python_without_an_environment_says_whose_python_runs_its_tests(
    world: World, admin: Client, runner: Any, tmp_path: Path
) -> None:
    origin = remote(tmp_path / "alone.git", {"app.py": b"x = 1\n", "test_app.py": b"def test_it(): pass\n"})
    allow(world.project.owner, origin.path)
    send(admin, world, do="connect", step="repository", address=str(origin.path), pushing="execute")
    shown = page(admin, world, step="template", agent="codemod")
    assert "its tests run with the Python of the runner" in shown
    assert "its folder may be written to; nothing was pushed" in shown, "a folder has no server that reports"


def test_templates_that_update_and_release_get_the_commands_of_the_repository(
    world: World, admin: Client, runner: Any, tmp_path: Path, settings: Any
) -> None:
    world.reviewers(2)
    origin = remote(tmp_path / "web.git", PNPM)
    allow(world.project.owner, origin.path)
    send(admin, world, do="connect", step="repository", address=str(origin.path), pushing="execute")
    for key in ("dependency-update", "release"):
        send(admin, world, do="begin", step="template", agent="codemod", template=key)
    update, release = (Line.objects.get(key=key).live.document for key in ("dependency-update", "release"))  # type: ignore[union-attr]
    assert "make" not in str(update["stations"]) + str(release["stations"])
    assert update["stations"][0]["work"]["allow"] == ["pnpm update --lockfile-only"]
    assert release["stations"][0]["work"]["argv"][:3] == ["npm", "version", "{{input.version}}"]
    assert release["stations"][3]["work"]["argv"] == ["pnpm", "publish", "--no-git-checks"]
    begin = {"do": "begin", "step": "template", "agent": "codemod", "template": "release"}
    refused = text(send(admin, world, **begin, version=""))
    assert "Release needs a command here." in refused and '<details class="details" open>' in refused
    send(admin, world, **begin, publish="")
    second = Line.objects.get(key="release-2")
    assert second.name == "Release: web", "two lines of one name could not be told apart"
    kept = second.live
    assert kept is not None, "a repository that publishes nothing"
    assert [each["key"] for each in kept.document["stations"]] == ["prepare", "tests", "merge"]
    assert kept.document["stations"][2]["rules"][0]["to"] == "released"


def test_a_failed_check_keeps_the_step_and_says_what_to_do(
    world: World, admin: Client, runner: Any, origin: RemoteRepository
) -> None:
    made = connected(world, origin)
    shutil.rmtree(origin.path)
    said = text(send(admin, world, do="connect", step="repository", address="ext::sh", pushing="execute"))
    assert "transport::address" in said
    said = text(send(admin, world, do="test", step="repository", repository=str(made.pk)))
    assert "There is no such folder on this machine." in said and "Continue" not in said
    assert said.index("no such folder") < said.index("Connect another one"), "what failed stands first"
    assert '<details class="details" >' in said and "It is connected, but a check failed." in said
    Repository.objects.update(
        tested=[{"check": "reach", "ok": True, "said": "1", "commit": "", "seconds": 0}]
    )
    claude = page(admin, world, step="agent", agent="claude")
    assert "/opt/bin/claude" in claude and "no secret ANTHROPIC_API_KEY" in claude
    assert (
        "2 of 3 checks passed" in claude
        and "1 waits for the first task" in claude
        and "Claude Code has 1 failed check." in claude
    )
    assert "Continue without a key" in claude and "step=template&amp;agent=claude" in claude
    codex = page(admin, world, step="agent", agent="codex")
    assert "not found on runner worker-1" in codex and "GATELINE_STATION_PATH" in codex
    Worker.objects.update(name=platform.node())
    at_hand = page(admin, world, step="agent", agent="codex")
    assert f"not found on this machine ({platform.node()})" in at_hand, (
        "its name alone says nothing to a newcomer"
    )
    Worker.objects.update(name="worker-1")
    assert "Codex is not installed." in codex and "checks passed" not in codex
    assert "Not installed" in codex and "failed check" not in codex.partition('id="checks"')[2]
    assert "tone-danger" not in codex.partition('id="checks"')[2], "it is no failure"
    assert "agent=claude#checks" in codex and '<h3 id="checks" tabindex="-1">' in codex
    refused = page(admin, world, step="template", agent="codex")
    assert "Use this template" not in refused, "nobody goes on without the program"
    assert "Use this template" in page(admin, world, step="template", agent="claude"), "a key can come later"


def test_a_key_is_stored_on_the_way(
    world: World, admin: Client, runner: Any, origin: RemoteRepository
) -> None:
    connected(world, origin)
    said = {"do": "key", "step": "agent", "agent": "claude", "name": "ANTHROPIC_API_KEY"}
    assert "Use at least" in text(send(admin, world, **said, value="short"))
    assert "Choose one of the options." in text(
        send(admin, world, **{**said, "name": "PATH"}, value="a-long-key-of-mine")
    )
    shown = text(send(admin, world, **said, value="a-long-key-of-mine"))
    assert "as the secret ANTHROPIC_API_KEY" in shown and "3 of 3 checks passed" in shown
    assert "a-long-key" not in shown and StoredValue.objects.get().name == "ANTHROPIC_API_KEY"
    assert AdministrativeAct.objects.filter(kind="secret.created").exists()
    shown = page(admin, world, step="template", agent="claude")
    assert "Review somebody" in shown


def test_a_template_is_begun_with_the_agent_that_was_chosen(world: World) -> None:
    line = templates.create_line(world.project, BY_KEY["review-branch"], "gemini", world.admin)
    assert [station["work"].get("agent") for station in line.draft["stations"]] == [None, "gemini", None]
    assert (
        templates.create_line(world.project, BY_KEY["review-branch"], "gemini", world.admin).key
        == "review-branch-2"
    )


def test_the_step_of_templates_leads_on_to_a_line_of_this_repository_alone(
    world: World, admin: Client, runner: Any, origin: RemoteRepository, tmp_path: Path
) -> None:
    connected(world, origin)
    assert "Go on with" not in page(admin, world, step="template", agent="codemod")
    send(admin, world, do="begin", step="template", agent="codemod", template="fix-lint-findings")
    first = page(admin, world, step="template", agent="codemod")
    assert "Go on with Fix lint findings" in first
    assert "works in a repository" not in page(admin, world, step="task", line="fix-lint-findings")
    other = Repository.objects.get()
    other.pk, other.name, other.address = None, "other", "https://git.example.com/other"
    other.save()
    assert "Go on with" not in page(admin, world, step="template", agent="codemod")


def test_setup_that_is_opened_again_offers_another_repository(
    world: World, admin: Client, runner: Any, origin: RemoteRepository
) -> None:
    """It stayed at the fourth step of the first repository, and its steps looked as if nothing led back."""
    made = connected(world, origin)
    send(admin, world, do="begin", step="template", agent="codemod", template="fix-lint-findings")
    form = page(admin, world)
    assert "Start the task" in form, "the line is there, no task yet: it goes on there"
    assert '<a class="stepper-step" href="' in form and "step=repository" in form, "a step leads back"
    world.start(LineVersion.objects.get(), inputs={"repository": "app"}, by=world.admin)
    again = page(admin, world)
    assert "Connect and test" in again and "Start the task" not in again
    assert "stepper-done" not in again and 'class="stepper-step" href' not in again, "it begins once more"
    assert f"?step=agent&amp;connected={made.pk}" in again, "or it goes on with one that is there"
    assert "Start the task" in page(admin, world, step="task"), "asked for, the step is shown"
    other = Repository.objects.create(
        project=world.project,
        name="other",
        address="https://h/o",
        connected_at=timezone.now(),
        tested=made.tested,
    )
    second = page(admin, world)
    assert "Choose an agent" in second and "Start the task" not in second, (
        "of the second one no line is there"
    )
    assert second.count('class="stepper-done"') == 1, "what was done with the first one is not done with it"
    assert f"connected={other.pk}" in second and "Continue with other" in page(
        admin, world, step="repository"
    )


def test_a_template_that_is_used_again_makes_a_line_of_another_name(
    world: World, admin: Client, origin: RemoteRepository
) -> None:
    connected(world, origin)
    for _ in range(3):
        send(admin, world, do="begin", step="template", agent="codemod", template="fix-lint-findings")
    names = list(Line.objects.filter(project=world.project).order_by("pk").values_list("name", flat=True))
    assert names == ["Fix lint findings", "Fix lint findings: app", "Fix lint findings: app 2"]
    shown = page(admin, world, step="template")
    assert "Start from a template" in shown, "the third step opens also where no agent is chosen again"


def test_a_designer_without_the_permission_keeps_the_draft(
    world: World, signed_in: As, runner: Any, origin: RemoteRepository
) -> None:
    connected(world, origin)
    client = signed_in(world.designer)
    assert "Connect and test" not in page(client, world, step="repository")
    for act in ("connect", "test", "key"):
        assert client.post(at(world, "project-setup"), {"do": act}).status_code == 403
    refused = send(client, world, do="begin", step="template", agent="codemod", template="fix-lint-findings")
    assert refused.status_code == 422 and "need the permission “execute”" in text(refused)
    assert at(world, "line-draw", "fix-lint-findings") in text(refused)
    assert Line.objects.get().live is None
    assert "Choose one of the templates." in text(
        send(client, world, do="begin", agent="codemod", template="x")
    )


def test_a_repository_that_was_refused_is_changed_on_the_way(
    world: World, admin: Client, runner: Any, origin: RemoteRepository
) -> None:
    """Whoever corrected its address stood in the settings afterwards, where nothing leads on."""
    made = connected(world, origin)
    refused = {"check": "reach", "ok": False, "said": "no such folder", "commit": "", "seconds": 0}
    Repository.objects.update(tested=[refused])
    change = at(world, "project-repository", made.pk) + "?from=setup"
    assert f'href="{change}"' in page(admin, world)
    form = text(admin.get(change))
    assert f'action="{change}"' in form and at(world, "project-setup") + "?step=repository" in form
    said = {"address": str(origin.path), "name": "app", "pushing": "execute"}
    assert "Choose an agent" in text(admin.post(change, said, follow=True))
    plain = change.partition("?")[0]
    assert admin.post(plain, said).url == at(world, "project-repositories")


def test_setup_goes_on_with_the_repository_that_was_saved_and_not_with_that_of_a_colleague(
    world: World, admin: Client, runner: Any, origin: RemoteRepository, tmp_path: Path
) -> None:
    made = connected(world, origin)
    colleague = remote(tmp_path / "zebra.git", {"a": b"1"})
    allow(world.project.owner, colleague.path)
    send(admin, world, do="connect", step="repository", address=str(colleague.path), pushing="execute")
    change = at(world, "project-repository", made.pk) + "?from=setup"
    saved = {"address": str(origin.path), "name": "app", "pushing": "execute"}
    shown = text(admin.post(change, saved, follow=True))
    assert "Choose an agent" in shown and 'Change <span class="visually-hidden">app</span>' in " ".join(
        shown.split()
    )
    test = {"do": "test", "step": "repository", "repository": str(made.pk)}
    assert "Continue with app" in " ".join(
        text(admin.post(at(world, "project-setup"), test, follow=True)).split()
    )
    failing = {**saved, "default_branch": "nowhere"}
    shown = " ".join(text(admin.post(change, failing, follow=True)).split())
    assert "It is connected, but a check failed" in shown and "There is no branch nowhere." in shown


@pytest.mark.wide
def test_home_and_the_empty_list_of_lines_lead_to_it(world: World, admin: Client, signed_in: As) -> None:
    address = at(world, "project-setup")
    assert address in text(admin.get("/")) and address in text(admin.get(at(world, "lines")))
    world.line(key="release")
    assert address not in text(signed_in(world.operator).get("/"))


def test_home_leads_to_it_until_a_task_has_worked_in_a_repository_that_was_connected(
    world: World, admin: Client, origin: RemoteRepository
) -> None:
    """A repository that was connected and no more ticked the step, and took its link away."""
    address, made = at(world, "project-setup"), connected(world, origin)
    task = world.start(world.line(stations=["build"], key="release"), by=world.admin)
    world.report(task)
    assert address in text(admin.get("/"))
    VisitCommit.objects.create(
        job=task.jobs.get(),
        task=task,
        repository=made,
        repository_name="app",
        branch="b",
        created_at=timezone.now(),
    )
    shown, another = text(admin.get("/")), f"{address}?another=yes"
    assert "Work in your own repository" in shown and shown.count(address) == shown.count(another) > 0
    admin.post("/first-steps/dismiss/")
    assert another in text(admin.get("/")), "also where nobody has to be shown how any more"
    form = text(admin.get(another))
    assert "Connect another one" in form and "Connect and test" in form
    assert form.index("Connect another one") < form.index('aria-label="Change app"'), (
        "what is to be done comes first"
    )


def test_home_connects_a_repository_where_no_project_has_to_be_chosen(
    world: World, admin: Client, signed_in: As
) -> None:
    world.line(key="release")
    admin.post("/first-steps/dismiss/")
    link = f"{at(world, 'project-setup')}?another=yes"
    assert link in text(admin.get("/"))
    other = make_project("second", owner="acme")
    assert link in text(admin.get("/")), "that of others does not count"
    Membership.objects.create(project=other, user=world.admin, roles=["admin"])
    assert link not in text(admin.get("/")) and link in text(
        admin.get("/", {"project": "acme/" + world.project.key})
    )
    designer = signed_in(world.designer)
    designer.post("/first-steps/dismiss/")
    assert link not in text(designer.get("/"))


@pytest.mark.wide
def test_lines_the_palette_and_the_card_of_a_repository_lead_there(
    world: World, admin: Client, signed_in: As, origin: RemoteRepository
) -> None:
    address = at(world, "project-setup")
    made = connected(world, origin)
    world.line(key="release")
    assert address in text(admin.get(at(world, "lines"))), "until a change was merged"
    for asked in ({"q": "setup"}, {"q": "setup", "project": str(world.project)}):
        assert address in text(admin.get("/palette/", asked))
        assert address not in text(signed_in(world.operator).get("/palette/", asked))
    cards = at(world, "project-repositories")
    assert "nothing is installed before its stations" in text(admin.get(cards))
    Repository.objects.filter(pk=made.pk).update(prepare={"argv": ["npm", "ci"]})
    assert ">npm ci<" in text(admin.get(cards)) and "#environment" in text(admin.get(cards))


def test_home_names_each_project_without_a_live_line(world: World, admin: Client) -> None:
    world.line(key="release")
    for key in ("second", "third", "fourth", "fifth"):
        made = make_project(key, owner="acme")
        Membership.objects.create(project=made, user=world.admin, roles=["admin"])
    shown = text(admin.get("/"))
    assert (
        "Projects to set up" in shown
        and "Release" in shown
        and shown.count(f'{at(world, "project-setup")}"') == 0
    )
    for key in ("second", "third", "fourth", "fifth"):
        assert f"/p/acme/{key}/setup/" in shown
    admin.post("/first-steps/dismiss/")
    assert "/p/acme/fifth/setup/" in text(admin.get("/")), "a line makes it go away, no click"


@pytest.mark.wide
def test_its_statements_do_not_grow_with_what_is_there(
    world: World, admin: Client, runner: Any, origin: RemoteRepository, django_assert_max_num_queries: Any
) -> None:
    connected(world, origin)
    for number in range(30):
        world.line(key=f"line-{number}")
        Repository.objects.create(
            project=world.project,
            name=f"r{number}",
            address=f"https://h/{number}",
            connected_at=timezone.now(),
        )
    for step in ("repository", "agent", "template"):
        with django_assert_max_num_queries(24):
            page(admin, world, step=step, agent="codemod")


def test_what_landlock_alone_cannot_do_is_said_before_the_first_task_with_what_to_type(
    world: World, admin: Client, runner: Any, origin: RemoteRepository
) -> None:
    connected(world, origin)
    for isolation, told in (("bubblewrap", False), ("landlock", True)):
        Worker.objects.update(isolation=isolation, cuts_network=True, limits_hosts=True)
        shown = page(admin, world, step="template")
        assert ("No program listens on a port" in shown) is told, isolation
        assert ("apt-get install bubblewrap" in shown) is told, isolation
    assert "No program listens on a port" in text(admin.get(at(world, "project-runners")))
    Worker.objects.update(limits_hosts=False)
    assert "Stations cannot be limited to some hosts here" in page(admin, world, step="template")
    assert "Stations cannot" not in page(admin, world, step="repository")


def test_an_environment_that_is_saved_for_a_task_leads_back_to_it(
    world: World, admin: Client, origin: RemoteRepository
) -> None:
    made, task = connected(world, origin), world.start(world.line(key="checks"))
    address = at(world, "project-repository", made.pk)
    fields = {"command": "make deps", "cache": "", "hosts": "", "image": "", "services-TOTAL_FORMS": "0"}
    fields |= {"services-INITIAL_FORMS": "0"}
    assert f"{address}?task={task.name}" in text(admin.get(f"{address}?task={task.name}"))
    assert admin.post(f"{address}?task={task.name}", fields).url == at(world, "task", task.name)
    for other in ("//example.com", "https://example.com", "../../admin"):
        assert admin.post(address + "?" + urlencode({"task": other}), fields).url == at(
            world, "project-repositories"
        )


def test_home_leads_to_ones_own_repository_before_a_task_of_the_demo_ran(world: World, admin: Client) -> None:
    world.line(key="release")
    shown = text(admin.get("/"))
    assert "Set up with a repository" in shown
