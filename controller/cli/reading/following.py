"""Follows one Rollout (and its workload) until a state is reached.

Invariant: woken by watches only; a deleted Rollout ends the wait, and so does one that may not be watched at
first (later: an API server that starts again refuses rights for a moment); the bound is the caller's.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from controller.api.rollout import Rollout
from controller.cli.failures import Failure, explain
from controller.cli.live import ChangeSignal
from controller.cli.reading.found_rollouts import NO_CRD
from controller.cli.reading.source import Source, named
from controller.cli.views.any_workload import AnyWorkload
from controller.domain.availability import Forbidden, NotServed, Unavailable
from controller.errors import Forbidden as ForbiddenByServer
from controller.kube.client import KubeClient
from controller.kube.resources import ROLLOUTS
from controller.kube.store import Store

_T = TypeVar("_T")

Look = Callable[[Rollout | None, AnyWorkload | None], _T | None]
"""Called with the present facts; a result other than None ends the wait. The first argument is None once the Rollout is
deleted."""


async def follow_rollout(
    client: KubeClient,
    rollout: Rollout,
    look: Look[_T],
    workload: Source[AnyWorkload] | None = None,
) -> _T:
    """Ask `look` at every change, the present state first, until it answers; `workload` has been read already."""
    key = rollout.metadata.key
    rollouts: Store[Rollout] = Store()
    rollouts.put(rollout)
    source = Source(ROLLOUTS, rollouts, Rollout, namespace=key.namespace, fields=named(key.name))
    workloads: Store[AnyWorkload] = Store() if workload is None else workload.store
    changed = ChangeSignal()
    problem: Unavailable | None = None
    for store in (rollouts, workloads):
        store.subscribe(lambda old, new: changed.ring())
    async with asyncio.TaskGroup() as group:
        reflector = source.reflector(client, changed.ring)
        tasks = [group.create_task(reflector.run())]
        if workload is not None:
            tasks.append(group.create_task(workload.reflector(client, changed.ring).run()))
        while True:
            answer = look(rollouts.get(key), next(iter(workloads.values()), None))
            problem = None if reflector.synced.is_set() else reflector.trouble
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
