"""The environment: what is read from it, and what a wrong value says."""

from __future__ import annotations

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMultiAlternatives, get_connection

from config import environment, logs, state
from tests.ops.processes import ROOT, clean_environment


def settings_of(tmp_path: Path, expression: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a fresh process answers with these variables set."""
    return subprocess.run(
        [sys.executable, "-c", f"from config import settings; print({expression})"],
        cwd=ROOT,
        env=clean_environment(
            GATELINE_HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path / "user"), **variables
        ),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.smoke(2)
@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"PORT": "eighty"}, "PORT is “eighty”"),
        ({"DATABASE_POOL": "0"}, "DATABASE_POOL is “0”"),
        ({"DEBUG": "perhaps"}, "DEBUG is “perhaps”"),
        ({"BASE_URL": "gateline.example.com"}, "BASE_URL is “gateline.example.com”"),
        ({"BASE_URL": "https://a.example/?x=1"}, "BASE_URL"),
        ({"EMAIL_URL": "pigeon://coop"}, "EMAIL_URL must begin with"),
        ({"GATELINE_NAT64_PREFIXES": "64:ff9b::/97"}, "one of 32, 40, 48, 56, 64, 96"),
        ({"GATELINE_NAT64_PREFIXES": "10.0.0.0/8"}, "GATELINE_NAT64_PREFIXES has “10.0.0.0/8”"),
        ({"GATELINE_METRICS_TOKEN": "short"}, "GATELINE_METRICS_TOKEN has 5 characters"),
        ({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL is “LOUD”"),
        ({"DATABASE_URL": "sqlite:///x.db"}, "DATABASE_URL must begin with postgres://"),
    ],
)
def test_a_wrong_value_stops_the_start_and_names_itself(
    variables: dict[str, str], said: str, tmp_path: Path
) -> None:
    answer = settings_of(tmp_path, "1", **{"GATELINE_ROLE": "web"} | variables)
    assert answer.returncode != 0 and said in answer.stderr.splitlines()[-1]


def test_a_secret_may_lie_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from-a-file\n")
    answer = settings_of(tmp_path, "[settings.SECRET_KEY, settings.REDIS_URL]", SECRET_KEY_FILE=str(file))
    assert answer.stdout.strip() == "['from-a-file', '']"


@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        (None, {}, "which cannot be read: No such file"),
        ("\n", {}, "which is empty"),
        ("key", {"SECRET_KEY": "x"}, "SECRET_KEY and SECRET_KEY_FILE are both set"),
    ],
)
def test_a_file_that_holds_no_secret_stops_the_start_in_a_sentence(
    content: str | None, more: dict[str, str], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_text(content)
    command = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=clean_environment(GATELINE_HOME=str(tmp_path / "home"), SECRET_KEY_FILE=str(file), **more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert command.returncode == 1 and said in command.stderr and "Traceback" not in command.stderr


def test_https_makes_cookies_secure_and_a_prefix_narrows_them(tmp_path: Path) -> None:
    asked = (
        "[settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_PATH, settings.FORCE_SCRIPT_NAME, settings.STATIC_URL, "
        "settings.CSRF_TRUSTED_ORIGINS, settings.SIGN_IN_LINKS, settings.ALLOWED_HOSTS[-1]]"
    )
    answer = settings_of(
        tmp_path, asked, BASE_URL="https://a.example/line/", DATABASE_URL="postgres://u:p@db.example/n"
    )
    assert answer.stdout.strip() == str(
        [True, "/line/", "/line", "/line/static/", ["https://a.example"], False, "a.example"]
    )


def test_only_the_web_process_has_a_pool(tmp_path: Path) -> None:
    asked = "'pool' in settings.DATABASES['default']['OPTIONS']"
    url = "postgres://u:p@db.example/n?sslmode=require"
    assert settings_of(tmp_path, asked, DATABASE_URL=url, GATELINE_ROLE="web").stdout == "True\n"
    assert settings_of(tmp_path, asked, DATABASE_URL=url, GATELINE_ROLE="worker").stdout == "False\n"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://post.example", ("post.example", 25, "", False, False)),
        ("smtp+tls://me%40x:p%3Aw@post.example", ("post.example", 587, "me@x", True, False)),
        ("smtps://post.example:2465", ("post.example", 2465, "", False, True)),
    ],
)
def test_mail_servers_are_one_address(
    url: str, expected: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMAIL_URL", url)
    found = environment.mail_settings(Path("/unused"))
    assert (found.host, found.port, found.user, found.starttls, found.tls) == expected


def test_without_a_mail_server_each_mail_is_a_private_file(tmp_path: Path, settings: object) -> None:
    settings.EMAIL_FILE_PATH = tmp_path / "mail"  # type: ignore[attr-defined]
    mail = EmailMultiAlternatives("Grüße", "text", "from@example.com", ["to@example.com"])
    mail.attach_alternative("<p>html</p>", "text/html")
    backend = get_connection("config.mail.FolderBackend")
    assert backend.send_messages([mail, mail]) == 2
    files = sorted((tmp_path / "mail").iterdir())
    assert [path.suffix for path in files] == [".eml", ".eml"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    read = message_from_bytes(files[0].read_bytes(), policy=policy.default)
    assert read["Subject"] == "Grüße" and read.get_content_type() == "multipart/alternative"


def test_a_first_start_of_many_processes_makes_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: state.ensure_secret_key(tmp_path / "state"), range(64)))
    assert len(keys) == 1 and len(keys.pop()) >= 50
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["secret-key"]
    assert stat.S_IMODE((tmp_path / "state" / "secret-key").stat().st_mode) == 0o600


def test_a_level_that_is_none_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="LOG_LEVEL"):
        logs.configure_logging(level="QUIET", as_json=False)


def test_every_variable_that_is_read_is_documented() -> None:
    documented = (ROOT / "docs" / "operating.md").read_text()
    source = (ROOT / "config" / "settings.py").read_text() + (ROOT / "config" / "environment.py").read_text()
    calls = (
        "env.variable_text(",
        "env.variable_flag(",
        "env.variable_number(",
        "env.variable_words(",
        "env.variable_folders(",
        "env.variable_address(",
        'text("EMAIL',
    )
    named = {
        piece.split('"')[1]
        for call in calls
        for piece in source.split(call)[1:]
        if piece.lstrip().startswith('"')
    }
    named = {name for name in named if name.isupper()} - {"GATELINE_ROLE"}
    assert len(named) > 20
    assert [name for name in sorted(named) if f"`{name}`" not in documented] == []
