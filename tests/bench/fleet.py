"""Fleets of Rollouts: creates, releases, approves and deletes them.

Why it exists: every measurement uses a fleet. Invariant: a fleet has a namespace of its own, is at rest before a
release begins, and leaves no pod behind. It must not judge what it sees.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from localcluster.api import JsonObject
from localcluster.errors import NotReady
from tests.bench import objects
from tests.bench.follow import Key, Predicate, View
from tests.bench.ground import Ground
from tests.bench.objects import (
    CORE,
    DEPLOYMENTS,
    NEW_TEMPLATE,
    REPLICAS,
    ROLLOUTS,
    STEPS,
    VIRTUAL_SERVICES,
    Style,
)
from tests.bench.requests import ours_since

AT_ONCE = 16
SETTLE_SECONDS = 120.0
RELEASE_SECONDS = 180.0
QUIET_SECONDS = 1.0
PACE_SECONDS = 3.0
"""The least time between two approvals of one Rollout: a sooner approval may count as a repetition of the first."""
APPROVAL: JsonObject = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
"""As clients of the original approve."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Some Rollouts of one style in one namespace."""

    namespace: str
    style: Style
    names: tuple[str, ...]
    replicas: int
    patience: float = SETTLE_SECONDS
    """How long it may take to come to rest, and to go."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """Names of the Rollouts."""
        return tuple(Key(self.namespace, name) for name in self.names)


@asynccontextmanager
async def fleet(
    ground: Ground,
    namespace: str,
    style: Style,
    count: int,
    *,
    approvals: bool = False,
    replicas: int | None = None,
    patience: float = SETTLE_SECONDS,
) -> AsyncIterator[Fleet]:
    """A fleet at rest; it is deleted when the block ends. Each workload has the replicas of its style, or the given
    number."""
    names = tuple(objects.application_name(number) for number in range(count))
    made = Fleet(namespace, style, names, replicas or REPLICAS[style], patience)
    await ground.admin.create(f"{CORE}/namespaces", {"metadata": {"name": namespace}})
    try:
        with ground.reporter.phase(f"{namespace}: {count} Rollouts, {count * made.replicas} pods"):
            await each(_application(ground, made, name) for name in names)
            await each(
                create(ground, namespace, ROLLOUTS, "rollouts",
                       objects.rollout(name, style, approvals=approvals))
                for name in names
            )  # fmt: skip
            await at_rest(ground, made)
        yield made
    finally:
        with ground.reporter.phase(f"{namespace}: clean up"):
            await _take_away(ground, made)


async def _application(ground: Ground, made: Fleet, name: str) -> None:
    """All objects of one application except its Rollout."""
    where = made.namespace
    workload = objects.deployment(name, made.replicas)
    await create(ground, where, DEPLOYMENTS, "deployments", workload)
    await create(ground, where, CORE, "services", objects.service(name))
    await create(ground, where, VIRTUAL_SERVICES, "virtualservices", objects.virtual_service(name))


async def create(
    ground: Ground, namespace: str, root: str, plural: str, body: JsonObject
) -> JsonObject:
    """Create an object as the administrator."""
    return await ground.admin.create(f"{root}/namespaces/{namespace}/{plural}", body)


async def each(work: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Run all, with a limit of how many at once."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(item: Coroutine[Any, Any, Any]) -> None:
        async with turn:
            await item

    async with asyncio.TaskGroup() as group:
        for item in work:
            group.create_task(one(item))


async def at_rest(ground: Ground, made: Fleet) -> None:
    """Return when all pods are ready, all Rollouts Healthy, and the controller has nothing left to do."""

    def ready(view: View | None) -> bool:
        return view is not None and view.status.ready_replicas == made.replicas

    async with asyncio.timeout(made.patience):
        for key in made.keys:
            await ground.deployments.until(key, ready)
            await ground.rollouts.until(key, healthy)
        await quiet(ground, made.namespace)


async def quiet(ground: Ground, namespace: str) -> None:
    """Return when the controller has sent no request about a namespace for a while; Events are written late."""
    log = ground.plane.audit
    while True:
        mark = log.mark()
        await asyncio.sleep(QUIET_SECONDS)
        if not any(record.namespace == namespace for record in ours_since(log, mark)):
            return


async def release(ground: Ground, made: Fleet, seconds: float = RELEASE_SECONDS) -> None:
    """Change all templates at once and return when all Rollouts are done."""
    await change(ground, made)
    await wait(ground, made.keys, completed, seconds)


async def change(ground: Ground, made: Fleet, template: JsonObject = NEW_TEMPLATE) -> None:
    """Begin a release of every application."""
    root = f"{DEPLOYMENTS}/namespaces/{made.namespace}/deployments"
    await each(ground.developer.patch(f"{root}/{name}", template) for name in made.names)


async def wait(ground: Ground, keys: Iterable[Key], predicate: Predicate, seconds: float) -> None:
    """Return when all Rollouts satisfy the condition; an error names the others."""
    pending = tuple(keys)
    try:
        async with asyncio.timeout(seconds):
            for key in pending:
                await ground.rollouts.until(key, predicate)
    except TimeoutError as error:
        late = [key for key in pending if not predicate(ground.rollouts.get(key))]
        raise NotReady(f"after {seconds:.0f} s: {_shown(ground, late)}") from error


def healthy(view: View | None) -> bool:
    """Nothing is being released."""
    return view is not None and view.status.phase == "Healthy"


def completed(view: View | None) -> bool:
    """The release has succeeded."""
    return view is not None and view.status.phase == "Healthy" and view.status.says("Succeeded")


def paused(view: View | None) -> bool:
    """A step waits for a person."""
    return view is not None and view.status.current_step_state == "StepPaused"


@asynccontextmanager
async def approving(ground: Ground, namespace: str) -> AsyncIterator[None]:
    """Approve every step of a namespace once, as soon as it waits, at the pace of a person."""
    done: set[tuple[Key, int]] = set()
    not_before: dict[Key, float] = {}
    async with asyncio.TaskGroup() as group:

        async def approve_when_due(key: Key) -> None:
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(max(0.0, not_before.get(key, now) - now))
            await approve(ground, key)
            not_before[key] = asyncio.get_running_loop().time() + PACE_SECONDS

        def heard(view: View) -> None:
            at = (view.key, view.status.current_step_index)
            if view.key.namespace == namespace and paused(view) and at not in done:
                done.add(at)
                group.create_task(approve_when_due(view.key))

        async with ground.rollouts.listening(heard):
            yield


async def approve(ground: Ground, key: Key) -> None:
    """Approve the present step of a Rollout."""
    path = f"{ROLLOUTS}/namespaces/{key.namespace}/rollouts/{key.name}/status"
    await ground.approver.patch(path, APPROVAL)


async def _take_away(ground: Ground, made: Fleet) -> None:
    """Delete the Rollouts first, so that the controller can restore the objects; then the pods. The namespace is
    deleted last, and not waited for."""
    admin, where = ground.admin, made.namespace
    await admin.delete(f"{ROLLOUTS}/namespaces/{where}/rollouts")
    await wait(ground, made.keys, lambda view: view is None, made.patience)
    await admin.delete(f"{DEPLOYMENTS}/namespaces/{where}/deployments")
    async with asyncio.timeout(made.patience):
        pods = f"{CORE}/namespaces/{where}/pods"
        while (await admin.get(pods, limit="1"))["items"]:  # noqa: ASYNC110 - bounded
            await asyncio.sleep(QUIET_SECONDS / 4)
    await admin.delete(f"{CORE}/namespaces/{where}")
    await quiet(ground, where)


def _shown(ground: Ground, keys: Iterable[Key]) -> str:
    """The status of some Rollouts, in words."""
    found = []
    for key in tuple(keys)[:3]:
        view = ground.rollouts.get(key)
        status = "gone" if view is None else _status_text(view)
        found.append(f"{key.name} {status}")
    return "; ".join(found)


def _status_text(view: View) -> str:
    status = view.status
    stalled = next((c.message for c in status.conditions if c.type == "Stalled"), "")
    position = f"{status.phase} {status.current_step_index}/{STEPS} {status.current_step_state}"
    return f"{position} {status.message} {stalled}".strip()
