"""Operations on a line as a whole: rename, archive, restore, duplicate to another project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from pipelines import access
from pipelines.errors import Conflict, Invalid
from pipelines.formats.top_members import text_with_members_or_empty
from pipelines.lines import publishing
from pipelines.lines.publishing import replace_draft
from pipelines.models import LimitPolicy, Line, Project, Scenario, User
from pipelines.ports import audit, clock
from pipelines.routing.basics.keys import first_unused_key
from pipelines.routing.basics.wording import as_sentence
from pipelines.routing.document.line import Problem
from pipelines.routing.document.paths import PathError, compile_path

LONGEST_NAME = 200
LONGEST_TAG, MOST_TAGS = 40, 10
MOST_AT_ONCE = 1000


def rename_line(line: Line, name: str, *, by: User) -> None:
    """Another name for people, in the draft as well, so that publishing keeps it; the key stays. Versions keep the name
    that they were published with. Raises Forbidden, Invalid (path `name`), Conflict (the text of the draft has its name
    where only a person can change it)."""
    access.require_permission(by, "design", line.project)
    name = name.strip()
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise Invalid.at("name", f"Enter a name of at most {LONGEST_NAME} characters.")
    with transaction.atomic():
        stored = _lock_line(line)
        if stored.draft.get("name") != name:
            draft = {**stored.draft, "name": name}
            text = text_with_members_or_empty(stored.draft_text, draft, ["name"]) if stored.draft_text else ""
            # A text with anchors or the like is left to whoever wrote it
            if stored.draft_text and not text:
                raise Conflict(
                    "The name cannot be changed in the draft from here. Change it in the text of the draft."
                )
            replace_draft(stored, draft, text, by)
        if stored.name != name:
            _record_in_audit("line.renamed", stored, by, before={"name": stored.name}, after={"name": name})
            stored.name = name
            stored.save(update_fields=["name"])
    line.name = name


def set_maintainer_and_tags(line: Line, *, maintainer: User | None, tags: Sequence[str], by: User) -> None:
    """Say who answers for a line, a member of its project, and by which tags it is found. Raises Forbidden, Invalid
    (path `maintainer` or `tags`)."""
    access.require_permission(by, "design", line.project)
    if maintainer is not None and not access.is_permitted(maintainer, "view", line.project):
        raise Invalid.at("maintainer", "Choose a member of this project.")
    tags = list(dict.fromkeys(tag for text in tags if (tag := text.strip())))
    if len(tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG or not tag.isprintable() for tag in tags):
        raise Invalid.at("tags", f"Enter at most {MOST_TAGS} tags of at most {LONGEST_TAG} characters.")
    with transaction.atomic():
        stored = _lock_line(line)
        before, after = (
            _maintainer_and_tags_fields(stored.maintainer, stored.tags),
            _maintainer_and_tags_fields(maintainer, tags),
        )
        if before != after:
            stored.maintainer, stored.tags = maintainer, tags
            stored.save(update_fields=["maintainer", "tags"])
            _record_in_audit("line.described", stored, by, before=before, after=after)
    line.maintainer, line.tags = maintainer, tags


def _maintainer_and_tags_fields(maintainer: User | None, tags: Sequence[str]) -> dict[str, Any]:
    return {"owner": maintainer.username if maintainer else "", "tags": list(tags)}


def set_archived(line: Line, archived: bool, *, by: User) -> None:
    """Archive a line, or restore it. An archived one takes no task and is not published; its tasks go on, and nothing
    is lost. Archiving twice keeps the first time. Raises Forbidden."""
    access.require_permission(by, "publish", line.project)
    with transaction.atomic():
        # Waits for tasks that are being started: they hold the key of the line.
        stored = _lock_line(line)
        if archived != (stored.archived_at is not None):
            stored.archived_at = clock.now() if archived else None
            stored.save(update_fields=["archived_at"])
            _record_in_audit("line.archived" if archived else "line.restored", stored, by)
    line.archived_at = stored.archived_at


def set_limit_of_open_tasks(line: Line, most: int | None, *, key: str = "", over: str = "", by: User) -> None:
    """Limit how many tasks of a line may be open at once, or of those with the same `key`, a path over the inputs;
    None: no limit. `over`: what becomes of one more. Tasks that are open count under the key that they started
    with. Raises Forbidden, Invalid (path `limit.…`)."""
    access.require_permission(by, "design", line.project)
    key, over = key.strip(), over or str(LimitPolicy.QUEUE)
    problems = []
    if most is not None and not 0 < most <= MOST_AT_ONCE:
        problems.append(Problem("limit.tasks", f"Enter a number from 1 to {MOST_AT_ONCE}."))
    if len(key) > LONGEST_NAME or not key.isprintable():
        problems.append(Problem("limit.key", f"Enter at most {LONGEST_NAME} characters in one line."))
    else:
        try:
            if key:
                compile_path(key)
        except PathError as fault:
            problems.append(Problem("limit.key", as_sentence(str(fault)), "Such as inputs.branch."))
    if over not in LimitPolicy.values:
        problems.append(Problem("limit.over", f"Choose one of: {', '.join(LimitPolicy.values)}."))
    if problems:
        raise Invalid(problems)
    key = "" if most is None else key
    with transaction.atomic():
        stored = _lock_line(line)
        before, after = _limit_fields(stored), {"tasks": most, "key": key, "over": over}
        if before != after:
            stored.limit_tasks, stored.limit_key, stored.limit_over = most, key, over
            stored.save(update_fields=["limit_tasks", "limit_key", "limit_over"])
            _record_in_audit("line.limited", stored, by, before=before, after=after)
    line.limit_tasks, line.limit_key, line.limit_over = most, key, over


def _limit_fields(line: Line) -> dict[str, Any]:
    return {"tasks": line.limit_tasks, "key": line.limit_key, "over": line.limit_over}


def duplicate_line(line: Line, to: Project, *, by: User, name: str = "") -> Line:
    """Make a line of that project with the draft and the scenarios of this one, under its key or the next that is free
    and its name, unless one is given. It is not published, and gets none of the secrets, tasks and versions. Raises
    Forbidden, NotFound (what they may not see), Conflict (an archived project, a key that is taken meanwhile)."""
    access.require_permission(by, "view", line.project)
    # 56 characters leave room for a number: a key has 64.
    used_keys = set(to.lines.filter(key__startswith=line.key[:56]).values_list("key", flat=True))
    key = (
        line.key
        if line.key not in used_keys
        else first_unused_key(line.key[:56], {*used_keys, line.key[:56]})
    )
    identity = {**({"key": key} if key != line.key else {}), **({"name": name} if name else {})}
    draft = {**line.draft, **identity}
    text = text_with_members_or_empty(line.draft_text, draft, identity) if line.draft_text else ""
    with transaction.atomic():
        made = publishing.create_line(to, key, name or line.name, text or draft, by, line.draft_writers)
        for scenario in line.scenarios.order_by("key"):
            Scenario.objects.create(
                line=made,
                key=scenario.key,
                name=scenario.name,
                document=scenario.document,
                source=scenario.source,
                made_by=by,
                at=made.created_at,
            )
        _record_in_audit("line.duplicated", made, by, source=f"{line.project}/{line.key}")
    return made


def _record_in_audit(what: str, line: Line, by: User, **data: Any) -> None:
    at, about = clock.now(), f"line:{line.pk}"
    audit.record_administrative_act(
        what, by=by, at=at, project=line.project, about=about, name=line.name, **data
    )


def _lock_line(line: Line) -> Line:
    return Line.objects.select_for_update(of=("self",)).select_related("project__owner").get(pk=line.pk)
