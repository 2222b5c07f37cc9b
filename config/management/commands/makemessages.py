"""manage.py makemessages: Django's, which knows where texts of this project stand. It needs GNU gettext.

manage.py makemessages -l de                 the texts of Python and templates
manage.py makemessages -l de -d djangojs     those of the scripts
"""

from __future__ import annotations

from typing import Any

from django.core.management.commands import makemessages

# What is installed or built, and what nobody reads who uses the product.
IGNORED = ("node_modules", "static/dist", "tests", "proof", "*.test.ts", "*.test.tsx")
SCRIPTS = ["ts", "tsx"]


class Command(makemessages.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        options["ignore_patterns"] = [*options["ignore_patterns"], *IGNORED]
        if options["domain"] == "djangojs":
            options["extensions"] = options["extensions"] or SCRIPTS
        super().handle(*args, **options)
