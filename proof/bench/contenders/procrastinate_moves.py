"""Procrastinate: as many jobs that do nothing as a line of ten stations has moves; each is fetched and finished."""

from __future__ import annotations

import asyncio
import sys
import time

from procrastinate import App, PsycopgConnector

from proof.bench.contenders.told import tell

STATIONS = 10


async def main(dsn: str, tasks: int, at_once: int) -> None:
    app = App(connector=PsycopgConnector(conninfo=dsn, max_size=at_once))

    @app.task(name="nothing")
    async def nothing(number: int) -> None:
        return None

    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
        jobs = tasks * STATIONS
        await nothing.batch_defer_async(*({"number": number} for number in range(jobs)))
        began, cpu = time.perf_counter(), time.process_time()
        await app.run_worker_async(wait=False, concurrency=at_once, install_signal_handlers=False)
        tell(jobs, time.perf_counter() - began, time.process_time() - cpu)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
