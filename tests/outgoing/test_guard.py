"""What may be called: addresses, names that change, redirects. Against real servers on loopback."""

from __future__ import annotations

import httpx2
import pytest

from pipelines.work.outgoing import nat64
from pipelines.work.outgoing.guard import Guard, RefusedAddress
from pipelines.work.outgoing.http_fetch import Call, fetch_url
from pipelines.work.outgoing.special_purpose import SPECIAL_PURPOSE, Network
from pipelines.work.outgoing.transport import blocking_client
from tests.outgoing.servers import say, serving

PRIVATE = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.4.4",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "fe80::1",
    "fec0::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::1",
    "2002:a9fe:a9fe::",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    # What may be anybody's behind it, or nobody's: relays, translators, tunnels.
    "192.88.99.1",
    "192.88.99.2",
    "64:ff9b::808:808",
    "64:ff9b:1::808:808",
    "64:ff9b:1:a9fe:a9:fe00::",
    "2002:808:808::1",
    "192.31.196.1",
    "2001:20::1",
    "3fff::1",
    "5f00::1",
    "100::1",
    "100:0:0:1::1",
    "4000::1",
    "e000::1",
    "not an address",
]
WRITTEN = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "0",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "localhost",
    "LOCALHOST",
    "localhost.",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_it_refuses_private_addresses_however_they_are_wrapped(address: str) -> None:
    assert not Guard().allows_address("host.example", address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_it_allows_public_ones(address: str) -> None:
    assert Guard().allows_address("host.example", address)


@pytest.mark.parametrize("network", SPECIAL_PURPOSE, ids=str)
def test_the_registries_are_refused_whole(network: Network) -> None:
    assert not Guard().allows_address("host.example", str(network[0]))
    assert not Guard().allows_address("host.example", str(network[-1]))


@pytest.mark.parametrize(
    ("prefix", "address"),
    [
        ("64:ff9b::/96", "64:ff9b::{a}{b}:{c}{d}"),
        ("64:ff9b:1::/48", "64:ff9b:1:{a}{b}:{c}:{d}00::"),
        ("2606:4700::/32", "2606:4700:{a}{b}:{c}{d}::"),
        ("2606:4700:100::/40", "2606:4700:1{a}:{b}{c}:{d}::"),
        ("2606:4700:0:100::/56", "2606:4700:0:1{a}:{b}:{c}{d}::"),
        ("2606:4700:0:1::/64", "2606:4700:0:1:{a}:{b}{c}:{d}00::"),
    ],
)
def test_a_listed_nat64_prefix_leads_to_public_addresses_alone(prefix: str, address: str) -> None:
    def written(ipv4: str) -> str:
        return address.format(
            **dict(zip("abcd", (f"{int(part):02x}" for part in ipv4.split(".")), strict=True))
        )

    guard = Guard(nat64=(nat64.parsed_prefix(prefix),))
    assert guard.allows_address("host.example", written("8.8.4.4"))
    for private in ("127.0.0.1", "169.254.169.254", "10.1.2.3", "192.88.99.1"):
        assert not guard.allows_address("host.example", written(private))
    listed = Guard(("10.0.0.0/8",), nat64=(nat64.parsed_prefix(prefix),))
    assert listed.allows_address("host.example", written("10.1.2.3"))
    assert not listed.allows_address("host.example", written("172.16.1.1"))


async def test_an_unlisted_nat64_address_names_its_own_setting() -> None:
    with pytest.raises(RefusedAddress, match="GATELINE_NAT64_PREFIXES"):
        await fetch_url(Call("GET", "http://[64:ff9b::808:808]/", {}), Guard(), 5)


def test_a_program_without_a_loop_goes_through_the_same_guard() -> None:
    with serving(lambda to, asked: say(to, 200, b"here")) as server:
        with blocking_client(Guard(("127.0.0.1", "::1")), 5) as http:
            answer = http.get(f"http://localhost:{server.port}/")
        with blocking_client(Guard(), 5) as http, pytest.raises(RefusedAddress):
            http.get(f"http://localhost:{server.port}/")
    (asked,) = server.asked
    assert (answer.content, asked.headers["host"]) == (b"here", f"localhost:{server.port}")


def test_listed_are_names_addresses_and_networks() -> None:
    guard = Guard(("inside.example", "10.1.0.0/16", "192.168.7.7", "fd00::/8"))
    assert guard.allows_address("INSIDE.example", "10.9.9.9")
    assert guard.allows_address("other.example", "10.1.200.3")
    assert guard.allows_address("other.example", "::ffff:192.168.7.7")
    assert guard.allows_address("other.example", "fd12::1")
    assert not guard.allows_address("other.example", "10.2.0.1")
    assert not guard.allows_address("xinside.example", "127.0.0.1")


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "172.16.4.4", "192.168.1.1", "::ffff:10.1.2.3", "fc00::1"),
        *("100.64.0.1", "203.0.113.80", "198.18.0.1", "2001:db8::1"),
    ],
)
def test_what_a_repository_reaches_inside_is_on_its_port_in_a_private_network(address: str) -> None:
    guard = Guard(inside=(("packages.example", 443),))
    assert guard.allows_address("PACKAGES.example", address, 443)
    assert not guard.allows_address("packages.example", address, 22)
    assert not guard.allows_address("other.example", address, 443)


