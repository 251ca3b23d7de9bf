"""Scripts that ask, for `controller.outbound`: found in the library, run by the worker, with the rights of an account.

Invariant: fails closed. A script of a namespace uses a Secret, or sees an object, only if its ServiceAccount may get
it; the API server is asked each time. A script of the installation acts with nobody's rights, so it sees a Rollout of
the namespace that it works for, and nothing else (`shown_rollout`).
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from controller.domain.decision import OwnScript
from controller.domain.exchange.request import ObjectRequest
from controller.domain.traffic.plan.header import ScriptHeader
from controller.domain.traffic.tree import Tree, decode_tree
from controller.effects.gateways.contracts import AccountRights, ScriptRunner
from controller.effects.gateways.failed_writes import grant
from controller.effects.shown_rollout import ONLY_ROLLOUTS, may_be_shown, shown_of
from controller.errors import MoonshiftError, NotFound, Right
from controller.kube.resources import ROLLOUTS, Resource
from controller.outbound.fetching import Failed
from controller.outbound.script_runs import Wanted
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.script_outcome import Refused


class Objects(Protocol):
    """Objects of any kind."""

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes: ...

    async def served(self, api_version: str, kind: str) -> Resource | None: ...


Find = Callable[[str, str, OwnScript | None], Script | MissingScript]
"""The script of a purpose and a name, of the installation or of a namespace."""


class KubeAskingScripts:
    """The scripts of one process."""

    def __init__(
        self, find: Find, runner: ScriptRunner, rights: AccountRights, objects: Objects
    ) -> None:
        self._find = find
        self._runner = runner
        self._rights = rights
        self._objects = objects

    def find(self, wanted: Wanted) -> "FoundInLibrary":
        """The script. Raises `Failed` with the places where it was not found."""
        found = self._find(wanted.does, wanted.name, wanted.own)
        if isinstance(found, MissingScript):
            raise Failed(found.reason)
        return FoundInLibrary(found, self._runner)

    async def may_use(self, wanted: Wanted, secrets: Iterable[str]) -> None:
        """Raises `Failed` unless the ServiceAccount of the namespace's script may get these Secrets."""
        if wanted.own is None:
            return
        for name in secrets:
            await self._need(wanted.own, Right("get", "", "secrets", "", wanted.namespace, name))

    async def object(self, wanted: Wanted, asked: ObjectRequest) -> Tree | None:
        """An object that the script may see, None if there is none. Raises `Failed`."""
        try:
            if wanted.own is None:
                return await self._rollout(wanted, asked)
            return await self._with_rights(wanted, wanted.own, asked)
        except NotFound:
            return None
        except (MoonshiftError, ValueError) as failure:
            raise Failed(f"{wanted}: {asked.shown} cannot be read: {failure}") from failure

    async def _rollout(self, wanted: Wanted, asked: ObjectRequest) -> Tree:
        """A Rollout of the namespace, read with the controller's own rights."""
        if not may_be_shown(asked):
            raise Failed(f"{wanted}: {ONLY_ROLLOUTS}")
        return shown_of(
            decode_tree(await self._objects.get(ROLLOUTS, wanted.namespace, asked.name))
        )

    async def _with_rights(self, wanted: Wanted, own: OwnScript, asked: ObjectRequest) -> Tree:
        """An object that the ServiceAccount of the namespace's script may get."""
        kind = await self._objects.served(asked.api_version, asked.kind)
        if kind is None or not kind.namespaced:
            raise Failed(f"{wanted}: no kind of namespaces is {asked.api_version} {asked.kind}")
        await self._need(
            own, Right("get", kind.group, kind.plural, "", wanted.namespace, asked.name)
        )
        return decode_tree(await self._objects.get(kind, wanted.namespace, asked.name))

    async def _need(self, own: OwnScript, right: Right) -> None:
        needed = Right(
            right.verb,
            right.group,
            right.resource,
            right.subresource,
            right.namespace,
            right.name,
            f"{own.account_key}",
        )
        if not await self._rights.may(needed):
            raise Failed(
                f"ServiceAccount {own.account_key} may not get {right.resource} {right.name}, and the script of "
                f"ConfigMap {own.config_map_key} acts with its rights; grant it: {grant(own, needed, ('get',))}"
            )


class FoundInLibrary:
    """A script, and the worker that runs it."""

    def __init__(self, script: Script, runner: ScriptRunner) -> None:
        self._script = script
        self._runner = runner

    @property
    def header(self) -> ScriptHeader:
        """Its header."""
        return self._script.header

    async def run(self, obj: bytes, *, tenant: str, request_id: str) -> bytes:
        """Its answer for `obj`, as JSON. Raises `Failed` with its words."""
        try:
            answer = await self._runner.execute(
                self._script, obj, tenant=tenant, request_id=request_id
            )
        except MoonshiftError as failure:
            raise Failed(str(failure)) from failure
        if isinstance(answer, Refused):
            place = f"{self._script.name}:{answer.line}" if answer.line else self._script.name
            raise Failed(f"{answer.plain_message} ({place})")
        return answer.result
