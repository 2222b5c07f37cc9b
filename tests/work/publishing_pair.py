"""Two people who design lines that deliver to a protected repository."""

from __future__ import annotations

import re
from typing import Any

from django.urls import reverse
from django.utils import timezone

from pipelines.models import Line, LineVersion, Repository, RepositoryProtection, User
from pipelines.queries.protections import canonical_address
from tests.api.conftest import Api
from tests.factories import World, make_member, station
from tests.pages.conftest import client_of
from tests.work.driving import command
from tests.work.repository_lines import FIX, GATE, to

SCOPES = ("read", "submit", "design", "decide", "settings")
FOLDER = "/no/such/folder"


def document(key: str = "line", **more: Any) -> dict[str, Any]:
    return {
        "key": key,
        "name": "Line",
        "stations": [
            command("fix", FIX, to("merge", gates=["review"])),
            station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
        ],
        "gates": [{**GATE}],
        "workspace": {"git": {"repository": "app"}},
        **more,
    }


class Pair:
    """Mallory and Ann design lines; the project's repository is protected by its owner."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.repository = Repository.objects.create(
            project=world.project, name="app", address=FOLDER, connected_at=timezone.now()
        )
        assert world.reviewer and world.operator
        self.mallory = make_member(world.project, ["admin", "operator"], "mallory", execute=True)
        self.ann = make_member(world.project, ["designer"], "ann", execute=True)

    def protect(self) -> None:
        RepositoryProtection.objects.create(
            owner=self.world.project.owner, place=canonical_address(FOLDER), rules={"four_eyes": True}
        )

    def as_(self, user: User) -> Api:
        return Api(self.world.project, self.world.token_of(user, *SCOPES)[1])

    def save(self, by: User, said: dict[str, Any] | None = None) -> Line:
        said = said or document()
        who, row = self.as_(by), Line.objects.filter(key=said["key"]).first()
        based_on = f"?based_on={row.draft_number}" if row else ""
        address = f"{who.base}/lines/{said['key']}/draft{based_on}"
        answer = who.client.put(address, said, "application/json", headers=who.headers)
        assert answer.status_code == 200, answer.content
        return Line.objects.get(key=said["key"])

    def publish(self, by: User, line: Line) -> Any:
        line.refresh_from_db()
        said = {"draft": line.draft_number, "acknowledge": ["silent-jumps"]}
        return self.as_(by).post(f"/lines/{line.key}/publish", said)

    def page(self, by: User, line: Line, name: str = "line-publish", **said: str) -> Any:
        """The Publish page, with everything ticked, or another one of the line."""
        line = Line.objects.get(pk=line.pk)
        client, place = client_of(by), [line.project.owner.key, line.project.key, line.key]
        if name != "line-publish":
            return client.post(reverse(name, args=place), said)
        parts = [client.get(reverse(name, args=place), {"part": part}) for part in ("findings", "changes")]
        shown = " ".join(answer.content.decode() for answer in parts)
        inputs = re.findall(r"<input[^>]*>", shown)
        values = {
            key: [
                value[1]
                for tag in inputs
                if f'name="{key}"' in tag and (value := re.search(r'value="([^"]*)"', tag))
            ]
            for key in ("findings", "warnings", "seen")
        }
        live = line.live.number if line.live else 0
        form = {"based_on": str(line.draft_number), "live": str(live), **values, **said}
        return client.post(reverse(name, args=place), form)

    def live(self, line: Line) -> LineVersion | None:
        return Line.objects.select_related("live").get(pk=line.pk).live
