"""The branch of a task as a git bundle: what its visits committed, for whoever wants it before a remote has it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import IO

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import Commit
from dulwich.pack import write_pack_objects
from dulwich.repo import Repo

from pipelines.work.git.mirror import Mirror

HEADER = b"# v2 git bundle\n"


def write_bundle(
    packs: Iterable[str], fetch: Callable[[str, Path], None], branch: str, head: str, into: IO[bytes]
) -> None:
    """Write all objects of these stored packs; the commits that they build on must be there already, as those
    of the base are for whoever has the repository."""
    with (
        tempfile.TemporaryDirectory(prefix="bundle-") as folder,
        closing(Repo.init_bare(str(Path(folder) / "objects.git"), mkdir=True)) as repository,
    ):
        # Room for 0 bytes: only stored packs are taken in here, and nothing is ever fetched
        mirror, store = Mirror(repository, 0), repository.object_store
        for number, stored in enumerate(packs):
            place = Path(folder) / str(number)
            fetch(stored, place)
            mirror.add_pack(place)
        objects = [store[object_id] for object_id in sorted(set(store))]
        known = {git_object.id for git_object in objects}
        above = {
            up for git_object in objects if isinstance(git_object, Commit) for up in git_object.parents
        } - known
        into.write(HEADER)
        # A line with a dash names a commit that the reader has to have.
        into.writelines(b"-%s base\n" % object_id for object_id in sorted(above))
        into.write(b"%s refs/heads/%s\n\n" % (head.encode(), branch.encode()))
        write_pack_objects(into, objects, DEFAULT_OBJECT_FORMAT, deltify=False)
