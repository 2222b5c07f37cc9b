"""Logging: structlog renders every record, its own and the standard library's, as one line or as JSON."""

from __future__ import annotations

import logging
import logging.config
import re
import sys
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured

from pipelines.ports.bus import errors_with_redis_if_loaded
from pipelines.routing.basics.hidden_characters import escape_hidden


class RefusedWithoutTraceback(logging.Filter):
    """Log filter that reduces refusals to a client (4xx) to one line: the place in our code that noticed it
    is no news."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        return True


class BusAwayWithoutTraceback(logging.Filter):
    """Log filter that drops tracebacks while Redis is away: its client reports it every second, and the
    sockets heal from the database meanwhile."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, errors_with_redis_if_loaded(OSError)):
            record.msg, record.args = "the bus is away: %s", (error,)
            record.exc_info = record.exc_text = None
        return True


LINKS = re.compile(r"(/(?:decide|join|sign-in)/)[^/\s]+")
"""Addresses whose last part opens something: Django names the address of whatever is refused, by 429 for instance."""


def _event_safe_to_read(
    logger: Any, method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """No text of a client acts on the terminal of who reads the log, and no link in it still opens anything."""
    return {key: _visible_text(value) if isinstance(value, str) else value for key, value in event.items()}


def _visible_text(text: str) -> str:
    return LINKS.sub(r"\1…", escape_hidden(text))


def configure_logging(*, level: str, as_json: bool) -> None:
    if level not in logging.getLevelNamesMapping():
        raise ImproperlyConfigured(f"LOG_LEVEL is “{level}”. Use DEBUG, INFO, WARNING or ERROR.")
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.processors.StackInfoRenderer(),
        _event_safe_to_read,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    last: list[structlog.typing.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if as_json:
        last += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # The default would print the values of local variables, and some of them are secrets.
        plain = structlog.dev.plain_traceback
        last += [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "line": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": last,
                }
            },
            "filters": {
                "refused": {"()": RefusedWithoutTraceback},
                "away": {"()": BusAwayWithoutTraceback},
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                "django.request": {"filters": ["refused"]},
                "channels_redis.pubsub": {"filters": ["away"]},
                # Every request and every polled job would be a line.
                "daphne": {"level": "WARNING"},
                "procrastinate": {"level": "WARNING"},
                "asyncio": {"level": "WARNING"},
                # An address that is called may hold a secret; at DEBUG they would also tell headers and bodies.
                "httpx2": {"level": "WARNING"},
                "httpcore2": {"level": "WARNING"},
                "openai": {"level": "WARNING"},
                "django.channels.server": {"level": "WARNING"},
                # At DEBUG it would tell all that a page was drawn from: links of invitations, values of variables.
                "django.template": {"level": "INFO"},
            },
        }
    )
