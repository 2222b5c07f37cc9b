"""What a process of the product loads before it does its work."""

from __future__ import annotations

import subprocess
import sys

from tests.fixtures.site import ROOT, environment

CHECKS = """
import sys
import django
django.setup()
from django.core.management import load_command_class
for app, name in (("pipelines", "worker"), ("config", "announce")):
    command = load_command_class(app, name)
    command.check(**command.get_check_kwargs({}))
sys.exit("config.urls" in sys.modules or "pipelines.api" in sys.modules)
"""


def test_the_checks_of_a_worker_and_of_what_announces_load_no_page_and_no_api() -> None:
    checked = subprocess.run([sys.executable, "-c", CHECKS], cwd=ROOT, env=environment(), check=False)
    assert checked.returncode == 0
