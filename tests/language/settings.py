"""Settings of a web process in the bracketed language (messages.py beside this), whose folder the test names."""

from __future__ import annotations

import os
from pathlib import Path

from config.settings import *

LANGUAGE_CODE, LANGUAGES = "en-xa", [("en-xa", "Brackets")]
LOCALE_PATHS = [Path(os.environ["BRACKETS"])]
