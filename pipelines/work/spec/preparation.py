"""Environment that a repository declares: a command that prepares it, and services beside each station."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

WAITING: Final = 60.0
"""Seconds that a service has to answer."""


@dataclass(frozen=True)
class ServiceProgram:
    """A program that runs beside a station. It is there once `port` of the loopback takes a connection, or `health`
    ends with 0. `image`: whose files it sees in place of the runner's, "" for those."""

    name: str
    argv: tuple[str, ...]
    port: int | None = None
    health: tuple[str, ...] = ()
    seconds: float = WAITING
    image: str = ""

    def to_dict(self) -> dict[str, Any]:
        port = {} if self.port is None else {"port": self.port}
        health = {"health": list(self.health)} if self.health else {}
        seconds = {} if self.seconds == WAITING else {"seconds": self.seconds}
        image = {"image": self.image} if self.image else {}
        return {"name": self.name, **image, "argv": list(self.argv), **port, **health, **seconds}


@dataclass(frozen=True)
class Preparation:
    """`argv` is empty where nothing is prepared. `image`: whose files stations see in place of the runner's. `cache`:
    path of the lock file, "" where nothing is kept. `hosts`: what the command may reach, as `host` or `host:port`.
    `private`: those of them that may lie in a private network, allowed by an administrator of the installation."""

    argv: tuple[str, ...] = ()
    cache: str = ""
    hosts: tuple[str, ...] = ()
    services: tuple[ServiceProgram, ...] = field(default=())
    image: str = ""
    private: tuple[str, ...] = ()

    @property
    def images(self) -> tuple[str, ...]:
        """Images that a runner must have."""
        names = (self.image, *(service.image for service in self.services))
        return tuple(dict.fromkeys(filter(None, names)))

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as the repository stores it; {} where it says nothing."""
        private = {"private": list(self.private)} if self.private else {}
        fields = {
            "image": self.image,
            "argv": list(self.argv),
            "cache": self.cache,
            "network": {"egress": list(self.hosts), **private} if self.hosts else None,
            "services": [service.to_dict() for service in self.services],
        }
        return {key: value for key, value in fields.items() if value}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> Preparation:
        services = (
            ServiceProgram(
                service["name"],
                tuple(service["argv"]),
                service.get("port"),
                tuple(service.get("health", ())),
                service.get("seconds", WAITING),
                service.get("image", ""),
            )
            for service in plain.get("services", ())
        )
        network = plain.get("network") or {}
        return cls(
            tuple(plain.get("argv", ())),
            plain.get("cache", ""),
            tuple(network.get("egress", ())),
            tuple(services),
            plain.get("image", ""),
            tuple(network.get("private", ())),
        )
