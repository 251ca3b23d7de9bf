"""Secrets and webhook configurations in memory, with the failures of their API."""

from collections.abc import Mapping
from datetime import UTC, datetime

from controller.api.jsontree import JsonObject
from controller.api.names import MUTATING_CONFIGURATION, VALIDATING_CONFIGURATION
from controller.certificates.identity import Identity
from controller.certificates.publish import (
    CRD,
    MUTATING,
    PUBLISHED,
    VALIDATING,
)
from controller.certificates.secret import (
    SecretSnapshot,
)
from controller.errors import (
    AlreadyExists,
    Conflict,
    NotFound,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


NAMES = ("a.b.svc", "127.0.0.1")


SERVED = frozenset({"/mutate-apps-v1-deployment", "/validate-rollouts-kruise-io-rollout"})


class Secrets:
    """Secrets in memory, with versions; `race` is called before the next write."""

    def __init__(self) -> None:
        self.kept: dict[str, SecretSnapshot] = {}
        self.writes = 0
        self.race: Mapping[str, bytes] | None = None
        self.always_busy = False

    async def read(self, name: str) -> SecretSnapshot | None:
        return self.kept.get(name)

    def _somebody_else(self, name: str) -> None:
        if self.race is not None:
            data, self.race = self.race, None
            self._put(name, data)
        if self.always_busy:
            raise Conflict("busy", status=409)

    def _put(self, name: str, data: Mapping[str, bytes]) -> None:
        self.writes += 1
        self.kept[name] = SecretSnapshot(dict(data), str(self.writes))

    async def create(self, name: str, data: Mapping[str, bytes]) -> None:
        self._somebody_else(name)
        if name in self.kept:
            raise AlreadyExists("there", status=409)
        self._put(name, data)

    async def replace(self, name: str, data: Mapping[str, bytes], resource_version: str) -> None:
        self._somebody_else(name)
        if self.kept[name].resource_version != resource_version:
            raise Conflict("changed", status=409)
        self._put(name, data)


def entry(path: str) -> JsonObject:
    """A webhook that asks for `path`."""
    service: JsonObject = {"namespace": "old", "name": "old", "path": path}
    return {"name": f"w{path}", "clientConfig": {"service": service}, "failurePolicy": "Fail"}


async def our_name() -> str:
    return "us"


US = Identity(our_name)


def configuration(kind: str, name: str, *paths: str) -> JsonObject:
    """A webhook configuration."""
    return {
        "kind": kind,
        "metadata": {"name": name, "annotations": {"template": "[stale]", "theirs": "x"}},
        "webhooks": [entry(path) for path in paths],
    }


def crd(strategy: str = "Webhook") -> JsonObject:
    """The CRD's part that matters."""
    return {
        "kind": CRD,
        "metadata": {"name": PUBLISHED[0][1]},
        "spec": {"conversion": {"strategy": strategy}},
    }


class Configurations:
    """Cluster-scoped objects in memory."""

    def __init__(self) -> None:
        deploy = configuration(
            MUTATING, MUTATING_CONFIGURATION, "/mutate-apps-v1-deployment", "/gone"
        )
        check = configuration(
            VALIDATING, VALIDATING_CONFIGURATION, "/validate-rollouts-kruise-io-rollout"
        )
        self.kept = {
            (MUTATING, MUTATING_CONFIGURATION): deploy,
            (VALIDATING, VALIDATING_CONFIGURATION): check,
            PUBLISHED[0]: crd(),
        }
        self.writes: list[str] = []

    async def read(self, kind: str, name: str) -> JsonObject:
        if (kind, name) not in self.kept:
            raise NotFound("no", status=404)
        return self.kept[kind, name]

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        self.writes.append(kind)
        self.kept[kind, name] = obj
