"""Read real documents of other systems and write them back: each has to come back equal in meaning.

    python -m proof.foreign_documents FOLDER        files, and folders of assembly lines of ALP

Documents that are refused are printed with their first problem. The exit code is 1 where one comes back otherwise, or
where none was read."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from gateline.commands.import_ import find_documents
from pipelines.formats.foreign import document_import
from pipelines.routing.basics.problems import DocumentError
from tests.formats.foreign.round_trip import back_and_forth


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    if not folder.is_dir():
        parser.error(f"There is no folder {folder}.")
    counts = Counter[str]()
    for name, files in find_documents(folder):
        try:
            opened = document_import.import_files(files)
            back_and_forth(opened)
        except DocumentError as error:
            verdict, words = "refused", str(error.problems[0].message)
        except AssertionError as error:
            verdict, words = "otherwise", str(error)
        else:
            verdict, words = "read", f"{opened.system_name or 'Gateline'}, {len(opened.losses)} losses"
        counts[verdict] += 1
        print(f"{verdict:10}{name}: {words}")
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "no documents")
    return 1 if counts["otherwise"] or not counts["read"] else 0


if __name__ == "__main__":
    sys.exit(main())
