"""Settings. They come from the environment only; docs/operating.md has the table of names."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import environment as env
from config import logs, secret_files, state
from config.embedded import layout
from pipelines.work.outgoing import authorities
from pipelines.work.workspace_folder import choice as workspace_choice

secret_files.read_secret_files_into_environment(os.environ)
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = layout.state_folder()
# web, worker or command: manage.py says which, an ASGI server that is not ours is a web process.
ROLE = env.variable_text("GATELINE_ROLE", "command")
DEBUG = env.variable_flag("DEBUG")

# Addresses
PORT = env.variable_number("PORT", 8000, least=1)
# What commands in another shell, and mails, name: `make run PORT=8123` leaves word of it in the state folder.
RUNS_AT_PORT = PORT if env.variable_text("PORT") else state.port_of_last_start(DATA_DIR, PORT)
BASE_URL = env.variable_address("BASE_URL", f"http://127.0.0.1:{RUNS_AT_PORT}")
_base = urlsplit(BASE_URL)
HTTPS = _base.scheme == "https"
# `reverse` answers with the prefix: ORIGIN + reverse(…) is an absolute address.
ORIGIN, FORCE_SCRIPT_NAME = f"{_base.scheme}://{_base.netloc}", _base.path or None
ALLOWED_HOSTS = env.variable_words("ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]", str(_base.hostname)])
CSRF_TRUSTED_ORIGINS = [ORIGIN]
# Behind a proxy that sets X-Forwarded-Proto and X-Forwarded-For itself: both are believed.
TRUST_PROXY = env.variable_flag("TRUST_PROXY")
if TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Security
SECRET_KEY = env.variable_text("SECRET_KEY") or state.ensure_secret_key(DATA_DIR)
# What stored secrets are encrypted with, the newest first; without it, a file of the state folder.
ENCRYPTION_KEYS = env.variable_words("GATELINE_ENCRYPTION_KEYS", [])
ENCRYPTION_KEY_FILE = None if ENCRYPTION_KEYS else state.ensure_encryption_keys_file(DATA_DIR)
# What receipts are signed with; without it, a file of the state folder.
RECEIPT_KEY = env.variable_text("GATELINE_RECEIPT_KEY")
RECEIPT_KEY_FILE = None if RECEIPT_KEY else state.ensure_receipt_key_file(DATA_DIR)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# Names of our own: cookies know no ports, and another Django may run on this machine
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "gateline_session", "gateline_csrf"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{_base.path}/"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
# Off: a browser would refuse http for the whole host, whatever else is served there
SECURE_HSTS_SECONDS = env.variable_number("HSTS_SECONDS", 0)
CSRF_FAILURE_VIEW = "pipelines.web.shell.errors.csrf_failed"
# The Referer of a form leads back to its page (web/shell/coming_back.py); no other site gets one
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
OIDC_ISSUER = env.variable_address("OIDC_ISSUER", "") if env.variable_text("OIDC_ISSUER") else ""
OIDC_ORIGINS = [f"{urlsplit(OIDC_ISSUER).scheme}://{urlsplit(OIDC_ISSUER).netloc}"] if OIDC_ISSUER else []
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        # A form that leads to the sign-in provider is sent on from here.
        "form-action": [SELF, *OIDC_ORIGINS],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
AUTH_USER_MODEL = "pipelines.User"
AUTHENTICATION_BACKENDS = ["pipelines.people.accounts.Backend"]
_validation = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_validation}.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "sign-in", "home", "sign-in"
# django-allauth: sign-in, reset, second factors. People come by invitation; an address needs no confirmation.
ACCOUNT_ADAPTER = "pipelines.web.account.adapter.AccountAdapter"
ACCOUNT_FORMS = {"login": "pipelines.web.account.sign_in.SignInForm"}
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_DEFAULT_HTTP_PROTOCOL = _base.scheme
ACCOUNT_SESSION_REMEMBER = True
# Each by the address it comes from, and by the name within it: guessing is slowed, and locks nobody else out.
ACCOUNT_RATE_LIMITS = {
    "login": "30/m/ip",
    "login_failed": "10/m/ip,5/5m/key",
    "reset_password": "10/m/ip,3/10m/key",
    "reset_password_from_key": "20/m/ip",
    "signup": "20/m/ip",
    "change_password": "5/m/user",
    "reauthenticate": "10/m/user",
}
MFA_ADAPTER = "pipelines.web.account.factors.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Gateline"
# A clock that is half a minute off still signs in.
MFA_TOTP_TOLERANCE = 1
MFA_ALLOW_UNVERIFIED_EMAIL = True
# A provider to sign in with (OpenID Connect), and the roles that its groups give.
OIDC_NAME = env.variable_text("OIDC_NAME", "your company")
OIDC_GROUPS_CLAIM = env.variable_text("OIDC_GROUPS_CLAIM", "groups")
OIDC_ROLES = env.roles_of_groups("OIDC_ROLES")
# A provider tells nobody whom it removed: so long tokens go on without its word, and 0 is as long as they last.
OIDC_TOKEN_DAYS = env.variable_number("OIDC_TOKEN_DAYS", 30)
SOCIALACCOUNT_ADAPTER = "pipelines.web.account.provider.ProviderAdapter"
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "oidc",
                "name": OIDC_NAME,
                "client_id": env.variable_text("OIDC_CLIENT_ID"),
                "secret": env.variable_text("OIDC_CLIENT_SECRET"),
                "settings": {"server_url": OIDC_ISSUER},
            }
        ]
        if OIDC_ISSUER
        else [],
    }
}

# Applications
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "channels",
    # Simple: its other class would put loaders and builtins into TEMPLATES by itself, in its own
    # order
    "csp",
    "django_htmx",
    "django_cotton.apps.SimpleAppConfig",
    "template_partials.apps.SimpleAppConfig",
    "procrastinate.contrib.django",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "pipelines",
    "reviews",
    "config",
]
MIDDLEWARE = [
    "config.middleware.RoomMiddleware",
    "config.middleware.ObservedRequestMiddleware",
    "config.middleware.BodylessHeadMiddleware",
    "config.middleware.DatabaseAwayMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.middleware.CompressionMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.PrivateAnswersMiddleware",
    # Before the first that asks the database, which takes no NUL
    "pipelines.web.shell.middleware.NullByteGuard",
    "pipelines.web.shell.middleware.ApiMethodProblems",
    "pipelines.web.shell.middleware.VisibleText",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    # After the sign-in is known: who has one is not counted
    "pipelines.web.shell.middleware.AnonymousLimit",
    "pipelines.web.shell.middleware.SessionActivity",
    "pipelines.web.shell.middleware.AdminGuard",
    "pipelines.web.shell.middleware.ReaderTimeZone",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_loaders: list[object] = [
    "django_cotton.cotton_loader.Loader",
    "django.template.loaders.filesystem.Loader",
    "django.template.loaders.app_directories.Loader",
]
# In development a template is read anew when it has changed
if not DEBUG:
    _loaders = [("django.template.loaders.cached.Loader", _loaders)]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [("template_partials.loader.Loader", _loaders)],
            "builtins": [
                "django_cotton.templatetags.cotton",
                "template_partials.templatetags.partials",
                "django.templatetags.static",
                "pipelines.web.help.tags",
                "pipelines.templatetags.optional",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csrf",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "pipelines.web.shell.context.shell_context",
                "reviews.mail.context.lazy_mail_folder_url",
            ],
        },
    }
]

# Database
DATABASE_URL = env.variable_text("DATABASE_URL")
# LISTEN cannot go through a transaction pooler: an address that leads straight to the server.
DATABASE_DIRECT_URL = env.variable_text("DATABASE_DIRECT_URL")
# One-time links sign in whoever sits at this machine: never with a database that others use too (house §5).
EMBEDDED_DATABASE = SIGN_IN_LINKS = not DATABASE_URL
_database = (
    dj_database_url.parse(DATABASE_URL) if DATABASE_URL else dict(layout.connection_settings(DATA_DIR))
)
if DATABASE_URL and _database.get("ENGINE") != "django.db.backends.postgresql":
    raise ImproperlyConfigured("DATABASE_URL must begin with postgres://: Gateline needs PostgreSQL.")
_options = dict(_database.get("OPTIONS", {}))  # type: ignore[call-overload]
# Else a server that is away is waited for as long as TCP tries, which is minutes
_options.setdefault("connect_timeout", 5)
_options.setdefault("application_name", f"gateline {ROLE}")
_pool = env.variable_number("DATABASE_POOL", 10, least=1)
if ROLE == "web":
    # An exhausted pool is a 503 after these seconds, not a hang (config.middleware).
    _options["pool"] = {"min_size": 1, "max_size": _pool, "timeout": 5}
# Texts that the server keeps (models/plumbing/statements.py): a pooler would hand them to another connection.
_options.setdefault("prepare_threshold", 1)
if DATABASE_DIRECT_URL:
    _options["prepare_threshold"] = None
DATABASES = {
    "default": {
        **_database,
        "ENGINE": "django.db.backends.postgresql",
        "OPTIONS": _options,
        # Beside a pool Django keeps no connections of its own, and refuses to start with any other
        # number
        "CONN_MAX_AGE": 0 if ROLE == "web" else None,
        "CONN_HEALTH_CHECKS": True,
        # Behind a pooler the next rows would be asked of another connection, which has no such
        # cursor
        "DISABLE_SERVER_SIDE_CURSORS": bool(DATABASE_DIRECT_URL),
    }
}

# Who asks much (pipelines/web/shell/costly_requests.py), and who asks without being signed in
# (pipelines/web/shell/rate_limits.py)
COSTLY_AT_ONCE = env.variable_number("GATELINE_COSTLY_AT_ONCE", max(1, _pool // 2), least=1)
COSTLY_SECONDS = env.variable_number("GATELINE_COSTLY_SECONDS", 60)
ANONYMOUS_PER_MINUTE = env.variable_number("GATELINE_ANONYMOUS_PER_MINUTE", 120)
# Who may read /metrics; without it programs of this machine (config/metrics.py).
METRICS_TOKEN = env.variable_secret("GATELINE_METRICS_TOKEN", least=16)
# Wrong tokens, and wrong links of invitations, a minute from each address; beyond it the answer is 429.
GUESSES_PER_MINUTE = 20
# Calls of one webhook a minute (pipelines/work/triggers/receiving.py); 0: any number.
WEBHOOKS_PER_MINUTE = env.variable_number("GATELINE_WEBHOOKS_PER_MINUTE", 60)

# The live bus
REDIS_URL = env.variable_text("REDIS_URL")
# What every web process has to count together: guesses. The table is made by a migration.
CACHES = {
    "default": (
        {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "gateline",
        }
        if REDIS_URL
        else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "gateline_cache"}
    )
}
CHANNEL_LAYERS = {
    "default": (
        {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": "gateline"},
        }
        if REDIS_URL
        else {"BACKEND": "pipelines.web.live.layer.PostgresLayer", "CONFIG": {"dsn": DATABASE_DIRECT_URL}}
    )
}
HINT_SINK = "pipelines.web.live.hints.push_hints"
# Every module that defines tasks of the queue; a worker imports them (`work/scheduler/known_tasks.py`).
PROCRASTINATE_IMPORT_PATHS = [
    "pipelines.work.scheduler.tickets",
    "pipelines.work.host_notifications.tasks",
    "pipelines.web.editor.drawing_tasks",
    "pipelines.lines.bulk_commands.tickets",
    "reviews.tasks",
]
# The modules are listed above: by default every app is searched for a module called tasks
PROCRASTINATE_AUTODISCOVER_MODULE_NAME = ""
OBSERVERS = [
    "reviews.observer.ReviewObserver",
    "pipelines.work.host_notifications.observer.HostObserver",
    "pipelines.work.triggers.line_end_starts.LineEndObserver",
]
# Called every hour until nothing is left: each deletes some of what is kept for a time only. The last ones decide gates
# where whoever was missing has left, read the guarantees of a version anew that was published under an earlier revision
# of the law, and look at the health of projects.
EXPIRES = [
    "pipelines.work.expiry.delete_some_expired_uploads",
    "pipelines.work.expiry.purge_some_expired_tasks",
    "pipelines.work.expiry.delete_some_released_bytes",
    "pipelines.work.runners.direct_uploads.delete_some_leftover_uploads",
    "pipelines.lines.trials.delete_some_old_trials",
    "pipelines.lines.evaluations.delete_some_old_evaluations",
    "pipelines.lines.bulk_commands.delete_some_old_commands",
    "pipelines.lines.drawings.delete_some_unused_drawings",
    "pipelines.lines.triggers.delete_some_old_deliveries",
    "reviews.notifications.retention.delete_batch_of_expired_notifications",
    "pipelines.engine.decide_gates_all_have_approved",
    "pipelines.lines.guarantee_rereads.prove_next_live_version_again",
    "pipelines.lines.health.notify_of_new_health_breaches",
]
NOTIFICATION_DAYS = env.variable_number("GATELINE_NOTIFICATION_DAYS", 90, least=0)

# Mail
_mail = env.mail_settings(DATA_DIR / "mail")
EMAIL_BACKEND, EMAIL_FILE_PATH = _mail.backend, _mail.folder
EMAIL_HOST, EMAIL_PORT, EMAIL_TIMEOUT = _mail.host, _mail.port, 30
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail.user, _mail.password
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.starttls, _mail.tls
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.variable_text("EMAIL_FROM", f"gateline@{_base.hostname}")

# Files
STATIC_URL = f"{_base.path}/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Files are served from where they lie: nothing has to be collected before a start.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
# The build puts a hash of the content into these names: what one leads to never changes
WHITENOISE_IMMUTABLE_FILE_TEST = r"/static/dist/assets/.+-[\w-]{8,}\.\w+$"
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": DATA_DIR / "files"},
    },
    "artifacts": env.artifact_storage("GATELINE_ARTIFACT_STORE", (DATA_DIR / "artifacts").as_uri()),
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# A file for an input: more than this is never written to disk whole.
UPLOAD_BYTES = env.variable_number("GATELINE_UPLOAD_MB", 50, least=1) * 1024 * 1024
# 0 keeps them.
UPLOAD_DAYS = env.variable_number("GATELINE_UPLOAD_DAYS", 90, least=0)
FILE_UPLOAD_HANDLERS = ["pipelines.web.tasks.uploads.LimitedUploadHandler"]

# Work
WORKSPACES = workspace_choice.server_choice(DATA_DIR, os.environ)
WORKSPACES_DIR = WORKSPACES.recorded_or_newly_chosen_folder()
# An upper bound: folders are allowed one by one, for one owner, and only below these. None: no bound.
REPOSITORY_ROOTS = env.variable_folders("GATELINE_REPOSITORY_ROOTS", []) or None
PRIVATE_HOSTS = env.variable_words("GATELINE_PRIVATE_HOSTS", [])
# Through which this network reaches IPv4, where it is one of IPv6 alone.
NAT64_PREFIXES = env.nat64_prefixes("GATELINE_NAT64_PREFIXES")
# Whose certificates are trusted besides the public ones: GATELINE_CA_BUNDLE.
authorities.set_trusted_authorities(env.trusted_certificates())
AGENT_COMMAND = env.variable_text("AGENT_COMMAND")
_own_tools = [BASE_DIR / "pipelines" / "lines" / "demo" / "bin", Path(sys.executable).parent]
STATION_PATH = [
    str(folder)
    for folder in dict.fromkeys(
        [
            *_own_tools,
            *env.variable_folders("GATELINE_STATION_PATH", [Path(part) for part in os.get_exec_path()]),
        ]
    )
]
_isolation = env.variable_text("GATELINE_ISOLATION", "auto")
# "auto", "none", or the words that stand before every command.
ISOLATION: str | list[str] = _isolation if _isolation in {"auto", "none"} else shlex.split(_isolation)
# What a station may use that says nothing itself: memory_mb=2048, disk_mb=8192.
STATION_RESOURCES = env.variable_pairs("GATELINE_STATION_RESOURCES")
STATION_READABLE = env.variable_folders("GATELINE_STATION_READABLE", [])
WORKER_OWNERS = env.variable_words("GATELINE_WORKER_OWNERS", [])
WORKER_LABELS = env.variable_words("GATELINE_WORKER_LABELS", [])
# What a worker with the label `evaluator` runs to answer a question of a rule, question and outcome on standard input.
EVALUATOR_COMMAND = shlex.split(env.variable_text("GATELINE_EVALUATOR_COMMAND"))
# Worker processes beside the web process of `manage.py up`; each moves tasks on one core.
WORKERS = env.variable_number("GATELINE_WORKERS", 1, least=1)
# Web processes of `manage.py up` behind its one port.
WEB_PROCESSES = env.variable_process_count("GATELINE_WEB", most=4)
# Off: the server's own workers leave commands and agents to runners on other machines.
RUN_PROGRAMS = env.variable_flag("GATELINE_RUN_PROGRAMS", True)
# On: a worker behind Landlock runs programs of several owners, whom that does not keep apart (SECURITY.md).
LANDLOCK_SEVERAL_OWNERS = env.variable_flag("GATELINE_LANDLOCK_SEVERAL_OWNERS", False)
# Coding agents that the user of this server is signed in with, for its stations: claude, or claude=/folder.
SIGNED_IN = env.variable_words("GATELINE_SIGNED_IN", [])
# On: stations that do nothing are gone through in the transaction of the move that leads to them. Nobody can come
# between two of them then.
PASS_THROUGH = env.variable_flag("GATELINE_PASS_THROUGH", False)
WORKER_CONCURRENCY = env.variable_number("GATELINE_WORKER_CONCURRENCY", 8, least=1)
# How long a runner on another machine may be cut off, and the server be away, before its work goes to another.
RUNNER_LEASE_SECONDS = env.variable_number("GATELINE_RUNNER_LEASE", 60, least=3)
WORKER_DRAIN_SECONDS = env.variable_number("GATELINE_WORKER_DRAIN", 4)

# A model behind the protocol of OpenAI, for stations that chat and for questions of rules; without an address: none.
MODEL_URL = env.variable_address("GATELINE_MODEL_URL", "") if env.variable_text("GATELINE_MODEL_URL") else ""
MODEL, MODEL_KEY = env.variable_text("GATELINE_MODEL"), env.variable_text("GATELINE_MODEL_KEY")
MODEL_TIMEOUT = env.variable_number("GATELINE_MODEL_TIMEOUT", 120, least=1)
MODEL_RETRIES = env.variable_number("GATELINE_MODEL_RETRIES", 2)
# What calls of stations may carry in a header, by name: GATELINE_SECRET_WEATHER is {secret: WEATHER}.
NAMED_SECRETS = env.variables_with_prefix("GATELINE_SECRET_")

# Language and time
LANGUAGE_CODE, TIME_ZONE, USE_I18N, USE_TZ = "en", "UTC", False, True

# Django sets up nothing here: the next line says all of it
LOGGING_CONFIG = None
logs.configure_logging(
    level=env.variable_text("LOG_LEVEL", "INFO").upper(),
    as_json=env.variable_text("LOG_FORMAT", "console") == "json",
)
