"""Repositories of projects, what the visits of tasks committed to them, and what was delivered (law §15)."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from pipelines.models.gates import GateVisit
from pipelines.models.people import Owner, Project
from pipelines.models.tasks import Task
from pipelines.models.work import Blob, Job

repository_name = RegexValidator(
    r"^(?!input\.)[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z",
    "Use letters, digits, “.”, “_” and “-”, beginning with a letter or a digit.",
)


class Repository(models.Model):
    """A repository that the lines of a project may work in. `credential` and `host_credential`: names of stored
    secrets. `host`: who keeps its pull or merge requests, `page` where; "" as the address says."""

    class Pushing(models.TextChoices):
        """Choices of who may publish lines that push here."""

        EXECUTE = "execute", "Designers with the permission to run code"
        ADMIN = "admin", "Administrators of the project"
        NOBODY = "nobody", "Nobody: it is only read"

    project = models.ForeignKey(Project, models.CASCADE, related_name="repositories")
    name = models.CharField(max_length=100, validators=[repository_name])
    address = models.CharField(max_length=1000)
    default_branch = models.CharField(
        max_length=200, blank=True, help_text="Empty: the one that its HEAD is on."
    )
    credential = models.CharField(max_length=64, blank=True, help_text="The name of a stored secret.")
    pushing = models.CharField(max_length=8, choices=Pushing.choices, default=Pushing.EXECUTE)
    host = models.CharField(
        max_length=20,
        blank=True,
        help_text="A key of work/hosts/table.py, or none; empty: as the address says.",
    )
    page = models.CharField(
        max_length=1000, blank=True, help_text="Its page on the host. Empty: as the address says."
    )
    host_credential = models.CharField(
        max_length=64, blank=True, help_text="The name of a stored secret. Empty: the credential of https."
    )
    host_app = models.CharField(
        max_length=64,
        blank=True,
        help_text="The client id of a GitHub App whose private key the secret is.",
    )
    hook_secret = models.CharField(
        max_length=64,
        blank=True,
        help_text="The name of the stored secret that signs what its host sends.",
    )
    # How its environment is made, see pipelines/work/spec/preparation.py
    prepare = models.JSONField(default=dict, blank=True)
    # What the last test of the connection found, see pipelines/lines/repositories.py; null: never tested.
    tested = models.JSONField(null=True, blank=True)
    tested_at = models.DateTimeField(null=True, blank=True)
    # What its files propose, see pipelines/work/spec/ecosystems.py; null: nobody looked, or it could not be read.
    proposed = models.JSONField(null=True, blank=True)
    connected_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="repository_name_in_project"),
            models.CheckConstraint(
                condition=Q(pushing__in=["execute", "admin", "nobody"]), name="repository_pushing_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_folder(self) -> bool:
        """Say whether it is a folder of the server, whose path only administrators of the installation see."""
        return self.address.startswith("/")

    @property
    def title(self) -> str:
        """Name it for everybody: never by a path of the server."""
        return self.name if self.is_folder else self.address

    @property
    def program_warning(self) -> str:
        """The warning of the last test of its connection about programs, such as a version that is missing; or ""."""
        checks = {check["check"]: check for check in self.tested or ()}
        return str(checks.get("programs", {}).get("warning", ""))

    @property
    def name_of_host_secret(self) -> str:
        """The secret for its host: where none is named, the token with which git reads it over https."""
        by_token = self.address.startswith("https://")
        return self.host_credential or (self.credential if by_token else "")


class RepositoryProtection(models.Model):
    """Approvals that are needed before anything is delivered to a repository (law §14). It stands for the place and not
    for the connection, so that whoever connects it again finds it."""

    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="protections")
    owner = models.ForeignKey(
        Owner,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="protections",
        help_text="It holds in every project of the owner, and its administrators alone change it.",
    )
    place = models.CharField(
        max_length=1000,
        blank=True,
        help_text="Host and path, however it is addressed. Empty: all of them.",
    )
    rules = models.JSONField(
        help_text="Approvals, groups and gates that are asked for, and whether two people publish."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "place"], name="protection_of_project_and_place"),
            models.UniqueConstraint(fields=["owner", "place"], name="protection_of_owner_and_place"),
            models.CheckConstraint(
                condition=Q(project__isnull=True) ^ Q(owner__isnull=True), name="protection_of_one_of_both"
            ),
        ]

    def __str__(self) -> str:
        return self.place or str(self.owner)


class AllowedFolder(models.Model):
    """A folder of this server that the projects of one owner may use as a repository: exactly this one, with its inode
    as it was when it was allowed (house §5). Devices are numbered anew when a machine starts; inodes stay."""

    class Origin(models.TextChoices):
        ADMINISTRATOR = "administrator", "Allowed by an administrator"
        PREPARED = "prepared", "Prepared by Gateline"
        CONNECTED = "connected", "Connected before permissions were kept"

    owner = models.ForeignKey(Owner, models.CASCADE, related_name="allowed_folders")
    path = models.CharField(max_length=4096)
    # Both are unsigned numbers of 64 bits, more than a bigint holds.
    device = models.DecimalField(max_digits=20, decimal_places=0)
    inode = models.DecimalField(max_digits=20, decimal_places=0)
    origin = models.CharField(max_length=16, choices=Origin.choices, default=Origin.ADMINISTRATOR)
    allowed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    allowed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "path"], name="folder_allowed_once"),
            models.CheckConstraint(
                condition=Q(origin__in=["administrator", "prepared", "connected"]), name="folder_origin_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id}: {self.path}"


class VisitCommit(models.Model):
    """The place of a task's branch after a visit of a station that works in a repository: `head` has `tree`, on top
    of `base`. `pack`: the objects that the visit added to those of the visits before."""

    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="visit_commit")
    task = models.ForeignKey(Task, models.CASCADE, related_name="visit_commits")
    repository = models.ForeignKey(Repository, models.SET_NULL, null=True, related_name="+")
    repository_name = models.CharField(max_length=100)
    branch = models.CharField(max_length=200)
    base_branch = models.CharField(max_length=200)
    base = models.CharField(max_length=64)
    head = models.CharField(max_length=64)
    tree = models.CharField(max_length=64)
    pack = models.ForeignKey(Blob, models.PROTECT, null=True, related_name="+")
    before = models.JSONField(
        default=dict, help_text="{path: its entry at the base, or null} of what changed since the base."
    )
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.branch} at {self.head[:7]}"


class Delivery(models.Model):
    """The push for which a `deliver` station was cleared, under the lock of its task: exactly this tree. `landed_at`:
    when it was seen on the remote."""

    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="delivery")
    task = models.ForeignKey(Task, models.CASCADE, related_name="deliveries")
    repository = models.ForeignKey(Repository, models.SET_NULL, null=True, related_name="+")
    repository_name = models.CharField(max_length=100)
    visit = models.ForeignKey(
        GateVisit, models.PROTECT, null=True, related_name="+", help_text="Where it was approved."
    )
    to = models.CharField(max_length=8, help_text="merge, request or push")
    branch = models.CharField(max_length=200, help_text="That was pushed to.")
    base = models.CharField(max_length=64)
    tree = models.CharField(max_length=64)
    commit = models.CharField(max_length=64, blank=True)
    moved = models.BooleanField(default=False, help_text="The branch stood elsewhere.")
    moved_to = models.CharField(max_length=64, blank=True, help_text="Where it stood.")
    approved = models.CharField(
        max_length=64,
        blank=True,
        help_text="What people approved, where the tree is that change on a moved base.",
    )
    kept_tree = models.CharField(
        max_length=64,
        blank=True,
        help_text="What the approved change makes of that, where it is the same change; see law §15.",
    )
    way = models.CharField(
        max_length=5,
        blank=True,
        help_text="merge or queue: the host merges it. Empty: Gateline pushes it.",
    )
    head = models.CharField(
        max_length=64, blank=True, help_text="What the host merges: the commit of the task’s branch."
    )
    at_host = models.BooleanField(default=False, help_text="The host has it in its queue.")
    landed_tree = models.CharField(
        max_length=64,
        blank=True,
        help_text="The files that landed, where the host merged them with those of others.",
    )
    people = models.JSONField(
        null=True,
        blank=True,
        help_text="{requester, producers, protection} as it was cleared; null before that was kept.",
    )
    cleared_at = models.DateTimeField()
    landed_at = models.DateTimeField(null=True, blank=True)
    request = models.JSONField(
        null=True, blank=True, help_text="{host, number, sign, url} of the request that is open for it."
    )

    class Meta:
        # Whoever holds a commit asks for its receipt
        indexes = (models.Index(fields=["commit"], name="delivery_commit"),)
        constraints = [
            models.CheckConstraint(
                condition=Q(landed_at__isnull=True) | ~Q(commit=""), name="what_landed_has_a_commit"
            )
        ]

    def __str__(self) -> str:
        return f"{self.to} to {self.branch}"


class BranchPush(models.Model):
    """Somebody pushed to the branch of a task, which is a visit of theirs (law §15): `job` takes it in. `people`: the
    members that this is or may be, who may not decide about it; none where nobody of them could be told."""

    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="branch_push")
    task = models.ForeignKey(Task, models.CASCADE, related_name="branch_pushes")
    commit = models.CharField(max_length=64)
    who = models.CharField(max_length=200, help_text="As the host or the commits name them.")
    people = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+")
    by_host = models.BooleanField(default=False, help_text="The host named them, and not the commits alone.")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "commit"], name="a_pushed_commit_is_one_visit")
        ]

    def __str__(self) -> str:
        return f"{self.who}: {self.commit[:7]}"
