"""manage.py wiring: write the record of this release anew, by which a start notices what is missing."""

from __future__ import annotations

import json
from typing import Any

from config.wiring import record, references
from pipelines.management import printing


class Command(printing.Command):
    help = (
        "Write config/wiring/record.json anew: the files, settings, routes and tasks that a start looks for."
    )

    def handle(self, **options: Any) -> None:
        contents = {
            "files": record.required_files(),
            "settings": record.names_of_settings(),
            "paths_of_settings": {
                path
                for path in record.paths_of_settings()
                if record.is_resolvable(path) and not path.startswith(record.VARYING_PATHS)
            },
            "routes": references.route_names(),
            "tasks": references.queue_task_names(),
        }
        lists = {kind: sorted(entries) for kind, entries in contents.items()}
        record.RECORD.write_text(json.dumps(lists, indent=0) + "\n")
