"""A document of each system, moved in on the page of a new line: shown before it is kept, then drawn on the canvas.

Real documents where somebody has them (`GATELINE_SAMPLES`), else those of the tests. The pictures stand below the
folder of the test: `pytest -m wide --basetemp=/tmp/pictures tests/browser/test_imported_lines.py`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pipelines.models import User
from tests.browser.looking import look
from tests.dialects import test_imported as own
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at

SAMPLES = Path(os.environ.get("GATELINE_SAMPLES", "-"))
SYSTEMS = {
    "alp": ("ALP (Agentics)", "alp/alp-business-scarfold-line@d9fe82b", json.dumps(own.ALP)),
    "contenox": ("contenox", "contenox/08_runtime_chain-explore_75587e6.json", own.CONTENOX),
    "vibe-factory": (
        "Vibe Factory",
        "vibe-factory/guide_3_complex-multi-stage-pipeline.from-doc-tables.json",
        json.dumps(own.VIBE),
    ),
    "flux": ("Flux", "flux/doc_quick-task.yaml", own.FLUX),
    "aeef": ("AEEF", "aeef/registry.yaml", own.AEEF),
}


@pytest.mark.wide
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_document_is_shown_kept_and_drawn(
    system: str, page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None], tmp_path: Path
) -> None:
    name, sample, text = SYSTEMS[system]
    given = SAMPLES / sample
    if not given.exists():
        given = tmp_path / f"line.{'yaml' if system in ('flux', 'aeef') else 'json'}"
        given.write_text(text)
    sign_in(page, world.designer)
    page.goto(site.url + at(world, "lines-new"))
    page.locator("#folder" if given.is_dir() else "#file").set_input_files(given)
    page.get_by_role("button", name="Create line").click()
    expect(page.get_by_role("heading", name=re.compile(re.escape(f", from {name}")))).to_be_visible()
    expect(page.locator(".graph-card .react-flow__node-station").first).to_be_visible()
    look(page, tmp_path, f"{system}-shown")
    page.get_by_role("button", name="Create line").click()
    page.wait_for_url("**/draw/**")
    expect(page.locator(".react-flow__node-station").first).to_be_visible()
    look(page, tmp_path, f"{system}-drawn")
    (line,) = world.project.lines.all()
    assert page.locator(".react-flow__node-station").count() == len(line.draft["stations"])
