"""All tables of reviews, mails and chats: `schema.sql` makes them in the database, the operations tell Django's models of them."""

import uuid
from pathlib import Path

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

SCHEMA = Path(__file__).with_name("schema.sql")
REPLACED = [
    "0001_initial",
    "0002_overdue_mail",
    "0003_notices",
    "0004_notifications",
    "0005_review_index",
    "0006_remarks",
    "0007_mail_links",
    "0008_channels",
    "0009_chat_accounts",
    "0010_follows",
    "0012_asked_places",
    "0013_attention",
    "0014_sittings",
    "0015_owners_and_reminders",
]
"""The single steps of before: a database that has all of them goes on from here."""

MODELS = [
    migrations.CreateModel(
        name="Mail",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("address", models.EmailField(blank=True, max_length=254)),
            (
                "kind",
                models.CharField(
                    choices=[
                        ("asked", "Review asked"),
                        ("soon", "Review due soon"),
                        ("overdue", "Review overdue"),
                        ("closed", "Review closed"),
                    ],
                    max_length=8,
                ),
            ),
            ("token", models.UUIDField(default=uuid.uuid4, help_text="The unique part of the Message-ID.")),
            (
                "state",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("sent", "Sent"),
                        ("failed", "Failed"),
                        ("digest", "In the digest"),
                        ("skipped", "Not wanted"),
                    ],
                    default="queued",
                    max_length=8,
                ),
            ),
            ("error", models.TextField(blank=True)),
            ("created_at", models.DateTimeField()),
            ("sent_at", models.DateTimeField(blank=True, null=True)),
            (
                "visit",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="mails",
                    to="pipelines.gatevisit",
                ),
            ),
            (
                "chosen",
                models.BooleanField(
                    default=False, help_text="Its reader asked for it; the gate does not name the address."
                ),
            ),
            (
                "number",
                models.PositiveSmallIntegerField(default=1, help_text="Of a reminder: 0 before it is due."),
            ),
        ],
        options={
            "verbose_name_plural": "mail",
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("state", "sent"), _negated=True),
                        ("sent_at__isnull", False),
                        _connector="OR",
                    ),
                    name="a_sent_mail_has_its_time",
                ),
                models.UniqueConstraint(
                    fields=("visit", "address", "kind", "number"), name="one_mail_of_each_kind"
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Notice",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "kind",
                models.CharField(
                    choices=[
                        ("escalated", "Escalated"),
                        ("breached", "Not answered in time"),
                        ("deadlock", "Deadlock"),
                    ],
                    max_length=9,
                ),
            ),
            ("about", models.UUIDField(help_text="The escalation or deadlock.")),
            ("address", models.EmailField(blank=True, max_length=254)),
            ("token", models.UUIDField(default=uuid.uuid4, help_text="The unique part of the Message-ID.")),
            (
                "state",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("sent", "Sent"),
                        ("failed", "Failed"),
                        ("digest", "In the digest"),
                        ("skipped", "Not wanted"),
                    ],
                    default="queued",
                    max_length=8,
                ),
            ),
            ("error", models.TextField(blank=True)),
            ("created_at", models.DateTimeField()),
            ("sent_at", models.DateTimeField(blank=True, null=True)),
            (
                "task",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="notices", to="pipelines.task"
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(
                    fields=("about", "address", "kind"), name="one_notice_per_address_and_kind"
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="Digest",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("address", models.EmailField(blank=True, max_length=254)),
            ("token", models.UUIDField(default=uuid.uuid4, help_text="The unique part of the Message-ID.")),
            (
                "state",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("sent", "Sent"),
                        ("failed", "Failed"),
                        ("digest", "In the digest"),
                        ("skipped", "Not wanted"),
                    ],
                    default="queued",
                    max_length=8,
                ),
            ),
            ("error", models.TextField(blank=True)),
            ("created_at", models.DateTimeField()),
            ("sent_at", models.DateTimeField(blank=True, null=True)),
            ("due_at", models.DateTimeField()),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="digests",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "constraints": [models.UniqueConstraint(fields=("user", "due_at"), name="one_digest_at_a_time")],
        },
    ),
    migrations.CreateModel(
        name="Notification",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("address", models.EmailField(blank=True, max_length=254)),
            ("token", models.UUIDField(default=uuid.uuid4, help_text="The unique part of the Message-ID.")),
            (
                "state",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("sent", "Sent"),
                        ("failed", "Failed"),
                        ("digest", "In the digest"),
                        ("skipped", "Not wanted"),
                    ],
                    default="queued",
                    max_length=8,
                ),
            ),
            ("error", models.TextField(blank=True)),
            ("created_at", models.DateTimeField()),
            ("sent_at", models.DateTimeField(blank=True, null=True)),
            ("kind", models.CharField(help_text="A key of `reviews.notifications.table`.", max_length=24)),
            (
                "about",
                models.CharField(
                    help_text="What it speaks of, named so that it is told once.", max_length=80
                ),
            ),
            ("data", models.JSONField(default=dict, help_text="What its sentence names besides the task.")),
            ("bell", models.BooleanField(default=True, help_text="Shown behind the bell.")),
            ("read_at", models.DateTimeField(blank=True, null=True)),
            (
                "digest",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="items",
                    to="reviews.digest",
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="notifications",
                    to="pipelines.project",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="notifications",
                    to="pipelines.task",
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="notifications",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(fields=["user", "-id"], name="notification_of_person"),
                models.Index(
                    condition=models.Q(("bell", True), ("read_at__isnull", True)),
                    fields=["user"],
                    name="notification_unread",
                ),
                models.Index(
                    condition=models.Q(("digest__isnull", True), ("state", "digest")),
                    fields=["user"],
                    name="notification_for_digest",
                ),
                models.Index(fields=["created_at"], name="notification_by_age"),
                models.Index(
                    condition=models.Q(("kind", "review"), ("read_at__isnull", True)),
                    fields=["about"],
                    name="notification_of_review",
                ),
            ],
            "constraints": [
                models.UniqueConstraint(fields=("user", "kind", "about"), name="one_notification_of_an_event")
            ],
        },
    ),
    migrations.CreateModel(
        name="NotificationSettings",
        fields=[
            (
                "user",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    primary_key=True,
                    related_name="notification_settings",
                    serialize=False,
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "choices",
                models.JSONField(
                    default=dict, help_text="{kind: {bell: yes or no, mail: now, named, digest or never}}"
                ),
            ),
            (
                "digest_hour",
                models.PositiveSmallIntegerField(
                    default=8, validators=[django.core.validators.MaxValueValidator(23)]
                ),
            ),
            (
                "quiet_from",
                models.PositiveSmallIntegerField(
                    blank=True, null=True, validators=[django.core.validators.MaxValueValidator(23)]
                ),
            ),
            (
                "quiet_until",
                models.PositiveSmallIntegerField(
                    blank=True, null=True, validators=[django.core.validators.MaxValueValidator(23)]
                ),
            ),
        ],
        options={
            "verbose_name_plural": "notification settings",
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        ("digest_hour__lte", 23),
                        models.Q(("quiet_from__isnull", True), ("quiet_from__lte", 23), _connector="OR"),
                        models.Q(("quiet_until__isnull", True), ("quiet_until__lte", 23), _connector="OR"),
                    ),
                    name="notification_hours_of_a_day",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("quiet_from__isnull", True), ("quiet_until__isnull", True)),
                        models.Q(("quiet_from__isnull", False), ("quiet_until__isnull", False)),
                        _connector="OR",
                    ),
                    name="quiet_hours_have_both_ends",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="Remark",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("path", models.TextField()),
            ("side", models.CharField(choices=[("old", "Before"), ("new", "Now")], max_length=3)),
            ("line", models.PositiveIntegerField()),
            ("content", models.CharField(max_length=64)),
            ("quoted", models.TextField(blank=True)),
            ("text", models.TextField()),
            ("at", models.DateTimeField()),
            (
                "resolution",
                models.CharField(
                    blank=True,
                    choices=[("", "Not checked"), ("resolved", "Resolved"), ("open", "Not resolved")],
                    default="",
                    max_length=8,
                ),
            ),
            (
                "checked_in",
                models.ForeignKey(
                    blank=True,
                    help_text="In which round its author said so.",
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to="pipelines.gatevisit",
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="remarks",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="remarks",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
        options={
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(("resolution__in", ["", "resolved", "open"])),
                    name="remark_resolution_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(("line__gte", 1), ("side__in", ["old", "new"])),
                    name="remark_names_a_line",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="MailLink",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("digest", models.CharField(max_length=64, unique=True)),
            ("token_version", models.PositiveIntegerField()),
            ("evidence_digest", models.CharField(max_length=64)),
            ("created_at", models.DateTimeField()),
            ("used_at", models.DateTimeField(blank=True, null=True)),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="mail_links",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="AskedPlace",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("gate", models.CharField(max_length=64)),
            ("kind", models.CharField(help_text="role, group, user or owner", max_length=5)),
            ("name", models.CharField(max_length=150)),
            ("first", models.BooleanField()),
            (
                "barred",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.IntegerField(),
                    default=list,
                    help_text="Requester and producers, where they may not decide.",
                    size=None,
                ),
            ),
            ("opened_at", models.DateTimeField()),
            ("order_at", models.DateTimeField()),
            (
                "line",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.line",
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.project",
                ),
            ),
            (
                "requester",
                models.ForeignKey(
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="asked_places",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(
                    fields=["project", "kind", "name", "order_at", "visit"],
                    include=("barred", "line", "gate", "opened_at"),
                    name="asked_in_order",
                ),
                models.Index(
                    condition=models.Q(("first", True)),
                    fields=["project", "order_at", "visit"],
                    name="asked_of_team",
                ),
                models.Index(
                    condition=models.Q(("first", True)),
                    fields=["requester", "order_at", "visit"],
                    name="asked_by_requester",
                ),
            ],
            "constraints": [
                models.UniqueConstraint(fields=("visit", "kind", "name"), name="one_place_of_a_visit"),
                models.UniqueConstraint(
                    condition=models.Q(("first", True)), fields=("visit",), name="one_first_place_of_a_visit"
                ),
                models.CheckConstraint(
                    condition=models.Q(("kind__in", ["role", "group", "user", "owner"])),
                    name="asked_kind_known",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="ChannelConnection",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("kind", models.CharField(max_length=20)),
            ("name", models.CharField(max_length=100)),
            ("address", models.CharField(max_length=500)),
            ("room", models.CharField(blank=True, max_length=200)),
            ("secret", models.TextField(blank=True)),
            ("enabled", models.BooleanField(default=True)),
            ("created_at", models.DateTimeField()),
            (
                "created_by",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="channels",
                    to="pipelines.project",
                ),
            ),
            (
                "signing",
                models.TextField(
                    blank=True,
                    help_text="What the chat signs its calls with, encrypted. Without one it decides nothing.",
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("project", "name"), name="channel_name_in_project")
            ],
        },
    ),
    migrations.CreateModel(
        name="ChannelMessage",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            (
                "kind",
                models.CharField(
                    choices=[("opened", "Review opened"), ("closed", "Review over"), ("test", "Test")],
                    max_length=6,
                ),
            ),
            ("token", models.UUIDField(default=uuid.uuid4, unique=True)),
            (
                "state",
                models.CharField(
                    choices=[
                        ("queued", "Queued"),
                        ("sent", "Sent"),
                        ("failed", "Failed"),
                        ("skipped", "Nothing to tell"),
                    ],
                    default="queued",
                    max_length=7,
                ),
            ),
            ("ref", models.CharField(blank=True, max_length=200)),
            ("error", models.TextField(blank=True)),
            ("attempts", models.PositiveIntegerField(default=0)),
            ("created_at", models.DateTimeField()),
            ("sent_at", models.DateTimeField(blank=True, null=True)),
            (
                "connection",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="messages",
                    to="reviews.channelconnection",
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="channel_messages",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(
                    condition=models.Q(("state", "failed")),
                    fields=["connection", "-created_at"],
                    name="dead_letters",
                )
            ],
            "constraints": [
                models.UniqueConstraint(
                    fields=("visit", "connection", "kind"), name="one_message_per_visit_and_kind"
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="ChatAccount",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("workspace", models.CharField(max_length=64)),
            ("account", models.CharField(help_text="The id of the person in the workspace.", max_length=64)),
            ("linked_at", models.DateTimeField()),
            (
                "connection",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="accounts",
                    to="reviews.channelconnection",
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="chat_accounts",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(
                    fields=("connection", "workspace", "account"), name="one_person_of_a_chat_account"
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="ChatCode",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("digest", models.CharField(max_length=64, unique=True)),
            ("expires_at", models.DateTimeField()),
            (
                "connection",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="reviews.channelconnection",
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
                models.UniqueConstraint(fields=("connection", "user"), name="one_chat_code_of_a_person")
            ],
        },
    ),
    migrations.CreateModel(
        name="Follow",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("station", models.CharField(blank=True, max_length=64)),
            ("at", models.DateTimeField()),
            (
                "line",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.line",
                ),
            ),
            (
                "project",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.project",
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    blank=True,
                    null=True,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="pipelines.task",
                ),
            ),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="follows",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "constraints": [
                models.UniqueConstraint(fields=("user", "task"), name="one_follow_of_a_task"),
                models.UniqueConstraint(fields=("user", "line", "station"), name="one_follow_of_a_line"),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("line__isnull", True), ("station", ""), ("task__isnull", False)),
                        models.Q(("line__isnull", False), ("task__isnull", True)),
                        _connector="OR",
                    ),
                    name="a_follow_has_one_thing",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="ReviewClaim",
        fields=[
            (
                "visit",
                models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE,
                    primary_key=True,
                    related_name="claim",
                    serialize=False,
                    to="pipelines.gatevisit",
                ),
            ),
            ("at", models.DateTimeField()),
            ("until", models.DateTimeField(help_text="From then on it counts no more.")),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="ReviewQuestion",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("gate", models.CharField(max_length=64)),
            ("text", models.TextField()),
            ("at", models.DateTimeField()),
            ("answer", models.TextField(blank=True)),
            ("answered_at", models.DateTimeField(blank=True, null=True)),
            (
                "asked",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="review_questions",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "asked_by",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
            (
                "task",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="review_questions",
                    to="pipelines.task",
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="questions",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
        options={
            "indexes": [
                models.Index(fields=["task", "gate", "id"], name="questions_of_review"),
                models.Index(fields=["visit"], name="questions_of_visit"),
                models.Index(
                    condition=models.Q(("answered_at__isnull", True)),
                    fields=["asked", "at"],
                    name="questions_open",
                ),
            ],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("answer", ""), ("answered_at__isnull", True)),
                        models.Q(("answered_at__isnull", False), models.Q(("answer", ""), _negated=True)),
                        _connector="OR",
                    ),
                    name="an_answer_has_its_time",
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="ReviewSnooze",
        fields=[
            (
                "id",
                models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
            ),
            ("until", models.DateTimeField()),
            (
                "user",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
            (
                "visit",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="snoozes",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
        options={
            "constraints": [models.UniqueConstraint(fields=("visit", "user"), name="one_snooze_of_a_visit")],
        },
    ),
    migrations.CreateModel(
        name="Sitting",
        fields=[
            ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
            ("seconds", models.FloatField(default=0)),
            ("last_at", models.DateTimeField()),
            (
                "visit",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="sittings",
                    to="pipelines.gatevisit",
                ),
            ),
        ],
    ),
]


class Unrendered(migrations.SeparateDatabaseAndState):
    """Tells the models without rendering those of before again for each of them, which took ten seconds."""

    def state_forwards(self, app_label, state):
        state.__dict__.pop("apps", None)
        super().state_forwards(app_label, state)


class Migration(migrations.Migration):
    initial = True
    replaces = [("reviews", name) for name in REPLACED]
    dependencies = [("pipelines", "0001_schema")]
    operations = [
        # Functions may speak of tables that come after them.
        migrations.RunSQL("SET LOCAL check_function_bodies = false", migrations.RunSQL.noop),
        Unrendered([migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"))], MODELS),
    ]
