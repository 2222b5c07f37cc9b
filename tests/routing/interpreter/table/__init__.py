"""Situations with the decision that the sentences demand, derived by hand: the interpreter's own proof.

The line of every case: stations plan, work, review, ship in this order; the task is at `work`, whose rules
each case names.
"""

from .conditions import CONDITIONS
from .gates import GATED
from .policies import POLICIES
from .signals import SIGNALS
from .targets import TARGETS
from .words import Case

CASES: list[Case] = POLICIES + CONDITIONS + SIGNALS + TARGETS + GATED
