"""A server whose certificate a company signed itself: the command line trusts whom it is told to, as all else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateline.client import Client
from gateline.failures import UnreachableFailure
from gateline.profiles import Profile
from tests.outgoing.authority import company_authority
from tests.outgoing.servers import Asked, say, serving


def asked(url: str) -> str:
    with Client(Profile("mine", url, "token")) as client:
        return client.get_text("/lines")


def test_it_trusts_the_authority_that_is_named_and_says_so_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(to: Any, _asked: Asked) -> None:
        say(to, 200, b"it answers")

    company = company_authority(tmp_path)
    with serving(answers, by=company.server) as server:
        url = f"https://localhost:{server.port}"
        with pytest.raises(UnreachableFailure, match="not trusted") as refused:
            asked(url)
        assert "GATELINE_CA_BUNDLE" in refused.value.remedy
        monkeypatch.setenv("GATELINE_CA_BUNDLE", str(company.bundle))
        assert asked(url) == "it answers"


@pytest.mark.parametrize(
    ("said", "why"), [(None, "No such file or directory"), ("nothing", "it holds no certificates")]
)
def test_a_file_without_certificates_is_named(
    said: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "company.pem"
    if said is not None:
        bundle.write_text(said)
    monkeypatch.setenv("GATELINE_CA_BUNDLE", str(bundle))
    with pytest.raises(UnreachableFailure) as refused:
        asked("https://localhost:1")
    assert refused.value.message == f"GATELINE_CA_BUNDLE is “{bundle}”: {why}"
