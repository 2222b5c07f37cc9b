"""What can be done to a token, each as a function of where it is: one table, `COMMANDS`."""

from __future__ import annotations

from tests.engine.stateful.commands.crashes import crashes
from tests.engine.stateful.commands.hands import HANDS
from tests.engine.stateful.commands.holding import HOLDING
from tests.engine.stateful.commands.migrations import MIGRATIONS
from tests.engine.stateful.commands.pauses import PAUSES
from tests.engine.stateful.commands.reviews import REVIEWS
from tests.engine.stateful.commands.timed import TIMED
from tests.engine.stateful.commands.tools import Act, Command
from tests.engine.stateful.commands.waits import WAITS
from tests.engine.stateful.commands.workers import WORKERS
from tests.engine.stateful.commands.world import WORLD

_whole = (*WORKERS, *HANDS, *REVIEWS, *HOLDING, *TIMED, *WAITS, *PAUSES, *WORLD, *MIGRATIONS)
COMMANDS: dict[str, Command] = {each.key: each for each in (*_whole, *crashes(_whole))}

__all__ = ["COMMANDS", "Act", "Command"]
