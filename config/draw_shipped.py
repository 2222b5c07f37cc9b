"""The lines that ship with Gateline, drawn once at set-up: python -m config.draw_shipped STAMP. It needs Node and no
database, and leaves nothing behind but the drawings: the keys that settings make are in a folder that it deletes."""

from __future__ import annotations

import os
import sys
import tempfile

import django


def main(stamp: str) -> None:
    with tempfile.TemporaryDirectory(prefix="gl-draw-") as folder:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "GATELINE_HOME": folder,
            "GATELINE_WORKSPACES": f"{folder}/workspaces",
        }
        django.setup()
        from pipelines.lines import shipped_drawings  # noqa: PLC0415  # reads the settings
        from pipelines.management.shipped_pictures import shipped_pictures  # noqa: PLC0415  # reads the settings

        shipped_drawings.draw_missing_and_delete_others(shipped_pictures, shipped_drawings.FOLDER, stamp)


if __name__ == "__main__":
    main(sys.argv[1])
