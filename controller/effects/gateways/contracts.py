"""The ports through which routes are written: gateway objects, companion objects, scripts, and their runner.

The composition root binds these to the API client, the script library and the worker's client; tests bind them to an
in-memory server. Invariant: failures of the API server or the worker are `controller.errors`; a defect of a script is a
value.
"""

from enum import StrEnum
from typing import Protocol

from controller.domain.decision import Reference
from controller.errors import Right
from controller.kube.resources import Resource
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.script_outcome import ScriptAnswer


class Scope(StrEnum):
    """Where objects of a kind live."""

    NAMESPACED = "Namespaced"
    CLUSTER = "Cluster"


class GatewayObjects(Protocol):
    """Gateway objects of any kind, in bytes."""

    async def scope(self, reference: Reference) -> Scope | None:
        """Scope of the reference's kind, by discovery; None when the kind is not served."""
        ...

    async def resource(self, reference: Reference) -> Resource | None:
        """The reference's kind as it is served; None when it is not served."""
        ...

    async def read(self, reference: Reference, namespace: str) -> bytes:
        """The present object. Raises NotFound, Forbidden …"""
        ...

    async def replace(
        self, reference: Reference, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        """PUT; the object as stored. Raises Conflict unless `body` has the resource version that is stored."""
        ...

    async def take_marks_off(self, reference: Reference, namespace: str, stored: bytes) -> None:
        """Remove our annotations and our field manager in one write.

        Raises Conflict when the spec has changed since it was stored.
        """
        ...


class CompanionObjects(Protocol):
    """Companion objects of a Rollout. `kind` is any reference of their kind."""

    async def made_for(
        self, kind: Reference, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]:
        """All objects of the kind; none if the kind is not served."""
        ...

    async def create(
        self, kind: Reference, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> None:
        """POST. Raises AlreadyExists, Forbidden, Invalid …"""
        ...

    async def remove(self, kind: Reference, namespace: str, name: str, uid: str) -> None:
        """DELETE of exactly this object; an object that is gone is no failure."""
        ...


class AccountRights(Protocol):
    """The rights of ServiceAccounts, as the API server answers."""

    async def may(self, right: Right) -> bool:
        """Whether `right.account` has the right now; an unknown answer counts as a refusal."""
        ...


class ScriptSource(Protocol):
    """Finds a reference's script."""

    def resolve(self, reference: Reference) -> Script | MissingScript:
        """The script, or the places where it was not found."""
        ...


class ScriptRunner(Protocol):
    """Runs a script somewhere safe."""

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """One call. Raises WorkerUnavailable when the failure is not the script's."""
        ...
