"""Deaths in the middle of what moves a token: see `crash`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from django.db import OperationalError, connection

from tests.engine.stateful import crash, table
from tests.engine.stateful.commands.tools import Act, Command
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Subject
from tests.engine.stateful.states import state_of

On = Callable[[Scene, Subject], Act | None]
# A move takes some twenty statements; a death that would come later comes when it is about to be committed.
STATEMENTS = [1000, *range(1, 30)]


def _cut(
    victims: dict[str, Command], where: Callable[[Scene], AbstractContextManager[None]], evidence: bool
) -> On:
    def on(scene: Scene, subject: Subject) -> Act | None:
        state = state_of(subject, scene.cast)
        there = [key for key in table.movers(state, victims) if victims[key].act(scene, subject)]
        if not there and evidence and victims["report_other"].act(scene, subject):
            # Where nothing moves any more, a contradicting report still is kept.
            there = ["report_other"]
        if not there:
            return None

        def cut() -> str:
            act = victims[scene.choice("victim", there)].act(scene, subject)
            assert act is not None
            try:
                with where(scene):
                    act()
            except OperationalError:
                connection.close()
                return "cut"
            return "not cut"

        return cut

    return on


def crashes(commands: tuple[Command, ...]) -> tuple[Command, ...]:
    victims = {each.key: each for each in commands if each.alone}

    def before(scene: Scene) -> AbstractContextManager[None]:
        return crash.before_commit(scene.choice("statements", STATEMENTS))

    def after(scene: Scene) -> AbstractContextManager[None]:
        return crash.after_commit()

    return (
        Command("cut_before_commit", "what moves it dies before its commit", _cut(victims, before, True)),
        Command(
            "cut_after_commit",
            "what moves it dies after its commit",
            _cut(victims, after, False),
            lets_go=True,
        ),
    )
