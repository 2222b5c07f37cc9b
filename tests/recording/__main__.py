"""Record: `python -m tests.recording FOLDER`."""

from __future__ import annotations

import logging
import os
import sys
from datetime import timedelta
from pathlib import Path

from tests.recording.fixed import CHANCE, CLOCK, fix

fix()
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
# The folder of the state has another in each checkout, and links are signed with it.
os.environ["SECRET_KEY"] = "recording"

import django

django.setup()

from django.test.utils import setup_test_environment

from tests.access.place import Place
from tests.factories import make_world
from tests.fixtures import template
from tests.recording import commands, mails, pages
from tests.recording.folder import Folder


def main(path: str) -> None:
    folder = Folder(Path(path))
    setup_test_environment()
    logging.disable()  # of each answer that is an error
    name = template.own_name("recording")
    template.copy_to(name)
    try:
        CLOCK.into_database()
        CHANCE.seed("world")
        place = Place(make_world())
        people = pages.sign_in(place)
        CLOCK.set(timedelta(hours=1))
        commands.record(folder)
        mails.record(folder)
        CLOCK.set(timedelta(hours=2))
        pages.record(folder, place, people)
    finally:
        template.drop(name)
    print(f"{folder.number} files in {path}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name the folder to record to: python -m tests.recording FOLDER")
    main(sys.argv[1])
