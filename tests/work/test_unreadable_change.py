"""A change that no person can have read: its gate says so, and the receipt of what landed."""

from __future__ import annotations

import pytest
from django.urls import reverse

from pipelines.formats.receipts import verified_landed_change
from pipelines.ports.vault.signing import configured_receipt_key
from tests.factories import World
from tests.fixtures.receipts import gateline_verify, public_key
from tests.pages.conftest import client_of
from tests.work.driving import Bench
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import line, origin, run

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
MANY = "for n in range(1001): open(f'f{n}.txt', 'w').write(str(n))"
FEW = "open('f.txt', 'w').write('f')"


@pytest.mark.smoke(1)
@pytest.mark.parametrize(("program", "amount"), [(MANY, {"files": 1001, "bytes": 2894}), (FEW, None)])
def test_the_receipt_says_what_no_person_can_have_read(
    world: World, bench: Bench, origin: RemoteRepository, program: str, amount: dict[str, int] | None
) -> None:
    task = world.start(line(world, program), title="Fix the answer")
    run(bench, task)
    page = client_of(world.reviewer).get(reverse("gate-visit", args=[world.visit(task).pk])).content.decode()
    assert ("No person can read all of this." in page) is bool(amount)
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    address = reverse("task-receipt", args=[task.project.owner.key, task.project.key, task.name])
    answer = client_of(world.operator).get(address)
    change = verified_landed_change(answer.content, configured_receipt_key().public_key())
    assert change.too_large_to_read == amount
    receipt = bench.base.parent / "receipt.json"
    receipt.write_bytes(answer.content)
    said = gateline_verify(receipt, "--key", public_key(bench.base.parent)).stdout
    assert ("No person can have read all of it: 1,001 files" in said) is bool(amount)
    shown = client_of(world.operator).get(reverse("task", args=address.split("/")[2:4] + [task.name]))
    assert ("more than a person can read" in " ".join(shown.content.decode().split())) is bool(amount)
