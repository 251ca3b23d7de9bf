"""What writing routes needs of the world: gateway objects, what is made beside them, scripts, and who runs them.

The composition root binds these to the API client, the script library and the worker's client; tests bind them to
an in-memory server. Invariant: failures of the world are `controller.errors`; what is wrong with a script is a value.
"""

from enum import StrEnum
from typing import Protocol

from controller.domain.decision import Reference
from controller.scripts.answer import ScriptAnswer
from controller.scripts.lookup import MissingScript, Script


class Scope(StrEnum):
    """Where objects of a kind live."""

    NAMESPACED = "Namespaced"
    CLUSTER = "Cluster"


class GatewayObjects(Protocol):
    """Gateway objects of any kind, in bytes."""

    async def scope(self, reference: Reference) -> Scope | None:
        """Scope of the reference's kind, by discovery; None when the kind is not served."""
        ...

    async def read(self, reference: Reference, namespace: str) -> bytes:
        """The object as it is now. Raises NotFound, Forbidden …"""
        ...

    async def replace(self, reference: Reference, namespace: str, body: bytes) -> bytes:
        """PUT; the object as stored. Raises Conflict unless `body` has the resource version that is stored."""
        ...

    async def disown(self, reference: Reference, namespace: str, stored: bytes) -> None:
        """No field of the object as it was stored is ours any more; somebody else's write in between is left alone."""
        ...


class MadeObjects(Protocol):
    """Objects that were made for a Rollout beside its gateway objects. `kind` is any reference of their kind."""

    async def made_for(
        self, kind: Reference, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]:
        """All of the kind; none where the kind is not served."""
        ...

    async def create(self, kind: Reference, namespace: str, body: bytes) -> None:
        """POST. Raises AlreadyExists, Forbidden, Invalid …"""
        ...

    async def remove(self, kind: Reference, namespace: str, name: str, uid: str) -> None:
        """DELETE of this very object; one that is gone is no failure."""
        ...


class ScriptSource(Protocol):
    """Finds a reference's script."""

    def resolve(self, reference: Reference) -> Script | MissingScript:
        """The script, or where it was looked for in vain."""
        ...


class ScriptRunner(Protocol):
    """Runs a script somewhere safe."""

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """One call. Raises WorkerUnavailable when nothing can be said about the script."""
        ...
