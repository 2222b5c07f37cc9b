"""Everything that can be done to a task, in every state in which it can be, against the real database.

states    the states of a token that make a difference to what may be done
commands  what can be done: by workers, by people, at gates, by clocks, crashes and publishing
table     what each command does in each state: it moves, is refused, or is impossible and why
routes    how a task gets into each state
machine   a Hypothesis machine that does anything in any order and holds every step against the table"""
