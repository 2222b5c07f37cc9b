"""viewflow: a process of ten tasks that wait for a call, which does nothing and is a transaction of its own."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import django
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from proof.bench.contenders.told import tell

STATIONS = 10


def main(dsn: str, tasks: int, at_once: int) -> None:
    told = conninfo_to_dict(dsn)
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": told["dbname"],
        "USER": told["user"],
        "PASSWORD": told["password"],
        "HOST": told["host"],
        "PORT": told["port"],
        "CONN_MAX_AGE": None,
    }
    own = "proof.bench.contenders"
    apps = ["django.contrib.auth", "django.contrib.contenttypes", "viewflow", "viewflow.workflow", own]
    settings.configure(
        DATABASES={"default": database},
        INSTALLED_APPS=apps,
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        SECRET_KEY="bench",  # of a process without requests
    )
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  # after `setup`
    from django.db import transaction  # noqa: PLC0415  # after `setup`

    call_command("migrate", verbosity=0)
    from viewflow import this  # noqa: PLC0415  # after `setup`
    from viewflow.workflow import flow, lock  # noqa: PLC0415  # after `setup`
    from viewflow.workflow.models import Process  # noqa: PLC0415  # after `setup`

    def nothing(activation):  # type: ignore[no-untyped-def]
        return None

    nodes = {"start": flow.StartHandle(nothing).Next(this.s0), "end": flow.End()}
    for number in range(STATIONS):
        after = f"s{number + 1}" if number + 1 < STATIONS else "end"
        nodes[f"s{number}"] = flow.Handle(nothing).Next(getattr(this, after))
    meta = {
        "process_class": Process,
        "lock_impl": lock.select_for_update_lock,
        "__module__": f"{own}.viewflow_moves",
    }
    made = type("Line", (flow.Flow,), {**meta, **nodes})
    # Rows name the class by its module.
    import_module(f"{own}.viewflow_moves").Line = made  # type: ignore[attr-defined]

    def drive(process: object) -> None:
        for number in range(STATIONS):
            task = process.task_set.get(flow_task=getattr(made, f"s{number}"))  # type: ignore[attr-defined]
            with transaction.atomic():
                getattr(made, f"s{number}").run(task)

    before = Process.objects.count()
    for _ in range(tasks + 1):
        made.start.run()
    warm, *processes = Process.objects.order_by("pk")[before:]
    drive(warm)
    began, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(drive, processes))
    tell(tasks * STATIONS, time.perf_counter() - began, time.process_time() - cpu)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
