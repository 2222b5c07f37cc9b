"""People: the name space Owner › Project, its members, their credentials and absences, and what administrators did."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import time

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q

slug = RegexValidator(
    r"^[a-z0-9][a-z0-9_.-]{0,63}\Z",
    "Use a–z, 0–9, “_”, “.” and “-”, at most 64 characters.",
)


class Role(models.TextChoices):
    """Roles of a project. A member holds a set of them; `included_roles` says what it comes to."""

    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    DESIGNER = "designer", "Designer"
    REVIEWER = "reviewer", "Reviewer"
    ADMIN = "admin", "Admin"


# What a role includes besides itself. Designer and reviewer include each other in neither direction (house §5).
INCLUDED: dict[str, frozenset[str]] = {
    Role.VIEWER: frozenset(),
    Role.OPERATOR: frozenset({Role.VIEWER}),
    Role.DESIGNER: frozenset({Role.VIEWER, Role.OPERATOR}),
    Role.REVIEWER: frozenset({Role.VIEWER, Role.OPERATOR}),
    Role.ADMIN: frozenset({Role.VIEWER, Role.OPERATOR, Role.DESIGNER, Role.REVIEWER}),
}


def included_roles(roles: Iterable[str]) -> frozenset[str]:
    """Every role that this set gives: its members and what they include. An unknown one gives nothing."""
    known = [role for role in roles if role in INCLUDED]
    return frozenset(str(role) for role in known).union(*(INCLUDED[role] for role in known))


def smallest_equal_roles(roles: Iterable[str]) -> list[str]:
    """The smallest set that gives the same, in the order of `Role`."""
    role_set = set(roles)
    return [
        role
        for role in Role.values
        if role in role_set and not any(role in INCLUDED[other] for other in role_set)
    ]


def roles_granting(role: str) -> list[str]:
    """The roles each of which gives this one."""
    return [candidate for candidate in Role.values if role in included_roles([candidate])]


class User(AbstractUser):
    """A person, with the settings of the screen that the server needs to know."""

    class Theme(models.TextChoices):
        SYSTEM = "system", "System"
        LIGHT = "light", "Light"
        DARK = "dark", "Dark"

    class Density(models.TextChoices):
        COMFORTABLE = "comfortable", "Comfortable"
        COMPACT = "compact", "Compact"

    theme = models.CharField(max_length=8, choices=Theme.choices, default=Theme.SYSTEM)
    density = models.CharField(max_length=12, choices=Density.choices, default=Density.COMFORTABLE)
    time_zone = models.CharField(max_length=64, default="UTC")
    letter_shortcuts = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.get_full_name() or self.username


class Owner(models.Model):
    key = models.CharField(max_length=64, unique=True, validators=[slug])
    name = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.key


def monday_to_friday() -> list[int]:
    return [1, 2, 3, 4, 5]


class Project(models.Model):
    owner = models.ForeignKey(Owner, models.PROTECT, related_name="projects")
    key = models.CharField(max_length=64, validators=[slug])
    name = models.CharField(max_length=200)
    archived_at = models.DateTimeField(null=True, blank=True)
    second_factor = models.BooleanField(default=False, help_text="Every member has to have a second factor.")
    month_cost_usd = models.DecimalField(
        null=True,
        blank=True,
        max_digits=12,
        decimal_places=2,
        help_text="What the runs of a calendar month may cost together, in US dollars.",
    )
    day_cost_usd = models.DecimalField(
        null=True,
        blank=True,
        max_digits=12,
        decimal_places=2,
        help_text="When the runs of a day have cost so much, no task starts on it any more.",
    )
    day_tasks = models.PositiveIntegerField(
        null=True, blank=True, help_text="So many tasks may start on a day (UTC)."
    )
    month_tasks = models.PositiveIntegerField(
        null=True, blank=True, help_text="So many tasks may start in a calendar month (UTC)."
    )
    file_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Days after its end for which logs and files of a task are kept; empty: for ever.",
    )
    record_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Days after its end until a task is purged; empty: never.",
    )
    left_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When a member last left, was removed or was deactivated. The database writes it.",
    )
    # Working time: what due times of gates count that say `business: true` (law §6).
    time_zone = models.CharField(max_length=64, default="UTC", help_text="Of its working time.")
    work_days = ArrayField(
        models.PositiveSmallIntegerField(), default=monday_to_friday, help_text="1 is Monday, 7 is Sunday."
    )
    work_from = models.TimeField(default=time(9))
    work_until = models.TimeField(default=time(17), help_text="00:00 is the end of the day.")
    days_off = ArrayField(models.DateField(), default=list, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="project_key_in_owner")]

    def __str__(self) -> str:
        return f"{self.owner.key}/{self.key}"


class TaskCounter(models.Model):
    """The last task number of a project: a narrow row, locked before any task row (house §2)."""

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="task_counter")
    last = models.PositiveBigIntegerField(default=0)


class Group(models.Model):
    """People of one project that a gate can ask for by one name."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="groups")
    key = models.CharField(max_length=64, validators=[slug])
    name = models.CharField(max_length=200)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="gate_groups", blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="group_key_in_project")]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    roles = ArrayField(models.CharField(max_length=10, choices=Role.choices))
    provider_roles = ArrayField(
        models.CharField(max_length=10, choices=Role.choices),
        default=list,
        blank=True,
        help_text="Which of them the groups of a sign-in provider gave, and take again.",
    )
    execute = models.BooleanField(
        default=False,
        help_text="May publish stations that run code on a worker (house §5).",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_membership_per_project"),
            models.CheckConstraint(
                condition=Q(roles__contained_by=Role.values) & Q(roles__len__gt=0),
                name="membership_roles_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {', '.join(self.roles)} · {self.project}"

    @property
    def form_id(self) -> str:
        return f"member-{self.pk}"

    @property
    def roles_display(self) -> str:
        return ", ".join(str(Role(role).label) for role in self.roles)


class ApiToken(models.Model):
    """A bearer token, shown once and stored as SHA-256. A person's token acts as that person within its scopes; a
    machine's acts for a project with a role and can never decide a gate; a runner's does the work of a project's
    stations and opens nothing else (law §15)."""

    class TokenKind(models.TextChoices):
        PERSON = "person", "Person"
        MACHINE = "machine", "Machine"
        RUNNER = "runner", "Runner"

    class Scope(models.TextChoices):
        READ = "read", "Read"
        SUBMIT = "submit", "Start tasks"
        REPORT = "report", "Report on jobs"
        DECIDE = "decide", "Decide gates"
        DESIGN = "design", "Change lines"
        SETTINGS = "settings", "Change projects, secrets and variables"

    # What a machine's token never has.
    PERSONAL = frozenset({Scope.DECIDE, Scope.SETTINGS})

    kind = models.CharField(max_length=8, choices=TokenKind.choices)
    name = models.CharField(max_length=100)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="api_tokens",
    )
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="api_tokens")
    role = models.CharField(max_length=10, choices=Role.choices, blank=True)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope.choices), default=list)
    # Of a runner: the labels that it may have, and since when it gets no new work.
    labels = ArrayField(models.CharField(max_length=64), default=list)
    drained_at = models.DateTimeField(null=True, blank=True)
    only_job = models.ForeignKey(
        "pipelines.Job",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="Of a runner that was started for one job: it gets no other.",
    )
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="api_tokens_made",
    )
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="person", user__isnull=False)
                | (Q(kind="machine", user__isnull=True, project__isnull=False) & ~Q(role=""))
                | Q(kind="runner", user__isnull=True, project__isnull=False, role="", scopes=[]),
                name="api_token_has_its_bearer",
            ),
            models.CheckConstraint(
                condition=Q(kind="person") | ~Q(scopes__contains=["decide"]),
                name="machine_never_decides",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class SignInLink(models.Model):
    """A one-time sign-in link: loopback only, ten minutes, single use, redeemed by POST (house §5)."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="sign_in_links")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)


# The record of administrative acts. Append-only: the database refuses to alter or delete a row (migration
# 0031).


class AdministrativeAct(models.Model):
    """Record of who changed what about people, their permissions or their credentials."""

    at = models.DateTimeField()
    actor = models.CharField(max_length=200, help_text="person:7, or command for the shell")
    kind = models.CharField(max_length=40, help_text="A key of pipelines.ports.audit.KINDS.")
    project = models.ForeignKey(
        Project, models.PROTECT, null=True, related_name="acts", help_text="Empty: of the installation."
    )
    about = models.CharField(max_length=200, blank=True, help_text="person:7, group:3, token:12 …")
    name = models.CharField(max_length=300, blank=True, help_text="What it was called at that time.")
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["project", "-id"], name="act_of_project"),
            models.Index(fields=["about", "-id"], name="act_about"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor} {self.kind} {self.name}"


# Absences of people, and who stands in for them at gates.


class Absence(models.Model):
    """Absence of a person until a time; another may decide in their place (law §6, Absence). `project`: None
    for every project; an absence of one project counts there instead."""

    user = models.ForeignKey(
        # No index of its own: the unique constraint begins with it.
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="absences",
        db_index=False,
    )
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="absences")
    stand_in = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="stands_in_for")
    until = models.DateTimeField(help_text="From then on it counts no more.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                # Nulls are alike, so that there is one absence for every project, too.
                fields=["user", "project"],
                name="one_absence_per_project",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=~Q(user=F("stand_in")), name="nobody_stands_in_for_themselves"),
        ]

    def __str__(self) -> str:
        return f"{self.user} → {self.stand_in}"


# Requests of people who are not signed in, by address and minute (pipelines/web/shell/rate_limits.py).


class AddressMinute(models.Model):
    """Retention for minutes, in a table that is not logged: lost in a crash, and nothing is lost with it."""

    address = models.CharField(max_length=64)
    minute = models.DateTimeField()
    requests = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["address", "minute"], name="one_count_a_minute")]
        indexes = [models.Index(fields=["minute"], name="address_minutes")]
