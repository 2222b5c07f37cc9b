"""The errors of Redis are caught where there is one, and its client is loaded nowhere else."""

from __future__ import annotations

import subprocess
import sys

import pytest
from redis import Redis

from pipelines.ports.bus import errors_with_redis_if_loaded
from tests.fixtures.site import ROOT, environment, free_port

STARTS = (
    "import django, sys; django.setup(); import config.urls, pipelines.web.live.consumer; "
    "sys.exit('redis' in sys.modules)"
)


def test_what_redis_says_is_caught() -> None:
    with pytest.raises(errors_with_redis_if_loaded(ValueError)) as failed:
        Redis(host="127.0.0.1", port=free_port()).ping()
    assert not isinstance(failed.value, OSError | ValueError)


def test_a_process_without_redis_does_not_load_its_client() -> None:
    started = subprocess.run([sys.executable, "-c", STARTS], cwd=ROOT, env=environment(), check=False)
    assert started.returncode == 0
