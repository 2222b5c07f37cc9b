"""Every mail that the world of the recording has waiting."""

from __future__ import annotations

import asyncio

from django.core import mail
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob

from pipelines.ports.queue_tasks import MAIL
from tests.recording.folder import Folder


def record(folder: Folder) -> None:
    app.perform_import_paths()
    for job in ProcrastinateJob.objects.filter(queue_name=MAIL).order_by("id"):
        mail.outbox.clear()
        asyncio.run(app.tasks[job.task_name](**job.args))
        for message in mail.outbox:
            folder.write("mails", f"{job.id} {job.task_name}", message.message().as_string())
    for job in ProcrastinateJob.objects.order_by("id"):
        folder.write("jobs", f"{job.id} {job.task_name}", f"{job.queue_name} {job.args}")