@pytest.mark.parametrize("address", [*PRIVATE, "fd20:ce::254", "fd00:c1::a9fe:a9fe", "100.100.100.200"])
def test_inside_is_neither_this_machine_nor_a_link_nor_the_keys_of_a_cloud(address: str) -> None:
    guard = Guard(inside=(("packages.example", 443),)).with_hosts("models.example")
    network = address in ("10.0.0.1", "172.16.4.4", "192.168.1.1", "100.64.0.1", "fc00::1")
    assert guard.allows_address("packages.example", address, 443) is network


@pytest.mark.parametrize("host", WRITTEN)
async def test_no_way_of_writing_loopback_reaches_it(host: str) -> None:
    with serving(lambda to, asked: say(to, 200)) as server:
        # Some spellings are no address or no name at all.
        with pytest.raises((httpx2.ConnectError, httpx2.InvalidURL)):
            await fetch_url(Call("GET", f"http://{host}:{server.port}/", {}), Guard(), 5)
        assert server.asked == []


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "localhost"])
async def test_the_refusal_names_the_address_and_the_setting(host: str) -> None:
    with pytest.raises(RefusedAddress, match=r"private address.*GATELINE_PRIVATE_HOSTS"):
        await fetch_url(Call("GET", f"http://{host}/", {}), Guard(), 5)


async def test_what_is_listed_is_reached_under_its_own_name() -> None:
    with serving(lambda to, asked: say(to, 200, b"here")) as server:
        url = f"http://localhost:{server.port}/a?b=c"
        answer = await fetch_url(Call("GET", url, {"x-mine": "1"}), Guard(("127.0.0.1", "::1")), 5)
    (asked,) = server.asked
    assert (answer.status, answer.body, answer.url) == (200, b"here", url)
    assert (asked.path, asked.headers["host"]) == ("/a?b=c", f"localhost:{server.port}")
    assert asked.headers["x-mine"] == "1"


async def test_a_redirect_to_a_private_address_is_refused() -> None:
    with serving(lambda to, asked: say(to, 200, b"metadata")) as inside:
        away = lambda to, asked: say(to, 302, location=f"{inside.url}/latest")  # noqa: E731
        with serving(away, "127.0.0.2") as outside:
            with pytest.raises(RefusedAddress, match=r"127\.0\.0\.1"):
                await fetch_url(Call("GET", outside.url, {}), Guard(("127.0.0.2",)), 5)
            assert len(outside.asked) == 1
        assert inside.asked == []


async def test_a_name_that_changes_after_the_check_leads_to_what_was_checked() -> None:
    """The rebinding attack: a public answer for the check, loopback for the connection."""
    answers = iter([["127.0.0.2"], ["127.0.0.1"]])
    asked_for = []

    async def changing(host: str, port: int) -> list[str]:
        asked_for.append(host)
        return next(answers)

    guard = Guard(("127.0.0.2",), changing)
    with (
        serving(lambda to, asked: say(to, 200, b"inside")) as inside,
        serving(lambda to, asked: say(to, 200, b"outside"), "127.0.0.2", inside.port) as outside,
    ):
        url = f"http://rebinding.example:{inside.port}/"
        first = await fetch_url(Call("GET", url, {}), guard, 5)
        assert (first.body, asked_for) == (b"outside", ["rebinding.example"])
        assert outside.asked[0].headers["host"] == f"rebinding.example:{inside.port}"
        with pytest.raises(RefusedAddress):
            await fetch_url(Call("GET", url, {}), guard, 5)
        assert inside.asked == []


async def test_a_name_with_one_private_address_among_others_is_refused() -> None:
    async def both(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    with serving(lambda to, asked: say(to, 200), "127.0.0.2") as server:
        with pytest.raises(RefusedAddress):
            await fetch_url(
                Call("GET", f"http://a.example:{server.port}/", {}), Guard(("127.0.0.2",), both), 5
            )
        assert server.asked == []


async def test_it_goes_to_the_next_address_where_one_does_not_answer() -> None:
    async def both(host: str, port: int) -> list[str]:
        return ["127.0.0.3", "127.0.0.2"]

    with serving(lambda to, asked: say(to, 200, b"second"), "127.0.0.2") as server:
        guard = Guard(("127.0.0.0/8",), both)
        answer = await fetch_url(Call("POST", f"http://a.example:{server.port}/", {}, b"x"), guard, 5)
    assert (answer.body, server.asked[0].body) == (b"second", b"x")


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda to, asked: say(to, 200, b"proxy")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("REQUEST_METHOD", raising=False)
        with serving(lambda to, asked: say(to, 200, b"direct")) as server:
            answer = await fetch_url(Call("GET", server.url, {}), Guard(("127.0.0.1",)), 5)
    assert (answer.body, proxy.asked) == (b"direct", [])
