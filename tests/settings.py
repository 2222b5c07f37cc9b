"""Settings of the tests: those of the product, on a throwaway PostgreSQL unless DATABASE_URL names one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from config.embedded import layout
from config.embedded.server_share import acquire_share

STATE = Path(__file__).resolve().parent.parent / ".test-state"
os.environ.setdefault("GATELINE_HOME", str(STATE))
if not os.environ.get("DATABASE_URL"):
    # Its own server, never the one of `make run`: fsync is off there.
    acquire_share(STATE, durable=False)
    os.environ["DATABASE_URL"] = layout.connection_url(STATE)

from config.settings import *
from config.settings import DATABASES, INSTALLED_APPS, REPOSITORY_ROOTS

# ChannelsLiveServerTestCase and servers in processes of their own need the name beforehand; pytest-xdist appends its
# worker to it.
# Each statement is planned once for all its values: a table of a test has few rows, and most plans would be its last.
DATABASES["default"]["OPTIONS"] = DATABASES["default"].get("OPTIONS", {}) | {
    "options": "-c plan_cache_mode=force_generic_plan"
}
DATABASES["default"]["TEST"] = {"NAME": f"test_{DATABASES['default']['NAME']}"}
INSTALLED_APPS += ["tests.emptying"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# The suite asks more than any person: tests of the bounds set their own.
COSTLY_SECONDS = ANONYMOUS_PER_MINUTE = GUESSES_PER_MINUTE = WEBHOOKS_PER_MINUTE = 0
ACCOUNT_RATE_LIMITS = False
# What tests make lies in the system's folder for temporary files.
REPOSITORY_ROOTS = [*(REPOSITORY_ROOTS or ()), Path(tempfile.gettempdir())]
# The throwaway server is ours, although DATABASE_URL names it.
SIGN_IN_LINKS = True
