"""The disturbances of the product, the gateway and pods while releases are played under real traffic.

Invariant: only disturbances that have happened are counted. Every cluster has them: a process ends and starts again, a
pod is deleted. A pod is deleted only where another one of its version is ready, and not while the gateway's control
plane is away: requests to a version that has no pod, and to a pod that Envoy cannot learn to be gone, are lost in any
cluster.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from demo.traffic.lab import PODS, ROLLOUTS, Lab
from demo.traffic.release import inner_status
from localcluster.api import JsonObject
from localcluster.errors import NotReady, RequestRefused
from localcluster.history import Key
from localcluster.process import Component
from tests.cluster.view import image_of, ready
from tests.traffic.every_write import EveryWrite

FOREVER = 10**6
CONTROL_PLANES = {"contour", "istiod"}
NOT_FOUND = 404

State = dict[Key, JsonObject]


@dataclass
class Disturbances:
    """All of them, and how often each has happened."""

    lab: Lab
    controller: Component
    proxy: EveryWrite
    every: int
    """At every n-th write the controller is ended; never at 0."""
    counts: Counter[str] = field(default_factory=Counter)
    _random: random.Random = field(default_factory=lambda: random.Random(1))
    _gateway_away: bool = False
    _deleted: set[Key] = field(default_factory=set)

    async def controller_dies(self) -> None:
        """The controller is ended at its writes, and started again at once."""
        await self.controller.start()
        if not self.every:
            return
        ended = asyncio.Event()

        async def kill() -> None:
            await self.controller.kill()
            ended.set()

        self.proxy.strike(kill, self.every)
        while True:
            await ended.wait()
            ended.clear()
            self.counts["controller killed"] += 1
            with suppress(NotReady):
                await self.controller.start()
            self.proxy.dying.clear()

    async def worker_dies(self) -> None:
        """The script worker is ended at every turn of a release."""
        async for _ in self._turns():
            await self.lab.product.worker.restart()
            self.counts["worker killed"] += 1

    async def gateway_restarts(self) -> None:
        """The gateway's control plane is stopped at every tenth change of state: Envoy continues with its last
        configuration."""
        (control_plane,) = self.lab.plane.components.keys() & CONTROL_PLANES
        turn = 0
        async for _ in self._turns():
            turn += 1
            if turn % 10 == 0:
                self._gateway_away = True
                await self.lab.recorder.until_state(self._deleted.isdisjoint, FOREVER)
                await self.lab.plane.components[control_plane].restart()
                self._gateway_away = False
                self.counts["gateway restarted"] += 1

    async def pods_churn(self) -> None:
        """A pod of the application goes at every turn of its release."""
        async for namespace in self._turns():
            pod = self._one_of_several(namespace)
            if pod is None or self._gateway_away:
                continue
            self._deleted.add(pod)
            path = f"/api/v1/namespaces/{namespace}/pods/{pod.name}"
            try:
                await self.lab.plane.client().delete(path)
            except RequestRefused as refused:
                if refused.status != NOT_FOUND:
                    raise
                continue
            self.counts["pod deleted"] += 1

    def all(self, names: tuple[str, ...]) -> list[Callable[[], Coroutine[None, None, None]]]:
        """Return those of these names; the controller runs in any case."""
        known = {
            "worker": self.worker_dies,
            "gateway": self.gateway_restarts,
            "pods": self.pods_churn,
        }
        return [self.controller_dies, *(known[name] for name in names)]

    async def _turns(self) -> AsyncIterator[str]:
        """Yield the namespace of each release that has come to another state of a step."""
        known: dict[Key, tuple[object, object]] = {}

        def moved(state: State) -> list[Key]:
            return [key for key, at in _positions(state).items() if known.get(key) != at]

        while True:
            await self.lab.recorder.until_state(lambda state: bool(moved(state)), FOREVER)
            state = self.lab.recorder.state()
            keys = moved(state)
            known.update(_positions(state))
            for key in keys:
                yield key.namespace

    def _one_of_several(self, namespace: str) -> Key | None:
        by_image: dict[str, list[Key]] = defaultdict(list)
        for key, pod in self.lab.recorder.state().items():
            if key.kind == PODS and key.namespace == namespace and ready(pod):
                by_image[image_of(pod)].append(key)
        several = [pods for pods in by_image.values() if len(pods) > 1]
        return self._random.choice(self._random.choice(several)) if several else None


def _positions(state: State) -> dict[Key, tuple[object, object]]:
    found = {}
    for key, obj in state.items():
        if key.kind == ROLLOUTS:
            inner = inner_status(obj.get("status") or {})
            found[key] = (inner.get("currentStepIndex"), inner.get("currentStepState"))
    return found
