"""Uploads of runners on other machines before they report (law §15)."""

from __future__ import annotations

from django.db import models

from pipelines.models.work import Blob, Job


class RunnerUpload(models.Model):
    """Bytes that a runner sent for a job under this lease: it may name no others as what its work left."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="runner_uploads")
    lease = models.UUIDField()
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "lease", "blob"], name="one_runner_upload_of_a_blob")
        ]


class UploadAddress(models.Model):
    """A signed address that a runner got for one file of a job. The row goes once the file is known by its digest; else
    what came there is removed by it."""

    # Without its job the row still says what has to be removed
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="upload_addresses")
    lease = models.UUIDField()
    digest = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    name = models.CharField(max_length=300, help_text="Name in the artifact storage.")
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "lease", "digest"], name="one_upload_address_of_a_file")
        ]


class RunnerResult(models.Model):
    """Facts of a runner's report, which the server determined from the files that the runner stored for a job
    (law §13)."""

    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="runner_result")
    lease = models.UUIDField()
    facts = models.JSONField(default=dict, help_text="{git: …}, as computed from what was uploaded.")
    before = models.CharField(max_length=64, help_text="The files before the work: a digest or tree.")
    tree = models.CharField(max_length=64, help_text="The files after it.")
    at = models.DateTimeField()
