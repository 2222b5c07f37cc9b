"""All tables of lines, tasks and people: `schema.sql` makes them in the database, the operations tell Django's models of them."""

import datetime
import uuid
from pathlib import Path

import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.fields.json
import django.db.models.functions.comparison
import django.db.models.lookups
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pipelines.models.invitations
import pipelines.models.people

SCHEMA = Path(__file__).with_name("schema.sql")
REPLACED = [
    "0001_initial",
    "0002_guards",
    "0003_leaner_indexes",
    "0004_feedback_is_the_jobs",
    "0005_scenarios",
    "0006_migrations",
    "0007_record_of_lines",
    "0008_comment",
    "0009_due_times",
    "0010_questions",
    "0011_asked",
    "0012_joined_tokens",
    "0013_failures",
    "0014_escalations",
    "0015_follow_ups",
    "0016_jobs_that_wait",
    "0017_agents",
    "0018_unreadable",
    "0019_deadlocks",
    "0020_handoffs",
    "0021_recorded_answers",
    "0022_roles_are_a_set",
    "0023_retries",
    "0024_revision_of_the_law",
    "0025_anonymous_requests",
    "0026_lost_dependencies",
    "0027_offers_of_workers",
    "0028_uploads",
    "0029_worker_no_space",
    "0030_held_is_on_hold",
    "0031_people_move_in",
    "0032_shared_cache",
    "0033_provider_roles",
    "0034_stored_values",
    "0035_settings_scope",
    "0036_archived",
    "0037_upload_content",
    "0038_second_factor",
    "0040_repositories",
    "0060_changes",
    "0061_commit_before",
    "0070_agents_of_workers",
    "0080_hosts",
    "0081_issues",
    "0082_cost_index",
    "0085_month_cost",
    "0090_runners",
    "0095_lists_of_hosts",
    "0096_prepare",
    "0100_branch_pushes",
    "0101_looks_again",
    "0102_same_patch",
    "0103_merged_by_host",
    "0104_branches_have_a_status",
    "0105_push_named_by_host",
    "0110_gates_fields_and_samples",
    "0111_absences",
    "0120_inbox_lists",
    "0121_repository_proposed",
    "0122_indexes_of_time",
    "0137_working_time",
    "0140_last_job_of_runner",
    "0150_task_newest",
    "0151_open_visits_covered",
    "0152_visits_over_by_time",
    "0153_station_trials",
    "0154_insights_by_version",
    "0155_task_text",
    "0156_task_text_index",
    "0157_notices_not_sent",
    "0158_revision_of_a_version",
    "0159_claimable_jobs",
    "0160_allowed_folders",
    "0161_protection",
    "0162_requesters",
    "0172_left_at",
    "0173_publish_requests",
    "0175_opened_files",
    "0176_programs_of_workers",
    "0177_health_breaches",
    "0178_deadlock_escalation",
    "0179_escalation_role",
]
"""The single steps of before: a database that has all of them goes on from here."""

