"""The Protocols through which `exchanging` finds and runs scripts, and reads objects for them.

Why Protocols: this room sends requests to other systems. It knows neither the worker that runs scripts nor the API
server; who may read an object is asked where the API server is known (`controller/effects/script_gates`).
"""

from collections.abc import Iterable
from typing import Protocol

from controller.domain.decision import OwnScript
from controller.domain.decision.value import Value
from controller.domain.exchange.answer import Does
from controller.domain.exchange.request import ObjectRequest
from controller.domain.traffic.plan.header import ScriptHeader
from controller.domain.traffic.tree import Tree


class Wanted(Value, frozen=True):
    """A script by what it does and its name; `own` is one of the namespace's ConfigMap."""

    does: Does
    name: str
    namespace: str
    own: OwnScript | None = None

    def __str__(self) -> str:
        return f"{self.does} {self.name}"


class FoundScript(Protocol):
    """A script that can be run."""

    @property
    def header(self) -> ScriptHeader:
        """Its header."""
        ...

    async def run(self, obj: bytes, *, tenant: str, request_id: str) -> bytes:
        """Its answer for `obj`, as JSON. Raises `Failed` with its words."""
        ...


class AskingScripts(Protocol):
    """Scripts of every origin, and the rights that they need."""

    def find(self, wanted: Wanted) -> FoundScript:
        """The script. Raises `Failed` with the places where it was not found."""
        ...

    async def may_use(self, wanted: Wanted, secrets: Iterable[str]) -> None:
        """Raises `Failed` unless the ServiceAccount of the namespace's script may get these Secrets."""
        ...

    async def object(self, wanted: Wanted, asked: ObjectRequest) -> Tree | None:
        """An object that the script may see, None if there is none. Raises `Failed`."""
        ...
