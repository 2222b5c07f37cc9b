"""What a document says of the network and the resources of its stations."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from pipelines.formats.schema import json_schema
from pipelines.routing.document.line import REVISION, DocumentError, read_line
from pipelines.routing.document.networks import document_to_publish, published_document, station_network
from pipelines.routing.document.publishable import publishing_problems


def document(work: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    station = {"key": "test", "work": {"kind": "command", "argv": ["make", "test"], **(work or {})}, **more}
    return {"gateline": 1, "key": "line", "name": "Line", "stations": [station]}


def accepted(given: dict[str, Any]) -> bool:
    """By reader and schema, which agree."""
    try:
        read_line(given)
    except DocumentError:
        read = False
    else:
        read = True
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(given) == read
    return read


@pytest.mark.parametrize(
    "network", ["none", "open", {"egress": ["example.com:8443", "input:repository"]}, {"egress": []}]
)
def test_a_network_is_none_open_or_a_list_of_hosts(network: Any) -> None:
    given = document({"network": network})
    assert accepted(given)
    assert read_line(given).to_document()["stations"][0]["work"]["network"] == network


@pytest.mark.parametrize(
    "network",
    [
        *("closed", "", None, 1, True, [], {}, {"egress": None}, {"egress": [""]}, {"hosts": []}),
        *({"egress": [entry]} for entry in ("127.0.0.1", "[::1]", "0x7f.1", "https://a.test", "a.test:0")),
        *({"egress": [entry]} for entry in ("a.test:65536", "a..test", "*.test", "input:Key", "a b")),
        {"egress": ["a.test"] * 101},
    ],
)
def test_anything_else_is_no_network(network: Any) -> None:
    assert not accepted(document({"network": network}))


def publishing(*entries: str) -> list[tuple[str, str]]:
    given = document({"network": {"egress": list(entries)}})
    given["inputs"] = [{"key": "repository", "type": "repository"}, {"key": "note"}]
    return [(found.path, str(found.message)) for found in publishing_problems(read_line(given))]


def test_a_list_of_hosts_names_one_and_inputs_that_are_repositories() -> None:
    at = "stations[0].work.network.egress"
    assert publishing("example.com", "input:repository") == []
    assert publishing() == [(at, "names no host")]
    assert publishing("input:note") == [(at, "“note” is no input of the type Repository")]


def test_the_hosts_of_an_agent_need_not_be_listed() -> None:
    given = document()
    agent = {"kind": "agent", "agent": "claude", "prompt": "Go"}
    for network, faults in (({"egress": []}, 0), ("none", 1), ("open", 0)):
        given["stations"][0]["work"] = {**agent, "network": network}
        assert len(publishing_problems(read_line(given))) == faults


@pytest.mark.parametrize(
    "kind", ["chat", "manual", "noop", "wait", "http", "route", "error", "hook", "tools"]
)
def test_every_kind_may_say_it_for_its_hooks_and_tools(kind: str) -> None:
    given = document()
    given["stations"][0]["work"] = {"kind": kind, "network": "none"}
    assert accepted(given)


def test_resources_are_whole_numbers_and_read_back() -> None:
    resources = {"cpu_seconds": 60, "memory_mb": 512, "processes": 64, "disk_mb": 100}
    given = document(resources=resources)
    assert accepted(given)
    assert read_line(given).to_document()["stations"][0]["resources"] == resources
    assert accepted(document(resources={}))
    for wrong in ({"memory_mb": 0}, {"memory_mb": 1.5}, {"memory": 1}, {"disk_mb": "1"}, {"processes": True}):
        assert not accepted(document(resources=wrong))


def test_what_says_nothing_is_published_as_none_and_was_published_as_open() -> None:
    given = document()
    new, old = document_to_publish(given), published_document(given, REVISION)
    assert new["stations"][0]["work"]["network"] == "none"
    assert old["stations"][0]["work"]["network"] == "open"
    assert "network" not in given["stations"][0]["work"]
    assert station_network(given["stations"][0]["work"]) == "open"
    for said in ("none", "open"):
        assert document_to_publish(document({"network": said})) == published_document(
            document({"network": said}), REVISION
        )


HOOK = {"id": "r", "when": {"all": [{"not": {"hook": {"argv": ["x"]}, "answer": "pass"}}]}, "to": "completed"}


@pytest.mark.parametrize(
    ("station", "runs"),
    [
        ({"work": {"kind": "hook"}}, True),
        ({"work": {"kind": "tools"}}, True),
        ({"work": {"kind": "manual"}}, False),
        ({"work": {"kind": "chat"}, "rules": [HOOK]}, True),
        ({"work": {"kind": "noop"}, "gate": "tooled"}, True),
        ({"work": {"kind": "noop"}, "gate": "plain"}, False),
        ({"work": {"kind": "noop"}, "rules": [{"id": "r", "to": "completed", "gates": ["tooled"]}]}, True),
    ],
)
def test_hooks_of_rules_and_tools_of_gates_are_programs_too(station: dict[str, Any], runs: bool) -> None:
    gates = [{"key": "tooled", "tool": {"argv": ["x"]}}, {"key": "plain"}]
    given = {"stations": [{"key": "s", **station}], "gates": gates}
    assert ("network" in document_to_publish(given)["stations"][0]["work"]) is runs


@pytest.mark.parametrize(
    "draft",
    [
        {},
        {"stations": None},
        {
            "stations": [
                1,
                None,
                {"work": 3},
                {"work": {"kind": []}},
                {"work": {"kind": "command"}, "rules": 5},
            ]
        },
        {
            "stations": [{"work": {}, "gate": {}, "rules": [{"gates": [[], {}], "when": [1]}]}],
            "gates": [{"key": [], "tool": 1}],
        },
    ],
)
def test_a_draft_that_is_no_line_is_no_trouble(draft: dict[str, Any]) -> None:
    assert document_to_publish(draft).keys() == draft.keys()


def test_a_version_that_says_nothing_of_jumps_is_shown_with_what_that_meant() -> None:
    assert published_document(document(), 2)["jumps"] == "all"
    assert "jumps" not in published_document(document(), 3)
    assert published_document({**document(), "jumps": []}, 2)["jumps"] == []
    assert "jumps" not in published_document({**document(), "preset": "flux"}, 2)
