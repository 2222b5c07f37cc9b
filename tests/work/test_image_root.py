"""Programs in the files of an image, by links that lead inside of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.work.processes.image_root import has_program


@pytest.fixture
def image(tmp_path: Path) -> Path:
    (tmp_path / "usr/lib/tool").mkdir(parents=True)
    (tmp_path / "usr/lib/tool/run").touch()
    (tmp_path / "opt").mkdir()
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "opt/tool").symlink_to("/lib/tool")
    (tmp_path / "opt/near").symlink_to("../usr/lib/tool")
    (tmp_path / "opt/above").symlink_to("../../../usr/lib/tool")
    (tmp_path / "opt/circle").symlink_to("circle")
    (tmp_path / "opt/away").symlink_to("/etc")
    return tmp_path


@pytest.mark.parametrize(
    ("program", "is_there"),
    [
        ("/usr/lib/tool/run", True), ("/lib/tool/run", True),
        # An absolute link begins at the root of the image, in whichever folder it lies, and leads on by another one.
        ("/opt/tool/run", True), ("/opt/near/run", True), ("/opt/above/run", True),
        ("/opt/circle/run", False), ("/opt/away/passwd", False), ("/opt/tool/stop", False),
    ],
)  # fmt: skip
def test_links_lead_inside_of_the_image(image: Path, program: str, is_there: bool) -> None:
    assert has_program(image, program, "", image / "attempt") is is_there


def test_a_name_is_looked_up_on_the_path_of_the_image(image: Path) -> None:
    assert has_program(image, "run", "/usr/bin:/opt/tool", image / "attempt")
    assert not has_program(image, "run", "/usr/bin:/opt", image / "attempt")
