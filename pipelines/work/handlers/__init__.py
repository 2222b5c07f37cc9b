"""The kinds of work that workers do, one file each: a handler takes (spec, sink) and returns an outcome (house §1).

`table` has the handlers themselves; only workers load it, since some bring large libraries along. What is known of a
kind besides is in `pipelines/routing/document/kinds`."""