MODELS = [
    migrations.CreateModel(
        name="Blob",
        fields=[
            (
                "digest",
                models.CharField(help_text="SHA-256, hex.", max_length=64, primary_key=True, serialize=False),
            ),
            ("size", models.PositiveBigIntegerField()),
            ("name", models.CharField(help_text="Name in the artifact storage.", max_length=300)),
            ("created_at", models.DateTimeField()),
        ],
    ),
    migrations.CreateModel(
        name="Owner",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "key",
                models.CharField(
                    max_length=64,
                    unique=True,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^[a-z0-9][a-z0-9_.-]{0,63}\\Z",
                            "Use a–z, 0–9, “_”, “.” and “-”, at most 64 characters.",
                        )
                    ],
                ),
            ),
            ("name", models.CharField(max_length=200)),
        ],
    ),
    migrations.CreateModel(
        name="Project",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "key",
                models.CharField(
                    max_length=64,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^[a-z0-9][a-z0-9_.-]{0,63}\\Z",
                            "Use a–z, 0–9, “_”, “.” and “-”, at most 64 characters.",
                        )
                    ],
                ),
            ),
            ("name", models.CharField(max_length=200)),
            (
                "owner",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="projects", to="pipelines.owner"
                ),
            ),
            ("archived_at", models.DateTimeField(blank=True, null=True)),
            (
                "second_factor",
                models.BooleanField(default=False, help_text="Every member has to have a second factor."),
            ),
            (
                "month_cost_usd",
                models.DecimalField(
                    blank=True,
                    decimal_places=2,
                    help_text="What the runs of a calendar month may cost together, in US dollars.",
                    max_digits=12,
                    null=True,
                ),
            ),
            ("time_zone", models.CharField(default="UTC", help_text="Of its working time.", max_length=64)),
            (
                "work_days",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.PositiveSmallIntegerField(),
                    default=pipelines.models.people.monday_to_friday,
                    help_text="1 is Monday, 7 is Sunday.",
                    size=None,
                ),
            ),
            ("work_from", models.TimeField(default=datetime.time(9, 0))),
            (
                "work_until",
                models.TimeField(default=datetime.time(17, 0), help_text="00:00 is the end of the day."),
            ),
            (
                "days_off",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.DateField(), blank=True, default=list, size=None
                ),
            ),
            (
                "left_at",
                models.DateTimeField(
                    blank=True,
                    editable=False,
                    help_text="When a member last left, was removed or was deactivated. The database writes it.",
                    null=True,
                ),
            ),
        ],
        options={
            "constraints": [models.UniqueConstraint(fields=("owner", "key"), name="project_key_in_owner")],
        },
    ),
    migrations.CreateModel(
        name="Worker",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("name", models.CharField(max_length=200)),
            ("host", models.CharField(max_length=200)),
            ("pid", models.PositiveIntegerField()),
            ("labels", models.JSONField(default=list)),
            (
                "isolation",
                models.CharField(help_text="What separates stations here, or “none”.", max_length=40),
            ),
            ("started_at", models.DateTimeField()),
            ("seen_at", models.DateTimeField()),
            ("stopping", models.BooleanField(default=False)),
            ("stopped_at", models.DateTimeField(blank=True, null=True)),
            ("answers", models.JSONField(default=list)),
            (
                "owners",
                models.JSONField(blank=True, help_text="Keys of those it serves; null: all.", null=True),
            ),
            (
                "offers",
                models.JSONField(
                    blank=True, help_text="What it has of what stations need; null: everything.", null=True
                ),
            ),
            (
                "cuts_network",
                models.BooleanField(
                    default=False, help_text="Whether a station without the network is kept from it here."
                ),
            ),
            ("no_space", models.BooleanField(default=False)),
            (
                "agents",
                models.JSONField(
                    default=dict,
                    help_text="{agent: {path, version, seconds}} of the coding agents that are installed here.",
                ),
            ),
            (
                "limits_hosts",
                models.BooleanField(
                    default=False, help_text="Whether a station with a list of hosts is kept to it here."
                ),
            ),
            ("concurrency", models.PositiveIntegerField(default=0)),
            (
                "machine",
                models.JSONField(
                    default=dict, help_text="{os, arch, python, git, version} as it says itself."
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="runners",
                    to="pipelines.project",
                ),
            ),
            (
                "token",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="runners",
                    to="pipelines.apitoken",
                ),
            ),
            (
                "last_job",
                models.BigIntegerField(
                    blank=True,
                    help_text="Of a runner of ALP, whose reports name none: the job it got last.",
                    null=True,
                ),
            ),
            (
                "programs",
                models.JSONField(
                    blank=True,
                    help_text="Tools of repositories on the path of stations; null: it did not say.",
                    null=True,
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="User",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("password", models.CharField(max_length=128, verbose_name="password")),
            ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
            (
                "is_superuser",
                models.BooleanField(
                    default=False,
                    help_text="Designates that this user has all permissions without explicitly assigning them.",
                    verbose_name="superuser status",
                ),
            ),
            (
                "username",
                models.CharField(
                    error_messages={"unique": "A user with that username already exists."},
                    help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                    max_length=150,
                    unique=True,
                    validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                    verbose_name="username",
                ),
            ),
            ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
            ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
            ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
            (
                "is_staff",
                models.BooleanField(
                    default=False,
                    help_text="Designates whether the user can log into this admin site.",
                    verbose_name="staff status",
                ),
            ),
            (
                "is_active",
                models.BooleanField(
                    default=True,
                    help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                    verbose_name="active",
                ),
            ),
            (
                "date_joined",
                models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined"),
            ),
            (
                "theme",
                models.CharField(
                    choices=[("system", "System"), ("light", "Light"), ("dark", "Dark")],
                    default="system",
                    max_length=8,
                ),
            ),
            (
                "density",
                models.CharField(
                    choices=[("comfortable", "Comfortable"), ("compact", "Compact")],
                    default="comfortable",
                    max_length=12,
                ),
            ),
            ("time_zone", models.CharField(default="UTC", max_length=64)),
            ("letter_shortcuts", models.BooleanField(default=True)),
            (
                "groups",
                models.ManyToManyField(
                    blank=True,
                    help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                    related_name="user_set",
                    related_query_name="user",
                    to="auth.group",
                    verbose_name="groups",
                ),
            ),
            (
                "user_permissions",
                models.ManyToManyField(
                    blank=True,
                    help_text="Specific permissions for this user.",
                    related_name="user_set",
                    related_query_name="user",
                    to="auth.permission",
                    verbose_name="user permissions",
                ),
            ),
        ],
        options={
            "verbose_name": "user",
            "verbose_name_plural": "users",
            "abstract": False,
        },
        managers=[
            ("objects", django.contrib.auth.models.UserManager()),
        ],
    ),
    migrations.CreateModel(
        name="Line",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "key",
                models.CharField(
                    max_length=64,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^[a-z0-9][a-z0-9_.-]{0,63}\\Z",
                            "Use a–z, 0–9, “_”, “.” and “-”, at most 64 characters.",
                        )
                    ],
                ),
            ),
            ("name", models.CharField(max_length=200)),
            ("draft", models.JSONField(default=dict)),
            (
                "draft_text",
                models.TextField(
                    blank=True,
                    help_text="The draft as it was typed, comments included; empty if made elsewhere.",
                ),
            ),
            ("draft_number", models.PositiveIntegerField(default=1)),
            ("draft_at", models.DateTimeField(blank=True, null=True)),
            ("created_at", models.DateTimeField()),
            (
                "draft_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "live",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.lineversion",
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="lines", to="pipelines.project"
                ),
            ),
            (
                "draft_hands",
                models.JSONField(
                    blank=True,
                    default=dict,
                    help_text="Who changed what since it was published: see pipelines/formats/authorship.py",
                ),
            ),
            ("archived_at", models.DateTimeField(blank=True, null=True)),
            (
                "draft_writers",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.BigIntegerField(),
                    blank=True,
                    default=list,
                    help_text="Ids of who saved the draft since the line was published.",
                    size=None,
                ),
            ),
        ],
        options={
            "constraints": [models.UniqueConstraint(fields=("project", "key"), name="line_key_in_project")],
        },
    ),
    migrations.CreateModel(
        name="LineVersion",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("number", models.PositiveIntegerField()),
            ("document", models.JSONField()),
            ("digest", models.CharField(max_length=64)),
            ("law", models.PositiveSmallIntegerField(default=1)),
            ("name", models.CharField(blank=True, max_length=200)),
            ("published_at", models.DateTimeField()),
            (
                "line",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="versions", to="pipelines.line"
                ),
            ),
            (
                "published_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "revision",
                models.PositiveSmallIntegerField(
                    default=3, help_text="Of the law under which it was published, and is read ever after."
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("line", "number"), name="version_number_in_line"),
                models.CheckConstraint(condition=models.Q(("law__gte", 1)), name="version_has_a_law"),
            ],
        },
    ),
    migrations.CreateModel(
        name="Job",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("station", models.CharField(max_length=64)),
            ("kind", models.CharField(max_length=32)),
            ("visit", models.PositiveIntegerField(help_text="Entry of this task into this station, from 1.")),
            (
                "state",
                models.CharField(
                    choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done")],
                    default="queued",
                    max_length=8,
                ),
            ),
            ("attempt", models.PositiveIntegerField(default=1)),
            ("feedback", models.TextField(blank=True)),
            ("lease_key", models.UUIDField(blank=True, null=True)),
            (
                "outcome",
                models.JSONField(blank=True, help_text="As recorded, untouched (law §5).", null=True),
            ),
            ("result", models.CharField(blank=True, max_length=10)),
            ("exit_code", models.IntegerField(blank=True, null=True)),
            ("summary", models.TextField(blank=True)),
            ("report_digest", models.CharField(blank=True, max_length=64)),
            ("report_answer", models.JSONField(blank=True, null=True)),
            ("reported_by", models.CharField(blank=True, max_length=200)),
            ("created_at", models.DateTimeField()),
            ("started_at", models.DateTimeField(blank=True, null=True)),
            ("ended_at", models.DateTimeField(blank=True, null=True)),
            (
                "pinned",
                models.ForeignKey(
                    db_index=False,
                    help_text="Judged under it.",
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.lineversion",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="jobs",
                    to="pipelines.task",
                ),
            ),
            (
                "token",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="jobs", to="pipelines.token"
                ),
            ),
            (
                "worker",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="jobs",
                    to="pipelines.worker",
                ),
            ),
            (
                "mapping",
                models.JSONField(default=dict, help_text="{old station: new station}, for its next move."),
            ),
            (
                "purpose",
                models.CharField(
                    choices=[
                        ("station", "Station"),
                        ("evaluation", "Evaluation"),
                        ("check", "Check of a gate"),
                    ],
                    default="station",
                    max_length=10,
                ),
            ),
            ("question", models.JSONField(blank=True, help_text="As the decision asks it.", null=True)),
            ("question_digest", models.CharField(blank=True, max_length=64)),
            ("asked", models.TextField(blank=True, help_text="The question that the feedback answers.")),
            ("agent", models.CharField(blank=True, default="", max_length=64)),
            (
                "not_before",
                models.DateTimeField(
                    blank=True,
                    help_text="It looked, and looks again then: no worker waits with it.",
                    null=True,
                ),
            ),
            (
                "rank",
                models.PositiveSmallIntegerField(
                    db_default=1, default=1, help_text="0 high, 1 medium, 2 low."
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(
                    condition=models.Q(("state", "done"), _negated=True),
                    fields=["state", "id"],
                    name="job_open",
                ),
                models.Index(
                    condition=models.Q(
                        models.Q(("state", "done"), _negated=True), models.Q(("agent", ""), _negated=True)
                    ),
                    fields=["agent"],
                    name="job_of_agent",
                ),
                models.Index(
                    condition=models.Q(
                        django.db.models.lookups.IsNull(
                            django.db.models.fields.json.KeyTransform(
                                "usage", django.db.models.fields.json.KeyTransform("facts", "outcome")
                            ),
                            rhs=False,
                        )
                    ),
                    fields=["ended_at"],
                    name="job_of_cost",
                ),
                models.Index(
                    condition=models.Q(("state", "done")),
                    fields=["pinned", "created_at"],
                    include=("id", "station", "kind", "purpose", "started_at", "ended_at"),
                    name="job_of_version",
                ),
                models.Index(
                    condition=models.Q(("state", "queued")),
                    fields=["pinned", "station", "purpose", "kind", "rank", "created_at", "id"],
                    name="job_queued",
                ),
            ],
            "constraints": [
                models.UniqueConstraint(
                    condition=models.Q(("state", "done"), _negated=True),
                    fields=("token",),
                    name="one_open_job_per_token",
                ),
                models.CheckConstraint(
                    condition=models.Q(("state__in", ["queued", "running", "done"])), name="job_state_known"
                ),
                models.CheckConstraint(
                    condition=models.Q(("attempt__gte", 1), ("visit__gte", 1)), name="job_counts_from_one"
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("ended_at__isnull", False), ("outcome__isnull", False), ("state", "done")),
                        models.Q(
                            models.Q(("state", "done"), _negated=True),
                            ("ended_at__isnull", True),
                            ("outcome__isnull", True),
                        ),
                        _connector="OR",
                    ),
                    name="a_done_job_has_an_outcome",
                ),
                models.UniqueConstraint(
                    condition=models.Q(("purpose", "station")),
                    fields=("task", "station", "visit"),
                    name="one_job_per_visit",
                ),
                models.UniqueConstraint(
                    condition=models.Q(
                        models.Q(("purpose", "station"), _negated=True),
                        models.Q(("result", "cancelled"), _negated=True),
                    ),
                    fields=("token", "visit", "question_digest"),
                    name="a_question_is_asked_once",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("purpose", "station"), ("question__isnull", True)),
                        models.Q(
                            ("purpose__in", ["evaluation", "check"]),
                            ("question__isnull", False),
                            models.Q(("question_digest", ""), _negated=True),
                        ),
                        _connector="OR",
                    ),
                    name="a_question_says_what_it_asks",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("state", "running"), _negated=True),
                        ("lease_key__isnull", False),
                        ("kind__in", ["manual", "wait"]),
                        _connector="OR",
                    ),
                    name="a_running_job_has_a_lease",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Decision",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("token_id", models.BigIntegerField()),
            ("job_id", models.BigIntegerField()),
            ("cause", models.CharField(max_length=120)),
            ("station", models.CharField(max_length=64)),
            ("situation", models.JSONField(help_text="Input of the decision tool.")),
            ("answer", models.JSONField(help_text="Output of the decision tool, without its trace.")),
            ("trace", models.JSONField()),
            ("micros", models.PositiveIntegerField(help_text="Time that deciding took, in µs.")),
            ("at", models.DateTimeField()),
            (
                "pinned",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.lineversion",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="decisions",
                    to="pipelines.task",
                ),
            ),
            (
                "revision",
                models.PositiveSmallIntegerField(
                    help_text="Of the law under which it was decided; invariants recompute those of the current one."
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(fields=["task", "at"], name="decision_by_task"),
                models.Index(
                    fields=["pinned", "at"],
                    include=("id", "station", "job_id", "task"),
                    name="decision_of_version",
                ),
            ],
            "constraints": [models.UniqueConstraint(fields=("task", "cause"), name="one_decision_per_cause")],
        },
    ),
    migrations.CreateModel(
        name="LogChunk",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("attempt", models.PositiveIntegerField()),
            ("number", models.PositiveIntegerField()),
            ("position", models.PositiveBigIntegerField()),
            ("lines_before", models.PositiveBigIntegerField(default=0)),
            (
                "data",
                models.BinaryField(help_text="zlib of UTF-8 text: whole lines, each “seconds<TAB>text”."),
            ),
            ("at", models.DateTimeField()),
            (
                "job",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="log", to="pipelines.job"
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("job", "attempt", "number"), name="log_chunk_in_order")
            ],
        },
    ),
    migrations.CreateModel(
        name="TaskCounter",
        fields=[
            (
                "project",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    primary_key=True,
                    related_name="task_counter",
                    serialize=False,
                    to="pipelines.project",
                ),
            ),
            ("last", models.PositiveBigIntegerField(default=0)),
        ],
    ),
    migrations.CreateModel(
        name="Membership",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "execute",
                models.BooleanField(
                    default=False, help_text="May publish stations that run code on a worker (house §5)."
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="memberships",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="memberships",
                    to="pipelines.project",
                ),
            ),
            (
                "roles",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("operator", "Operator"),
                            ("designer", "Designer"),
                            ("reviewer", "Reviewer"),
                            ("admin", "Admin"),
                        ],
                        max_length=10,
                    ),
                    size=None,
                ),
            ),
            (
                "provider_roles",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("operator", "Operator"),
                            ("designer", "Designer"),
                            ("reviewer", "Reviewer"),
                            ("admin", "Admin"),
                        ],
                        max_length=10,
                    ),
                    blank=True,
                    default=list,
                    help_text="Which of them the groups of a sign-in provider gave, and take again.",
                    size=None,
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("project", "user"), name="one_membership_per_project"),
                models.CheckConstraint(
                    condition=models.Q(
                        ("roles__contained_by", ["viewer", "operator", "designer", "reviewer", "admin"]),
                        ("roles__len__gt", 0),
                    ),
                    name="membership_roles_known",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Group",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "key",
                models.CharField(
                    max_length=64,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^[a-z0-9][a-z0-9_.-]{0,63}\\Z",
                            "Use a–z, 0–9, “_”, “.” and “-”, at most 64 characters.",
                        )
                    ],
                ),
            ),
            ("name", models.CharField(max_length=200)),
            (
                "members",
                models.ManyToManyField(blank=True, related_name="gate_groups", to=settings.AUTH_USER_MODEL),
            ),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="groups", to="pipelines.project"
                ),
            ),
        ],
        options={
            "constraints": [models.UniqueConstraint(fields=("project", "key"), name="group_key_in_project")],
        },
    ),
    migrations.CreateModel(
        name="ApiToken",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "kind",
                models.CharField(
                    choices=[("person", "Person"), ("machine", "Machine"), ("runner", "Runner")], max_length=8
                ),
            ),
            ("name", models.CharField(max_length=100)),
            (
                "role",
                models.CharField(
                    blank=True,
                    choices=[
                        ("viewer", "Viewer"),
                        ("operator", "Operator"),
                        ("designer", "Designer"),
                        ("reviewer", "Reviewer"),
                        ("admin", "Admin"),
                    ],
                    max_length=10,
                ),
            ),
            (
                "scopes",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(
                        choices=[
                            ("read", "Read"),
                            ("submit", "Start tasks"),
                            ("report", "Report on jobs"),
                            ("decide", "Decide gates"),
                            ("design", "Change lines"),
                            ("settings", "Change projects, secrets and variables"),
                        ],
                        max_length=10,
                    ),
                    default=list,
                    size=None,
                ),
            ),
            ("prefix", models.CharField(max_length=12)),
            ("digest", models.CharField(max_length=64, unique=True)),
            ("created_at", models.DateTimeField()),
            ("expires_at", models.DateTimeField()),
            ("last_used_at", models.DateTimeField(blank=True, null=True)),
            ("revoked_at", models.DateTimeField(blank=True, null=True)),
            (
                "created_by",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="api_tokens_made",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="api_tokens",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="api_tokens",
                    to="pipelines.project",
                ),
            ),
            ("drained_at", models.DateTimeField(blank=True, null=True)),
            (
                "labels",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(max_length=64), default=list, size=None
                ),
            ),
        ],
        options={
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        ("kind", "person"),
                        models.Q(("scopes__contains", ["decide"]), _negated=True),
                        _connector="OR",
                    ),
                    name="machine_never_decides",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("kind", "person"), ("user__isnull", False)),
                        models.Q(
                            ("kind", "machine"),
                            ("project__isnull", False),
                            ("user__isnull", True),
                            models.Q(("role", ""), _negated=True),
                        ),
                        models.Q(
                            ("kind", "runner"),
                            ("project__isnull", False),
                            ("role", ""),
                            ("scopes", []),
                            ("user__isnull", True),
                        ),
                        _connector="OR",
                    ),
                    name="api_token_has_its_bearer",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="SignInLink",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("digest", models.CharField(max_length=64, unique=True)),
            ("created_at", models.DateTimeField()),
            ("expires_at", models.DateTimeField()),
            ("used_at", models.DateTimeField(blank=True, null=True)),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="sign_in_links",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="Task",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("number", models.PositiveBigIntegerField()),
            ("title", models.CharField(max_length=300)),
            ("description", models.TextField(blank=True)),
            (
                "requested_by",
                models.CharField(help_text="The requester's name at that time.", max_length=200),
            ),
            (
                "priority",
                models.CharField(
                    choices=[("low", "Low"), ("medium", "Medium"), ("high", "High")],
                    default="medium",
                    max_length=6,
                ),
            ),
            (
                "labels",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(max_length=100), blank=True, default=list, size=None
                ),
            ),
            ("due_at", models.DateTimeField(blank=True, null=True)),
            ("inputs", models.JSONField(default=dict)),
            ("context", models.JSONField(default=dict)),
            ("variables", models.JSONField(default=dict)),
            ("visits", models.JSONField(default=dict)),
            ("edges", models.JSONField(default=dict)),
            ("rules", models.JSONField(default=dict)),
            ("rounds", models.JSONField(default=dict)),
            (
                "status",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("running", "Running"),
                        ("evaluating", "Evaluating"),
                        ("awaiting_review", "Waiting for review"),
                        ("held", "On hold"),
                        ("blocked", "Blocked"),
                        ("stuck", "Stuck"),
                        ("completed", "Completed"),
                        ("failed", "Failed"),
                        ("cancelled", "Cancelled"),
                    ],
                    default="queued",
                    max_length=16,
                ),
            ),
            ("end", models.CharField(blank=True, max_length=64)),
            ("error", models.CharField(blank=True, max_length=64)),
            (
                "reason",
                models.TextField(
                    blank=True, help_text="Why it was rejected, aborted or cancelled (ALP A16)."
                ),
            ),
            ("seq", models.PositiveIntegerField(default=0, help_text="The number of the last event.")),
            ("created_at", models.DateTimeField()),
            ("changed_at", models.DateTimeField()),
            ("ended_at", models.DateTimeField(blank=True, null=True)),
            (
                "line",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="tasks",
                    to="pipelines.line",
                ),
            ),
            (
                "pinned",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="tasks",
                    to="pipelines.lineversion",
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="tasks",
                    to="pipelines.project",
                ),
            ),
            (
                "requester",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="requested_tasks",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            ("failures", models.JSONField(default=dict)),
            ("escalations", models.PositiveIntegerField(default=0, help_text="How many are open now.")),
            (
                "follows",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="followed_by",
                    to="pipelines.task",
                ),
            ),
            (
                "unreadable",
                models.JSONField(
                    default=dict, help_text="{key of the context: station whose output could not be read}"
                ),
            ),
            (
                "retry_of",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="retries",
                    to="pipelines.job",
                ),
            ),
            (
                "requesters",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(max_length=40),
                    blank=True,
                    default=list,
                    help_text="Who else may have asked for it, by an issue or a machine: person:7, or unknown for nobody known.",
                    size=None,
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(fields=["line", "status"], name="task_by_line_status"),
                models.Index(fields=["project", "-created_at"], name="task_by_project"),
                models.Index(
                    condition=models.Q(("ended_at__isnull", False)),
                    fields=["line", "-ended_at"],
                    name="task_ended",
                ),
                models.Index(
                    condition=models.Q(("ended_at__isnull", True)), fields=["line", "id"], name="task_open"
                ),
                models.Index(fields=["changed_at"], name="task_changed"),
                models.Index(
                    condition=models.Q(("due_at__isnull", False), ("ended_at__isnull", True)),
                    fields=["due_at"],
                    name="task_due",
                ),
                models.Index(fields=["-created_at", "-id"], name="task_newest"),
            ],
            "constraints": [
                models.UniqueConstraint(fields=("project", "number"), name="task_number_in_project"),
                models.CheckConstraint(
                    condition=models.Q(
                        (
                            "status__in",
                            [
                                "queued",
                                "running",
                                "evaluating",
                                "awaiting_review",
                                "held",
                                "blocked",
                                "stuck",
                                "completed",
                                "failed",
                                "cancelled",
                            ],
                        )
                    ),
                    name="task_status_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(("priority__in", ["low", "medium", "high"])),
                    name="task_priority_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(
                            ("ended_at__isnull", False), ("status__in", ("completed", "failed", "cancelled"))
                        ),
                        models.Q(
                            models.Q(("status__in", ("completed", "failed", "cancelled")), _negated=True),
                            ("ended_at__isnull", True),
                        ),
                        _connector="OR",
                    ),
                    name="task_ended_at_its_end",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Snapshot",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("digest", models.CharField(max_length=64)),
            ("manifest", models.JSONField(help_text="[{path, mode, digest, size} or {path, link}]")),
            ("size", models.PositiveBigIntegerField()),
            ("created_at", models.DateTimeField()),
            (
                "job",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE, related_name="snapshot", to="pipelines.job"
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="snapshots", to="pipelines.task"
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="Event",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("seq", models.PositiveIntegerField()),
            ("kind", models.CharField(max_length=40)),
            ("at", models.DateTimeField()),
            ("token_id", models.BigIntegerField(blank=True, null=True)),
            (
                "actor",
                models.CharField(
                    help_text="person:<id>, machine:<token>, worker:<id>, engine", max_length=200
                ),
            ),
            ("source", models.CharField(blank=True, help_text="Station or state before.", max_length=64)),
            ("target", models.CharField(blank=True, help_text="Station, gate or end after.", max_length=64)),
            ("trigger", models.CharField(blank=True, max_length=120)),
            ("data", models.JSONField(default=dict)),
            (
                "decision",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="events",
                    to="pipelines.decision",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="events",
                    to="pipelines.task",
                ),
            ),
        ],
        options={
            "ordering": ["task", "seq"],
            "constraints": [
                models.UniqueConstraint(fields=("task", "seq"), name="event_sequence"),
                models.CheckConstraint(condition=models.Q(("seq__gte", 1)), name="event_sequence_from_one"),
            ],
        },
    ),
    migrations.CreateModel(
        name="Artifact",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("name", models.CharField(max_length=300)),
            ("media_type", models.CharField(default="application/octet-stream", max_length=100)),
            (
                "blob",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="+", to="pipelines.blob"
                ),
            ),
            (
                "job",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="artifacts", to="pipelines.job"
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="artifacts", to="pipelines.task"
                ),
            ),
        ],
        options={
            "constraints": [models.UniqueConstraint(fields=("job", "name"), name="artifact_name_in_job")],
        },
    ),
    migrations.CreateModel(
        name="Token",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("version", models.PositiveIntegerField(default=1)),
            ("station", models.CharField(max_length=64)),
            (
                "status",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("running", "Running"),
                        ("evaluating", "Evaluating"),
                        ("awaiting_review", "Waiting for review"),
                        ("held", "On hold"),
                        ("blocked", "Blocked"),
                        ("stuck", "Stuck"),
                        ("completed", "Completed"),
                        ("failed", "Failed"),
                        ("cancelled", "Cancelled"),
                    ],
                    default="queued",
                    max_length=16,
                ),
            ),
            ("origin", models.CharField(blank=True, max_length=64)),
            (
                "forked",
                models.BooleanField(default=False, help_text="Waits for its children; not a live position."),
            ),
            ("signal_reworks", models.PositiveIntegerField(default=0)),
            ("wait", models.JSONField(default=dict)),
            ("error", models.CharField(blank=True, max_length=64)),
            ("end", models.CharField(blank=True, max_length=64)),
            ("entered_at", models.DateTimeField()),
            ("changed_at", models.DateTimeField()),
            ("ended_at", models.DateTimeField(blank=True, null=True)),
            (
                "parent",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="children",
                    to="pipelines.token",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="tokens", to="pipelines.task"
                ),
            ),
            (
                "joined",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="merged",
                    to="pipelines.token",
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(
                    condition=models.Q(("ended_at__isnull", True)), fields=["task"], name="token_alive"
                )
            ],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        (
                            "status__in",
                            [
                                "queued",
                                "running",
                                "evaluating",
                                "awaiting_review",
                                "held",
                                "blocked",
                                "stuck",
                                "completed",
                                "failed",
                                "cancelled",
                            ],
                        )
                    ),
                    name="token_status_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(
                            ("ended_at__isnull", False), ("status__in", ("completed", "failed", "cancelled"))
                        ),
                        models.Q(
                            models.Q(("status__in", ("completed", "failed", "cancelled")), _negated=True),
                            ("ended_at__isnull", True),
                        ),
                        _connector="OR",
                    ),
                    name="token_ended_at_its_end",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("status", "stuck"), _negated=True),
                        models.Q(("error", ""), _negated=True),
                        _connector="OR",
                    ),
                    name="stuck_names_its_error",
                ),
                models.CheckConstraint(
                    condition=models.Q(("forked", False), ("ended_at__isnull", True), _connector="OR"),
                    name="forked_until_it_ends",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="GateVisit",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("gate", models.CharField(max_length=64)),
            ("position", models.PositiveIntegerField(default=0, help_text="Among the gates asked together.")),
            ("round", models.PositiveIntegerField(default=1, help_text="1 + times sent back so far.")),
            ("token_version", models.PositiveIntegerField()),
            ("evidence", models.JSONField(help_text="What is shown and voted on, without the files.")),
            ("evidence_digest", models.CharField(max_length=64)),
            (
                "state",
                models.CharField(
                    choices=[
                        ("open", "Open"),
                        ("decided", "Decided"),
                        ("closed", "Closed without a decision"),
                    ],
                    default="open",
                    max_length=8,
                ),
            ),
            (
                "word",
                models.CharField(
                    blank=True,
                    choices=[
                        ("approve", "Approve"),
                        ("send_back", "Send back"),
                        ("reject", "Reject"),
                        ("rework", "Rework"),
                        ("abort", "Abort"),
                    ],
                    max_length=10,
                ),
            ),
            ("route", models.CharField(blank=True, max_length=64)),
            ("reason", models.TextField(blank=True)),
            ("opened_at", models.DateTimeField()),
            ("due_at", models.DateTimeField(blank=True, null=True)),
            ("decided_at", models.DateTimeField(blank=True, null=True)),
            (
                "asked_by",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="gate_visits",
                    to="pipelines.decision",
                ),
            ),
            (
                "decided_by",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "job",
                models.ForeignKey(
                    help_text="Whose outcome waits.",
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="gate_visits",
                    to="pipelines.job",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="gate_visits",
                    to="pipelines.task",
                ),
            ),
            (
                "token",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="gate_visits",
                    to="pipelines.token",
                ),
            ),
            (
                "overridden",
                models.BooleanField(
                    default=False, help_text="An administrator approved it instead of the people it asks."
                ),
            ),
            (
                "producers",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(max_length=40),
                    blank=True,
                    default=list,
                    help_text="Who worked on it by hand, or pushed to the branch: person:7. Besides whoever reported the job.",
                    size=None,
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(condition=models.Q(("state", "open")), fields=["task"], name="gate_visit_open"),
                models.Index(fields=["decided_by", "-decided_at", "-id"], name="gate_visit_decided"),
                models.Index(
                    condition=models.Q(("due_at__isnull", False), ("state", "open")),
                    fields=["due_at"],
                    name="gate_visit_due",
                ),
                models.Index(
                    condition=models.Q(("decided_at__isnull", False)),
                    fields=["decided_at"],
                    include=("job", "opened_at"),
                    name="gate_visit_over_at",
                ),
            ],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        ("word__in", ["", "approve", "send_back", "reject", "rework", "abort"])
                    ),
                    name="gate_word_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(
                            ("state", "decided"),
                            models.Q(("word", ""), _negated=True),
                            ("decided_at__isnull", False),
                        ),
                        models.Q(("state", "open"), ("word", ""), ("decided_at__isnull", True)),
                        models.Q(("state", "closed"), ("word", ""), ("decided_at__isnull", False)),
                        _connector="OR",
                    ),
                    name="a_gate_visit_is_decided_once",
                ),
                models.UniqueConstraint(
                    condition=models.Q(("state", "open")),
                    fields=("token", "gate"),
                    include=("position", "opened_at", "due_at"),
                    name="one_open_visit_of_token_and_gate",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="VersionGate",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("position", models.PositiveIntegerField()),
            ("key", models.CharField(max_length=64)),
            ("name", models.CharField(max_length=200)),
            ("mode", models.CharField(max_length=20)),
            (
                "version",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="gates",
                    to="pipelines.lineversion",
                ),
            ),
        ],
        options={
            "ordering": ["version", "position"],
            "constraints": [models.UniqueConstraint(fields=("version", "key"), name="gate_key_in_version")],
        },
    ),
    migrations.CreateModel(
        name="VersionStation",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("position", models.PositiveIntegerField()),
            ("key", models.CharField(max_length=64)),
            ("name", models.CharField(max_length=200)),
            ("kind", models.CharField(max_length=32)),
            (
                "version",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="stations",
                    to="pipelines.lineversion",
                ),
            ),
        ],
        options={
            "ordering": ["version", "position"],
            "constraints": [
                models.UniqueConstraint(fields=("version", "key"), name="station_key_in_version")
            ],
        },
    ),
    migrations.CreateModel(
        name="VersionRule",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("position", models.PositiveIntegerField()),
            ("key", models.CharField(help_text="The rule's id.", max_length=64)),
            ("label", models.CharField(blank=True, max_length=200)),
            (
                "version",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="rules",
                    to="pipelines.lineversion",
                ),
            ),
            (
                "station",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="rules",
                    to="pipelines.versionstation",
                ),
            ),
        ],
        options={
            "ordering": ["version", "station__position", "position"],
            "constraints": [models.UniqueConstraint(fields=("version", "key"), name="rule_id_in_version")],
        },
    ),
    migrations.CreateModel(
        name="Vote",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "word",
                models.CharField(
                    choices=[
                        ("approve", "Approve"),
                        ("send_back", "Send back"),
                        ("reject", "Reject"),
                        ("rework", "Rework"),
                        ("abort", "Abort"),
                    ],
                    max_length=10,
                ),
            ),
            ("reason", models.TextField(blank=True)),
            ("route", models.CharField(blank=True, max_length=64)),
            ("token_version", models.PositiveIntegerField()),
            ("evidence_digest", models.CharField(max_length=64)),
            ("entitled_as", models.JSONField()),
            ("via", models.CharField(help_text="page, api, mail or the name of a chat", max_length=10)),
            ("at", models.DateTimeField()),
            (
                "user",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="votes",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="votes",
                    to="pipelines.gatevisit",
                ),
            ),
            (
                "fields",
                models.JSONField(
                    default=dict, help_text="What was filled in, by the keys of the gate's fields."
                ),
            ),
            (
                "stands_for",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    help_text="Who was away, and in whose place the person voted.",
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(fields=["user", "-at", "-visit"], name="vote_latest_of_person"),
                models.Index(
                    condition=models.Q(("reason", ""), _negated=True),
                    fields=["visit"],
                    name="vote_with_reason",
                ),
            ],
            "constraints": [
                models.UniqueConstraint(fields=("visit", "user"), name="one_vote_per_person"),
                models.CheckConstraint(
                    condition=models.Q(("word__in", ["approve", "send_back", "reject", "rework", "abort"])),
                    name="vote_word_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("word__in", ["reject", "send_back"]), _negated=True),
                        ("reason__regex", "\\S"),
                        _connector="OR",
                    ),
                    name="refusing_needs_a_reason",
                ),
                models.UniqueConstraint(
                    models.F("visit"),
                    django.db.models.functions.comparison.Coalesce("stands_for", "user"),
                    name="one_vote_per_seat",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Lease",
        fields=[
            (
                "job",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    primary_key=True,
                    related_name="lease",
                    serialize=False,
                    to="pipelines.job",
                ),
            ),
            ("key", models.UUIDField()),
            ("expires_at", models.DateTimeField()),
            (
                "worker",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="leases", to="pipelines.worker"
                ),
            ),
        ],
        options={
            "indexes": [models.Index(fields=["expires_at"], name="lease_by_expiry")],
        },
    ),
    migrations.CreateModel(
        name="IgnoredReport",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("attempt", models.PositiveIntegerField()),
            ("digest", models.CharField(max_length=64)),
            ("count", models.PositiveIntegerField(default=1)),
            (
                "job",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="ignored", to="pipelines.job"
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(
                    fields=("job", "attempt", "digest"), name="one_row_per_ignored_report"
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="Scenario",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "key",
                models.CharField(
                    max_length=64,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^[a-z0-9][a-z0-9_.-]{0,63}\\Z",
                            "Use a–z, 0–9, “_”, “.” and “-”, at most 64 characters.",
                        )
                    ],
                ),
            ),
            ("name", models.CharField(max_length=200)),
            ("document", models.JSONField()),
            (
                "source",
                models.CharField(
                    choices=[("written", "Written"), ("recorded", "Recorded"), ("generated", "Generated")],
                    default="written",
                    max_length=12,
                ),
            ),
            ("at", models.DateTimeField(help_text="When it was made or last changed.")),
            (
                "runs",
                models.JSONField(
                    default=dict,
                    help_text="The last run against `draft` and against `live`, as pipelines/lines/scenarios.py keeps them.",
                ),
            ),
            (
                "line",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="scenarios", to="pipelines.line"
                ),
            ),
            (
                "made_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "ordering": ["line", "key"],
            "constraints": [models.UniqueConstraint(fields=("line", "key"), name="scenario_key_in_line")],
        },
    ),
    migrations.CreateModel(
        name="Migration",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("mapping", models.JSONField(default=dict, help_text="{old station: new station}")),
            ("reason", models.TextField()),
            ("digest", models.CharField(help_text="Of the impact that was confirmed.", max_length=64)),
            ("at", models.DateTimeField()),
            (
                "finished_at",
                models.DateTimeField(blank=True, help_text="None while tasks are left to do.", null=True),
            ),
            (
                "by",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "line",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="migrations",
                    to="pipelines.line",
                ),
            ),
            (
                "to",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    help_text="None for an undo: each task goes back to its own.",
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.lineversion",
                ),
            ),
            (
                "undoes",
                models.OneToOneField(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="undone_by",
                    to="pipelines.migration",
                ),
            ),
        ],
        options={
            "indexes": [models.Index(fields=["line", "-at"], name="migration_by_line")],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(("to__isnull", True), ("undoes__isnull", True), _connector="XOR"),
                    name="migration_goes_or_undoes",
                ),
                models.CheckConstraint(
                    condition=models.Q(("reason__regex", "\\S")), name="migration_needs_a_reason"
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="MigrationEntry",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "expected",
                models.JSONField(default=list, help_text="The effects that were confirmed, one per token."),
            ),
            (
                "result",
                models.CharField(
                    choices=[
                        ("planned", "Not done yet"),
                        ("migrated", "Migrated"),
                        ("restored", "Put back"),
                        ("already", "Was there already"),
                        ("changed", "Changed meanwhile"),
                        ("refused", "Could not"),
                    ],
                    default="planned",
                    max_length=8,
                ),
            ),
            ("detail", models.TextField(blank=True)),
            ("tokens", models.JSONField(default=list)),
            (
                "before",
                models.JSONField(
                    default=dict, help_text="Of the task: context and variables, where changed."
                ),
            ),
            (
                "seq",
                models.PositiveIntegerField(default=0, help_text="The task's last event when it was done."),
            ),
            ("at", models.DateTimeField(blank=True, null=True)),
            (
                "migration",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="entries",
                    to="pipelines.migration",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="migrations",
                    to="pipelines.task",
                ),
            ),
            (
                "to",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.lineversion",
                ),
            ),
            (
                "was",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.lineversion",
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(
                    fields=("migration", "task"), name="one_entry_per_migration_and_task"
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("result__in", ["planned", "migrated", "restored", "already", "changed", "refused"])
                    ),
                    name="migration_result_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("at__isnull", True), ("result", "planned")),
                        models.Q(models.Q(("result", "planned"), _negated=True), ("at__isnull", False)),
                        _connector="OR",
                    ),
                    name="migration_entry_is_done_once",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="LineEvent",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "kind",
                models.CharField(
                    choices=[
                        ("published", "Published"),
                        ("named", "Named"),
                        ("restored", "Restored as the draft"),
                        ("not_migrated", "Published, and not migrated"),
                        ("reread", "Guarantees read anew"),
                    ],
                    max_length=16,
                ),
            ),
            ("at", models.DateTimeField()),
            ("data", models.JSONField(default=dict)),
            ("draft", models.JSONField(blank=True, null=True)),
            ("draft_text", models.TextField(blank=True)),
            (
                "by",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "line",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="record",
                    to="pipelines.line",
                ),
            ),
            (
                "version",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.lineversion",
                ),
            ),
        ],
        options={
            "indexes": [models.Index(fields=["line", "-at"], name="record_of_line")],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        ("kind__in", ["published", "named", "restored", "not_migrated", "reread"])
                    ),
                    name="line_event_kind_known",
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="Comment",
        fields=[
            (
                "id",
                models.UUIDField(
                    default=uuid.uuid4,
                    help_text="Chosen by who writes it, so that sending it twice writes it once.",
                    primary_key=True,
                    serialize=False,
                ),
            ),
            (
                "kind",
                models.CharField(
                    choices=[("line", "Line"), ("station", "Station"), ("rule", "Rule"), ("gate", "Gate")],
                    max_length=8,
                ),
            ),
            (
                "key",
                models.CharField(blank=True, help_text="Key of the part, or the rule's id.", max_length=200),
            ),
            ("text", models.TextField()),
            ("created_at", models.DateTimeField()),
            ("edited_at", models.DateTimeField(blank=True, null=True)),
            ("resolved_at", models.DateTimeField(blank=True, null=True)),
            ("deleted_at", models.DateTimeField(blank=True, null=True)),
            (
                "revision",
                models.PositiveIntegerField(
                    default=1, help_text="Counts its changes; their sum over a line only grows."
                ),
            ),
            (
                "author",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "line",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="comments",
                    to="pipelines.line",
                ),
            ),
            (
                "parent",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="replies",
                    to="pipelines.comment",
                ),
            ),
            (
                "resolved_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "ordering": ["created_at", "id"],
            "indexes": [models.Index(fields=["line", "created_at"], name="comment_by_line")],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("key", ""), ("kind", "line")),
                        models.Q(
                            models.Q(("kind", "line"), _negated=True), models.Q(("key", ""), _negated=True)
                        ),
                        _connector="OR",
                    ),
                    name="comment_has_a_place",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("parent__isnull", True), ("resolved_at__isnull", True), _connector="OR"
                    ),
                    name="a_thread_is_resolved_whole",
                ),
                models.CheckConstraint(
                    condition=models.Q(("deleted_at__isnull", True), ("text", ""), _connector="OR"),
                    name="deleted_comment_says_nothing",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Due",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("kind", models.CharField(max_length=40)),
            ("key", models.CharField(blank=True, help_text="What of its kind it is for.", max_length=120)),
            ("set_at", models.DateTimeField()),
            ("due_at", models.DateTimeField(db_index=True)),
            (
                "job",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.job",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="dues",
                    to="pipelines.task",
                ),
            ),
            (
                "token",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.token",
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    blank=True,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
        options={
            "verbose_name_plural": "due times",
            "constraints": [
                models.UniqueConstraint(fields=("task", "kind", "key"), name="one_due_per_kind_and_key")
            ],
        },
    ),
    migrations.CreateModel(
        name="Escalation",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("trigger", models.CharField(max_length=100)),
            ("role", models.CharField(help_text="Who answers, as the line calls them.", max_length=150)),
            ("station", models.CharField(blank=True, max_length=64)),
            ("rule", models.CharField(blank=True, max_length=128)),
            ("reason", models.TextField(blank=True)),
            ("opened_by", models.CharField(max_length=200)),
            ("opened_at", models.DateTimeField()),
            ("due_at", models.DateTimeField(blank=True, null=True)),
            (
                "on_breach",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(max_length=20), blank=True, default=list, size=None
                ),
            ),
            (
                "notify",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(max_length=100), blank=True, default=list, size=None
                ),
            ),
            ("breached_at", models.DateTimeField(blank=True, null=True)),
            (
                "state",
                models.CharField(
                    choices=[("open", "Open"), ("resolved", "Resolved")], default="open", max_length=8
                ),
            ),
            (
                "how",
                models.CharField(
                    blank=True,
                    choices=[
                        ("go_on", "Go on"),
                        ("choose", "Choose a branch"),
                        ("retry", "Run the station again"),
                        ("route", "Send to a station"),
                        ("cancel", "Cancel the task"),
                        ("decided", "The review was decided"),
                        ("ended", "The task ended"),
                    ],
                    max_length=8,
                ),
            ),
            ("route", models.CharField(blank=True, max_length=64)),
            ("answer", models.TextField(blank=True, help_text="The reason of who resolved it.")),
            ("resolved_at", models.DateTimeField(blank=True, null=True)),
            (
                "resolved_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="escalated", to="pipelines.task"
                ),
            ),
            (
                "token",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.token",
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(condition=models.Q(("state", "open")), fields=["task"], name="escalation_open")
            ],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("how", ""), ("resolved_at__isnull", True), ("state", "open")),
                        models.Q(
                            ("resolved_at__isnull", False),
                            ("state", "resolved"),
                            models.Q(("how", ""), _negated=True),
                        ),
                        _connector="OR",
                    ),
                    name="an_escalation_is_resolved_once",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("resolved_by__isnull", True), ("answer__regex", "\\S"), _connector="OR"
                    ),
                    name="resolving_needs_a_reason",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Incident",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("title", models.CharField(max_length=300)),
            ("opened_at", models.DateTimeField()),
            (
                "escalation",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="incident",
                    to="pipelines.escalation",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="incidents", to="pipelines.task"
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="Agent",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "key",
                models.CharField(
                    max_length=64,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^[a-z][a-z0-9-]{0,63}\\Z",
                            "Use a–z, 0–9 and “-”, beginning with a letter, at most 64 characters.",
                        )
                    ],
                ),
            ),
            ("name", models.CharField(blank=True, max_length=200)),
            ("contract_version", models.CharField(blank=True, max_length=40)),
            ("allowed_inputs", models.JSONField(blank=True, default=list)),
            ("allowed_outputs", models.JSONField(blank=True, default=list)),
            ("forbidden_actions", models.JSONField(blank=True, default=list)),
            ("required_checks", models.JSONField(blank=True, default=list)),
            ("escalates_to", models.CharField(blank=True, max_length=100)),
            ("valid_until", models.DateTimeField(blank=True, null=True)),
            (
                "capacity",
                models.PositiveIntegerField(
                    blank=True,
                    help_text="Open jobs at once.",
                    null=True,
                    validators=[django.core.validators.MaxValueValidator(100000)],
                ),
            ),
            ("trust", models.JSONField(blank=True, default=dict)),
            ("suspended_at", models.DateTimeField(blank=True, null=True)),
            ("suspended_by", models.CharField(blank=True, max_length=200)),
            ("suspended_why", models.TextField(blank=True)),
            ("created_at", models.DateTimeField()),
            (
                "owner",
                models.ForeignKey(
                    help_text="The person who answers for it.",
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="owned_agents",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="agents", to="pipelines.project"
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("project", "key"), name="agent_key_in_project"),
                models.CheckConstraint(
                    condition=models.Q(
                        ("suspended_at__isnull", True),
                        models.Q(("suspended_why", ""), _negated=True),
                        _connector="OR",
                    ),
                    name="a_suspension_says_why",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="AgentEvent",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("kind", models.CharField(help_text="added, changed, suspended, restored", max_length=20)),
            ("actor", models.CharField(max_length=200)),
            ("data", models.JSONField(default=dict)),
            ("at", models.DateTimeField()),
            (
                "agent",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="events", to="pipelines.agent"
                ),
            ),
        ],
        options={
            "ordering": ["-pk"],
        },
    ),
    migrations.CreateModel(
        name="Deadlock",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("kind", models.CharField(max_length=13)),
            ("parties", models.JSONField()),
            ("handoffs", models.JSONField(default=list)),
            (
                "agents",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(max_length=64), blank=True, default=list, size=None
                ),
            ),
            ("suggestion", models.TextField()),
            ("role", models.CharField(max_length=100)),
            ("found_at", models.DateTimeField()),
            (
                "state",
                models.CharField(
                    choices=[("open", "Open"), ("resolved", "Resolved")], default="open", max_length=8
                ),
            ),
            (
                "how",
                models.CharField(
                    blank=True,
                    choices=[
                        ("output", "Choose an output"),
                        ("context", "Add context"),
                        ("escalate", "Escalate"),
                        ("cancel", "Cancel the task"),
                        ("ended", "A task ended"),
                    ],
                    max_length=8,
                ),
            ),
            ("answer", models.TextField(blank=True)),
            ("resolved_at", models.DateTimeField(blank=True, null=True)),
            (
                "resolved_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="deadlocks", to="pipelines.task"
                ),
            ),
            ("tasks", models.ManyToManyField(related_name="party_to", to="pipelines.task")),
            (
                "escalation",
                models.OneToOneField(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="deadlock",
                    to="pipelines.escalation",
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(condition=models.Q(("state", "open")), fields=["task"], name="deadlock_open")
            ],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("how", ""), ("resolved_at__isnull", True), ("state", "open")),
                        models.Q(
                            ("resolved_at__isnull", False),
                            ("state", "resolved"),
                            models.Q(("how", ""), _negated=True),
                        ),
                        _connector="OR",
                    ),
                    name="a_deadlock_is_resolved_once",
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="Dependency",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("made_at", models.DateTimeField()),
            (
                "on",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="dependents",
                    to="pipelines.task",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="depends_on",
                    to="pipelines.task",
                ),
            ),
        ],
        options={
            "verbose_name_plural": "dependencies",
            "constraints": [
                models.UniqueConstraint(fields=("task", "on"), name="one_dependency_on_a_task"),
                models.CheckConstraint(
                    condition=models.Q(("task", models.F("on")), _negated=True),
                    name="no_task_waits_for_itself",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Handoff",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("name", models.CharField(blank=True, max_length=160)),
            ("source", models.CharField(max_length=64)),
            ("target", models.CharField(blank=True, max_length=64)),
            ("document", models.JSONField()),
            (
                "faults",
                models.JSONField(default=list, help_text="What its schema finds wrong, each with its place."),
            ),
            ("by", models.CharField(max_length=200)),
            ("at", models.DateTimeField()),
            (
                "job",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="handed_on",
                    to="pipelines.job",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="handoffs", to="pipelines.task"
                ),
            ),
            (
                "to",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="received",
                    to="pipelines.job",
                ),
            ),
        ],
        options={
            "indexes": [models.Index(fields=["job", "at"], name="handoff_by_job")],
        },
    ),
    migrations.CreateModel(
        name="RecordedAnswer",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("actor", models.CharField(max_length=80)),
            ("key", models.CharField(max_length=255)),
            ("request_digest", models.CharField(max_length=64)),
            ("status", models.PositiveSmallIntegerField(default=0)),
            ("body", models.BinaryField(default=b"", help_text="zlib of the JSON that was sent.")),
            ("at", models.DateTimeField()),
        ],
        options={
            "indexes": [
                models.Index(fields=["actor", "id"], name="answer_by_actor"),
                models.Index(fields=["at"], name="answer_by_age"),
            ],
            "constraints": [models.UniqueConstraint(fields=("actor", "key"), name="one_answer_per_key")],
        },
    ),
    migrations.CreateModel(
        name="AddressMinute",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("address", models.CharField(max_length=64)),
            ("minute", models.DateTimeField()),
            ("requests", models.PositiveIntegerField()),
        ],
        options={
            "indexes": [models.Index(fields=["minute"], name="address_minutes")],
            "constraints": [models.UniqueConstraint(fields=("address", "minute"), name="one_count_a_minute")],
        },
    ),
    migrations.CreateModel(
        name="Upload",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("name", models.CharField(max_length=200)),
            ("by", models.CharField(max_length=200)),
            ("at", models.DateTimeField()),
            (
                "blob",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="+", to="pipelines.blob"
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="uploads",
                    to="pipelines.project",
                ),
            ),
            (
                "content",
                models.CharField(
                    blank=True,
                    default="",
                    help_text="What its first bytes say; empty: nobody looked.",
                    max_length=10,
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("project", "blob", "name"), name="one_upload_of_a_name")
            ],
        },
    ),
    migrations.CreateModel(
        name="AdministrativeAct",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("at", models.DateTimeField()),
            ("actor", models.CharField(help_text="person:7, or command for the shell", max_length=200)),
            ("kind", models.CharField(help_text="A key of pipelines.ports.audit.KINDS.", max_length=40)),
            (
                "about",
                models.CharField(blank=True, help_text="person:7, group:3, token:12 …", max_length=200),
            ),
            (
                "name",
                models.CharField(blank=True, help_text="What it was called at that time.", max_length=300),
            ),
            ("data", models.JSONField(default=dict)),
            (
                "project",
                models.ForeignKey(
                    help_text="Empty: of the installation.",
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="acts",
                    to="pipelines.project",
                ),
            ),
        ],
        options={
            "ordering": ["-pk"],
            "indexes": [
                models.Index(fields=["project", "-id"], name="act_of_project"),
                models.Index(fields=["about", "-id"], name="act_about"),
            ],
        },
    ),
    migrations.CreateModel(
        name="Invitation",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "key",
                models.CharField(default=pipelines.models.invitations.new_key, max_length=43, unique=True),
            ),
            (
                "email",
                models.EmailField(
                    blank=True, help_text="Empty: the link is handed over by other means.", max_length=254
                ),
            ),
            (
                "roles",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("operator", "Operator"),
                            ("designer", "Designer"),
                            ("reviewer", "Reviewer"),
                            ("admin", "Admin"),
                        ],
                        max_length=10,
                    ),
                    size=None,
                ),
            ),
            ("execute", models.BooleanField(default=False)),
            ("created_at", models.DateTimeField()),
            ("expires_at", models.DateTimeField()),
            ("mailed_at", models.DateTimeField(blank=True, null=True)),
            ("mail_error", models.TextField(blank=True)),
            ("accepted_at", models.DateTimeField(blank=True, null=True)),
            ("revoked_at", models.DateTimeField(blank=True, null=True)),
            (
                "accepted_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "created_by",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
            ("groups", models.ManyToManyField(blank=True, related_name="+", to="pipelines.group")),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="invitations",
                    to="pipelines.project",
                ),
            ),
        ],
        options={
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        ("roles__contained_by", ["viewer", "operator", "designer", "reviewer", "admin"]),
                        ("roles__len__gt", 0),
                    ),
                    name="invitation_roles_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("accepted_at__isnull", True), ("accepted_by__isnull", False), _connector="OR"
                    ),
                    name="an_accepted_invitation_says_by_whom",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("accepted_at__isnull", True), ("revoked_at__isnull", True), _connector="OR"
                    ),
                    name="an_accepted_invitation_is_not_revoked",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="StoredValue",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "kind",
                models.CharField(choices=[("secret", "Secret"), ("variable", "Variable")], max_length=8),
            ),
            (
                "name",
                models.CharField(
                    max_length=64,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^[A-Z][A-Z0-9_]{0,63}\\Z",
                            "Use capitals, digits and “_”, beginning with a capital; at most 64 characters.",
                        )
                    ],
                ),
            ),
            (
                "content",
                models.TextField(
                    help_text="Of a variable its value, of a secret what its value is encrypted to."
                ),
            ),
            ("changed_at", models.DateTimeField()),
            ("last_used_at", models.DateTimeField(blank=True, null=True)),
            (
                "changed_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "line",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="stored_values",
                    to="pipelines.line",
                ),
            ),
            (
                "owner",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="stored_values",
                    to="pipelines.owner",
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="stored_values",
                    to="pipelines.project",
                ),
            ),
        ],
        options={
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("line__isnull", True), ("owner__isnull", False), ("project__isnull", True)),
                        models.Q(("line__isnull", True), ("owner__isnull", True), ("project__isnull", False)),
                        models.Q(("line__isnull", False), ("owner__isnull", True), ("project__isnull", True)),
                        _connector="OR",
                    ),
                    name="stored_value_has_one_place",
                ),
                models.CheckConstraint(
                    condition=models.Q(("kind__in", ["secret", "variable"])), name="stored_value_kind_known"
                ),
                models.UniqueConstraint(
                    condition=models.Q(("owner__isnull", False)),
                    fields=("owner", "name"),
                    name="value_name_in_owner",
                ),
                models.UniqueConstraint(
                    condition=models.Q(("project__isnull", False)),
                    fields=("project", "name"),
                    name="value_name_in_project",
                ),
                models.UniqueConstraint(
                    condition=models.Q(("line__isnull", False)),
                    fields=("line", "name"),
                    name="value_name_in_line",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Repository",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "name",
                models.CharField(
                    max_length=100,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^(?!input\\.)[A-Za-z0-9][A-Za-z0-9._-]{0,99}\\Z",
                            "Use letters, digits, “.”, “_” and “-”, beginning with a letter or a digit.",
                        )
                    ],
                ),
            ),
            ("address", models.CharField(max_length=1000)),
            (
                "default_branch",
                models.CharField(blank=True, help_text="Empty: the one that its HEAD is on.", max_length=200),
            ),
            (
                "credential",
                models.CharField(blank=True, help_text="The name of a stored secret.", max_length=64),
            ),
            (
                "pushing",
                models.CharField(
                    choices=[
                        ("execute", "Designers with the permission to run code"),
                        ("admin", "Administrators of the project"),
                        ("nobody", "Nobody: it is only read"),
                    ],
                    default="execute",
                    max_length=8,
                ),
            ),
            ("tested", models.JSONField(blank=True, null=True)),
            ("tested_at", models.DateTimeField(blank=True, null=True)),
            ("connected_at", models.DateTimeField()),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="repositories",
                    to="pipelines.project",
                ),
            ),
            (
                "host",
                models.CharField(
                    blank=True,
                    help_text="A key of work/hosts/table.py, or none; empty: as the address says.",
                    max_length=20,
                ),
            ),
            (
                "host_app",
                models.CharField(
                    blank=True,
                    help_text="The client id of a GitHub App whose private key the secret is.",
                    max_length=64,
                ),
            ),
            (
                "host_credential",
                models.CharField(
                    blank=True,
                    help_text="The name of a stored secret. Empty: the credential of https.",
                    max_length=64,
                ),
            ),
            (
                "page",
                models.CharField(
                    blank=True, help_text="Its page on the host. Empty: as the address says.", max_length=1000
                ),
            ),
            (
                "hook_secret",
                models.CharField(
                    blank=True,
                    help_text="The name of the stored secret that signs what its host sends.",
                    max_length=64,
                ),
            ),
            ("prepare", models.JSONField(blank=True, default=dict)),
            ("proposed", models.JSONField(blank=True, null=True)),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("project", "name"), name="repository_name_in_project"),
                models.CheckConstraint(
                    condition=models.Q(("pushing__in", ["execute", "admin", "nobody"])),
                    name="repository_pushing_known",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Delivery",
        fields=[
            (
                "job",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    primary_key=True,
                    related_name="delivery",
                    serialize=False,
                    to="pipelines.job",
                ),
            ),
            ("repository_name", models.CharField(max_length=100)),
            ("to", models.CharField(help_text="merge, request or push", max_length=8)),
            ("branch", models.CharField(help_text="That was pushed to.", max_length=200)),
            ("base", models.CharField(max_length=64)),
            ("tree", models.CharField(max_length=64)),
            ("commit", models.CharField(blank=True, max_length=64)),
            ("moved", models.BooleanField(default=False, help_text="The branch stood elsewhere.")),
            ("cleared_at", models.DateTimeField()),
            ("landed_at", models.DateTimeField(blank=True, null=True)),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="deliveries",
                    to="pipelines.task",
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    help_text="Where it was approved.",
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.gatevisit",
                ),
            ),
            (
                "repository",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to="pipelines.repository",
                ),
            ),
            (
                "request",
                models.JSONField(
                    blank=True,
                    help_text="{host, number, sign, url} of the request that is open for it.",
                    null=True,
                ),
            ),
            (
                "approved",
                models.CharField(
                    blank=True,
                    help_text="What people approved, where the tree is that change on a moved base.",
                    max_length=64,
                ),
            ),
            (
                "kept_tree",
                models.CharField(
                    blank=True,
                    help_text="What the approved change makes of that, where it is the same change; see law §15.",
                    max_length=64,
                ),
            ),
            ("moved_to", models.CharField(blank=True, help_text="Where it stood.", max_length=64)),
            ("at_host", models.BooleanField(default=False, help_text="The host has it in its queue.")),
            (
                "head",
                models.CharField(
                    blank=True,
                    help_text="What the host merges: the commit of the task’s branch.",
                    max_length=64,
                ),
            ),
            (
                "landed_tree",
                models.CharField(
                    blank=True,
                    help_text="The files that landed, where the host merged them with those of others.",
                    max_length=64,
                ),
            ),
            (
                "way",
                models.CharField(
                    blank=True,
                    help_text="merge or queue: the host merges it. Empty: Gateline pushes it.",
                    max_length=5,
                ),
            ),
            (
                "people",
                models.JSONField(
                    blank=True,
                    help_text="{requester, producers, protection} as it was cleared; null before that was kept.",
                    null=True,
                ),
            ),
        ],
        options={
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        ("landed_at__isnull", True), models.Q(("commit", ""), _negated=True), _connector="OR"
                    ),
                    name="what_landed_has_a_commit",
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="VisitCommit",
        fields=[
            (
                "job",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    primary_key=True,
                    related_name="visit_commit",
                    serialize=False,
                    to="pipelines.job",
                ),
            ),
            ("repository_name", models.CharField(max_length=100)),
            ("branch", models.CharField(max_length=200)),
            ("base_branch", models.CharField(max_length=200)),
            ("base", models.CharField(max_length=64)),
            ("head", models.CharField(max_length=64)),
            ("tree", models.CharField(max_length=64)),
            ("created_at", models.DateTimeField()),
            (
                "pack",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="pipelines.blob",
                ),
            ),
            (
                "repository",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to="pipelines.repository",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="visit_commits",
                    to="pipelines.task",
                ),
            ),
            (
                "before",
                models.JSONField(
                    default=dict,
                    help_text="{path: its entry at the base, or null} of what changed since the base.",
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="SeenTree",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("moment", models.DateTimeField()),
            ("digest", models.CharField(max_length=64)),
            ("at", models.DateTimeField()),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to="pipelines.task"
                ),
            ),
            (
                "token",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to="pipelines.token"
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("user", "task", "digest"), name="one_row_per_seen_tree")
            ],
        },
    ),
    migrations.CreateModel(
        name="ViewedFile",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("path", models.TextField()),
            ("content", models.CharField(max_length=65)),
            ("at", models.DateTimeField()),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to="pipelines.task"
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
            ("marked", models.BooleanField(default=True, db_default=True)),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(
                    fields=("user", "task", "path", "content"), name="one_mark_per_viewed_file"
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="HostLink",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "kind",
                models.CharField(
                    choices=[("issue", "Issue"), ("request", "Request"), ("branch", "Branch")], max_length=7
                ),
            ),
            ("number", models.PositiveBigIntegerField()),
            ("sign", models.CharField(default="#", max_length=1)),
            ("url", models.CharField(max_length=1000)),
            (
                "repository",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to="pipelines.repository",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="host_links",
                    to="pipelines.task",
                ),
            ),
        ],
        options={
            "indexes": [models.Index(fields=["repository", "kind", "number"], name="link_by_number")],
            "constraints": [
                models.UniqueConstraint(fields=("task", "kind", "number"), name="one_link_of_a_task")
            ],
        },
    ),
    migrations.CreateModel(
        name="HostNotice",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("about", models.CharField(max_length=60)),
            (
                "state",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("sent", "Sent"),
                        ("failed", "Failed"),
                        ("dropped", "Dropped"),
                    ],
                    default="queued",
                    max_length=7,
                ),
            ),
            ("error", models.TextField(blank=True)),
            ("created_at", models.DateTimeField()),
            ("sent_at", models.DateTimeField(blank=True, null=True)),
            (
                "link",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="notices",
                    to="pipelines.hostlink",
                ),
            ),
            ("queued_at", models.DateTimeField(help_text="When it was put into the queue last.")),
        ],
        options={
            "indexes": [
                models.Index(condition=models.Q(("state", "queued")), fields=["id"], name="notice_queued")
            ],
            "constraints": [models.UniqueConstraint(fields=("link", "about"), name="one_notice_of_a_kind")],
        },
    ),
    migrations.CreateModel(
        name="IssueTrigger",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "on",
                models.CharField(
                    choices=[("label", "gets the label"), ("assignee", "is assigned to")],
                    default="label",
                    max_length=8,
                ),
            ),
            ("value", models.CharField(max_length=100)),
            ("created_at", models.DateTimeField()),
            (
                "line",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="issue_triggers",
                    to="pipelines.line",
                ),
            ),
            (
                "made_by",
                models.ForeignKey(
                    help_text="It starts tasks as long as this person may.",
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "repository",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="triggers",
                    to="pipelines.repository",
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(
                    fields=("repository", "line", "on", "value"), name="one_trigger_of_a_kind"
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="HookReceipt",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "digest",
                models.CharField(help_text="SHA-256 of the body, which is what was signed.", max_length=64),
            ),
            ("said", models.CharField(help_text="What became of it.", max_length=500)),
            ("at", models.DateTimeField()),
            (
                "repository",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="hook_receipts",
                    to="pipelines.repository",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to="pipelines.task",
                ),
            ),
        ],
        options={
            "indexes": [models.Index(fields=["repository", "-at"], name="hook_receipt_latest")],
            "constraints": [
                models.UniqueConstraint(fields=("repository", "digest"), name="each_delivery_once")
            ],
        },
    ),
    migrations.CreateModel(
        name="SampledDraw",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("gate", models.CharField(max_length=64)),
            ("about", models.CharField(max_length=80)),
            (
                "line",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to="pipelines.line"
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("line", "gate", "about"), name="one_draw_per_gate_and_change")
            ],
        },
    ),
    migrations.CreateModel(
        name="BranchPush",
        fields=[
            (
                "job",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    primary_key=True,
                    related_name="branch_push",
                    serialize=False,
                    to="pipelines.job",
                ),
            ),
            ("commit", models.CharField(max_length=64)),
            ("who", models.CharField(help_text="As the host or the commits name them.", max_length=200)),
            ("at", models.DateTimeField()),
            ("people", models.ManyToManyField(related_name="+", to=settings.AUTH_USER_MODEL)),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="branch_pushes",
                    to="pipelines.task",
                ),
            ),
            (
                "by_host",
                models.BooleanField(
                    default=False, help_text="The host named them, and not the commits alone."
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("task", "commit"), name="a_pushed_commit_is_one_visit")
            ],
        },
    ),
    migrations.CreateModel(
        name="RunnerResult",
        fields=[
            (
                "job",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    primary_key=True,
                    related_name="runner_result",
                    serialize=False,
                    to="pipelines.job",
                ),
            ),
            ("lease", models.UUIDField()),
            (
                "facts",
                models.JSONField(default=dict, help_text="{git: …}, as computed from what was uploaded."),
            ),
            (
                "before",
                models.CharField(help_text="The files before the work: a digest or tree.", max_length=64),
            ),
            ("tree", models.CharField(help_text="The files after it.", max_length=64)),
            ("at", models.DateTimeField()),
        ],
    ),
    migrations.CreateModel(
        name="RunnerUpload",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("lease", models.UUIDField()),
            ("at", models.DateTimeField()),
            (
                "blob",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="+", to="pipelines.blob"
                ),
            ),
            (
                "job",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="runner_uploads",
                    to="pipelines.job",
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("job", "lease", "blob"), name="one_runner_upload_of_a_blob")
            ],
        },
    ),
    migrations.CreateModel(
        name="Absence",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("until", models.DateTimeField(help_text="From then on it counts no more.")),
            ("created_at", models.DateTimeField()),
            (
                "project",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="absences",
                    to="pipelines.project",
                ),
            ),
            (
                "stand_in",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="stands_in_for",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="absences",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(
                    fields=("user", "project"), name="one_absence_per_project", nulls_distinct=False
                ),
                models.CheckConstraint(
                    condition=models.Q(("user", models.F("stand_in")), _negated=True),
                    name="nobody_stands_in_for_themselves",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="StationTrial",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("station", models.CharField(max_length=64)),
            ("document", models.JSONField(help_text="The line as it is drawn, stored or not.")),
            ("inputs", models.JSONField(default=dict)),
            (
                "context",
                models.JSONField(default=dict, help_text="What earlier stations are said to have handed on."),
            ),
            (
                "source",
                models.BigIntegerField(
                    blank=True,
                    help_text="The recorded run whose inputs and files it gets; empty: typed.",
                    null=True,
                ),
            ),
            (
                "state",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("running", "Running"),
                        ("done", "Done"),
                        ("cancelled", "Cancelled"),
                    ],
                    default="queued",
                    max_length=10,
                ),
            ),
            ("log", models.TextField(blank=True, help_text="Whole lines, each “seconds<TAB>text”; bounded.")),
            ("outcome", models.JSONField(blank=True, null=True)),
            (
                "why",
                models.CharField(
                    blank=True, help_text="A key of pipelines.lines.trials.ENDED.", max_length=40
                ),
            ),
            ("created_at", models.DateTimeField()),
            ("started_at", models.DateTimeField(blank=True, null=True)),
            (
                "seen_at",
                models.DateTimeField(
                    blank=True, help_text="When its worker last said that it goes on.", null=True
                ),
            ),
            ("ended_at", models.DateTimeField(blank=True, null=True)),
            (
                "by",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
            (
                "line",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="trials", to="pipelines.line"
                ),
            ),
        ],
        options={
            "indexes": [models.Index(fields=["created_at"], name="trial_by_age")],
            "constraints": [
                models.UniqueConstraint(
                    condition=models.Q(("state__in", ["queued", "running"])),
                    fields=("by",),
                    name="one_open_trial_per_person",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("outcome__isnull", False), ("state", "done")),
                        models.Q(models.Q(("state", "done"), _negated=True), ("outcome__isnull", True)),
                        _connector="OR",
                    ),
                    name="a_done_trial_has_an_outcome",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="TaskText",
        fields=[
            (
                "task",
                models.OneToOneField(
                    db_constraint=False,
                    on_delete=django.db.models.deletion.DO_NOTHING,
                    primary_key=True,
                    related_name="+",
                    serialize=False,
                    to="pipelines.task",
                ),
            ),
            ("text", models.TextField()),
        ],
    ),
    migrations.CreateModel(
        name="AllowedFolder",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("path", models.CharField(max_length=4096)),
            ("device", models.DecimalField(decimal_places=0, max_digits=20)),
            ("inode", models.DecimalField(decimal_places=0, max_digits=20)),
            (
                "origin",
                models.CharField(
                    choices=[
                        ("administrator", "Allowed by an administrator"),
                        ("prepared", "Prepared by Gateline"),
                        ("connected", "Connected before permissions were kept"),
                    ],
                    default="administrator",
                    max_length=16,
                ),
            ),
            ("allowed_at", models.DateTimeField()),
            (
                "allowed_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "owner",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="allowed_folders",
                    to="pipelines.owner",
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("owner", "path"), name="folder_allowed_once"),
                models.CheckConstraint(
                    condition=models.Q(("origin__in", ["administrator", "prepared", "connected"])),
                    name="folder_origin_known",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="RepositoryProtection",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "place",
                models.CharField(
                    blank=True,
                    help_text="Host and path, however it is addressed. Empty: all of them.",
                    max_length=1000,
                ),
            ),
            (
                "rules",
                models.JSONField(
                    help_text="Approvals, groups and gates that are asked for, and whether two people publish."
                ),
            ),
            (
                "owner",
                models.ForeignKey(
                    blank=True,
                    help_text="It holds in every project of the owner, and its administrators alone change it.",
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="protections",
                    to="pipelines.owner",
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="protections",
                    to="pipelines.project",
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("project", "place"), name="protection_of_project_and_place"),
                models.UniqueConstraint(fields=("owner", "place"), name="protection_of_owner_and_place"),
                models.CheckConstraint(
                    condition=models.Q(("project__isnull", True), ("owner__isnull", True), _connector="XOR"),
                    name="protection_of_one_of_both",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="PublishRequest",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "draft",
                models.PositiveIntegerField(help_text="The number of the draft; another one makes it void."),
            ),
            (
                "digest",
                models.CharField(help_text="Of the draft: other content makes it void.", max_length=64),
            ),
            ("name", models.CharField(blank=True, max_length=200)),
            ("requested_at", models.DateTimeField()),
            (
                "state",
                models.CharField(
                    choices=[
                        ("open", "Waits for another designer"),
                        ("published", "Published"),
                        ("sent_back", "Sent back"),
                        ("replaced", "Asked for anew"),
                    ],
                    default="open",
                    max_length=9,
                ),
            ),
            ("decided_at", models.DateTimeField(blank=True, null=True)),
            ("reason", models.TextField(blank=True)),
            (
                "requested_by",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "decided_by",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "line",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="publish_requests",
                    to="pipelines.line",
                ),
            ),
            (
                "version",
                models.OneToOneField(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.lineversion",
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(
                    condition=models.Q(("state", "open")),
                    fields=("line",),
                    name="one_open_publish_request_of_a_line",
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="HealthBreach",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("figure", models.CharField(max_length=30)),
            (
                "of",
                models.CharField(
                    blank=True, help_text="Line and gate, of the refusals of one gate.", max_length=300
                ),
            ),
            ("since", models.DateTimeField()),
            (
                "project",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.project",
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("project", "figure", "of"), name="one_breach_of_a_figure")
            ],
        },
    ),
]


class Unrendered(migrations.SeparateDatabaseAndState):
    """Tells the models without rendering those of before again for each of them, which took ten seconds."""

    def state_forwards(self, app_label, state):
        state.__dict__.pop("apps", None)
        super().state_forwards(app_label, state)


class Migration(migrations.Migration):
    initial = True
    replaces = [("pipelines", name) for name in REPLACED]
    dependencies = [("auth", "0012_alter_user_first_name_max_length")]
    operations = [
        # Functions may speak of tables that come after them.
        migrations.RunSQL("SET LOCAL check_function_bodies = false", migrations.RunSQL.noop),
        Unrendered([migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"))], MODELS),
    ]
