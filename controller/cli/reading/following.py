"""Follows one Rollout (and its workload) until a state is reached.

Invariant: woken by watches only; a deleted Rollout ends the wait, and so does one that may not be watched at
first (later: an API server that starts again refuses rights for a moment); the bound is the caller's.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from controller.api.meta import Key
from controller.api.rollout import Rollout
from controller.api.workloads import Deployment
from controller.cli.failures import Failure, explain
from controller.cli.live import ChangeSignal
from controller.cli.reading.objects import NO_CRD
from controller.cli.reading.source import Source, named
from controller.domain.availability import Forbidden, NotServed, Unavailable
from controller.errors import Forbidden as ForbiddenByServer
from controller.kube.client import KubeClient
from controller.kube.resources import DEPLOYMENTS, ROLLOUTS
from controller.kube.store import Store

_T = TypeVar("_T")

Look = Callable[[Rollout | None, Deployment | None], _T | None]
"""Called with the present facts; a result other than None ends the wait. The first argument is None once the Rollout is
deleted."""


async def follow_rollout(
    client: KubeClient, rollout: Rollout, workload: Deployment | None, look: Look[_T]
) -> _T:
    """Ask `look` at every change, the present state first, until it answers."""
    key = rollout.metadata.key
    rollouts: Store[Rollout] = Store()
    rollouts.put(rollout)
    workloads: Store[Deployment] = Store()
    if workload is not None:
        workloads.put(workload)
    name = rollout.spec.workload_ref.name
    sources = (
        Source(ROLLOUTS, rollouts, Rollout, namespace=key.namespace, fields=named(key.name)),
        Source(DEPLOYMENTS, workloads, Deployment, namespace=key.namespace, fields=named(name)),
    )
    changed = ChangeSignal()
    problem: Unavailable | None = None
    for store in (rollouts, workloads):
        store.subscribe(lambda old, new: changed.ring())
    async with asyncio.TaskGroup() as group:
        reflectors = [source.reflector(client, changed.ring) for source in sources]
        tasks = [group.create_task(reflector.run()) for reflector in reflectors]
        while True:
            answer = look(rollouts.get(key), workloads.get(Key(key.namespace, name)))
            problem = None if reflectors[0].synced.is_set() else reflectors[0].trouble
            if answer is not None or isinstance(problem, Forbidden | NotServed):
                break
            await changed.wait()
        for task in tasks:
            task.cancel()
    if answer is None:
        raise Failure(f"Rollout {key} cannot be followed: {_in_words(problem)}")
    return answer


def _in_words(problem: Unavailable | None) -> str:
    """The reason, with the command that shows a missing right."""
    if isinstance(problem, Forbidden):
        return explain(ForbiddenByServer(problem.message, status=403))
    return NO_CRD
