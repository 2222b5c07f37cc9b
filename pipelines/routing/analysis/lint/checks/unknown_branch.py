"""A branch that a join does not wait for: nothing ever says how it arrived."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, places_with_paths_of_rule
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.algebra import OutputTest
from pipelines.routing.document.document_readers.reader import expected_hint
from pipelines.routing.sentences import part_names as named

ID = "unknown-branch"
CAUSE = "Branch that the join does not wait for"
BRANCHES = "branches"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station in subject.line.stations:
        if station.join is None:
            continue
        known = station.join.wait_for
        for index, rule in enumerate(station.rules):
            for place, path in places_with_paths_of_rule(rule, OutputTest):
                # branches.<key>, of paths that may have fewer steps
                root, key = (*path.step_names, "", "")[:2]
                if root == BRANCHES and key and key not in known:
                    message = _(
                        "Rule %(rule)s reads the branch %(key)s, and the join does not wait for it",
                        rule=named.rule_phrase(subject.line, rule.id),
                        key=named.station_part_name(subject.line, key)
                        if key in subject.line.stations_by_key
                        else key,
                    )
                    at = f"{subject.path_of_station_or_rule(station, index)}.{place}"
                    yield Finding(ID, WARNING, at, message, expected_hint(key, known), station.key, rule.id)
