"""A cluster with its controllers and ours, run on a virtual clock to rest.

Invariant: our pass runs only when an event woke it, or at the instant it asked for; so a forgotten wake-up shows as a
cluster at rest too early. The passes are the product's own.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.decision import Decision
from controller.effects.gateways import ScriptRunner
from controller.errors import MoonshiftError
from controller.reconcilers.relevance import SOON_SECONDS
from controller.simulation.api_server.server import Admission
from controller.simulation.deployments import DeploymentController
from controller.simulation.passes import Crashed, Passes, PassFault, Scripts
from controller.simulation.people import People
from controller.simulation.pods import (
    EndpointController,
    Kubelet,
    ReplicaSetController,
    available_at,
)
from controller.simulation.podsets import PodSetController
from controller.simulation.state import ClusterState, Delays

SOON = timedelta(seconds=SOON_SECONDS)
RETRY = timedelta(seconds=1)
"""How long a pass that failed (a conflict, say) waits for the next."""

AT_ONCE = 200
"""Turns in a row at one instant. A controller that makes and deletes pods all the time takes time for it."""
TURNS_TIME = timedelta(seconds=1)
"""The virtual time of this number of turns."""
HOPELESS = 100
"""After this number of turns in a row without a change, only refused work is left, which is tried again later."""


class NoRest(Exception):
    """The cluster never comes to rest, or came to rest before the expected state."""


class SimulatedCluster:
    """One cluster."""

    def __init__(
        self,
        now: datetime,
        scripts: Scripts,
        runner: ScriptRunner,
        delays: Delays | None = None,
        admission: Admission | None = None,
    ) -> None:
        self.cluster = ClusterState(now, delays, admission)
        self.people = People(self.cluster)
        self.watchers: list[Callable[[], None]] = []
        """Called after every write of ours and every round of the controllers."""
        self.passes = Passes(self.cluster, scripts, runner)
        self.passes.acted = self._notify_watchers
        self.people.turned = self.passes.wake_all
        self.observe = self.passes.see
        self._deployments = DeploymentController(self.cluster)
        self._replica_sets = ReplicaSetController(self.cluster)
        self._pod_sets = PodSetController(self.cluster)
        self._kubelet = Kubelet(self.cluster)
        self._endpoints = EndpointController(self.cluster)
        self._fruitless = 0
        """How often in a row the clock moved and nothing changed."""
        self._turns = 0
        """The number of turns at this instant."""
        self._wakes: dict[Key, datetime] = {}
        self._routing_wakes: dict[Key, datetime] = {}

    def intended(self, key: Key) -> RolloutStatus | None:
        """The last decision about a Rollout, even if its status could not be written."""
        decision = self.passes.decided.get(key)
        return decision.status if decision is not None else None

    # --- controllers ----------------------------------------------------------------------------

    def tick(self) -> bool:
        """Run every controller of the cluster that is not behind once; return whether anything changed."""
        before = self.cluster.version
        if WorkloadKind.DEPLOYMENT not in self.cluster.behind:
            for deployment in self.cluster.deployments:
                self._deployments.sync(deployment)
        for replica_set in self.cluster.replica_sets:
            self._replica_sets.sync(replica_set)
        for pod_set in self.cluster.pod_sets:
            self._pod_sets.sync(pod_set)
        for pod in self.cluster.pods:
            self._kubelet.sync(pod)
        self._endpoints.sync()
        self._notify_watchers()
        return self.cluster.version != before

    # --- our passes -----------------------------------------------------------------------------

    def pass_over(
        self,
        key: Key,
        *,
        crash_after: int | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Decision | None:
        """One pass of ours. With `crash_after` the process dies after this number of actions, at the latest before
        it writes the status; `meanwhile` runs between the observation and the first action."""
        self._wakes.pop(key, None)
        self.passes.decided.pop(key, None)
        try:
            result = self.passes.over_rollout(key, PassFault(crash_after, meanwhile))
        except Crashed:
            self.passes.restart()
        except MoonshiftError:
            self._wakes[key] = self.cluster.now + RETRY
        else:
            self._wake_after(self._wakes, key, result.wake_after)
            self._notify_watchers()
        return self.passes.decided.get(key)

    def _pass_over_routing(self, key: Key) -> None:
        self._routing_wakes.pop(key, None)
        try:
            result = self.passes.over_routing(key)
        except MoonshiftError:
            self._routing_wakes[key] = self.cluster.now + RETRY
        else:
            self._wake_after(self._routing_wakes, key, result.wake_after)

    def _wake_after(self, wakes: dict[Key, datetime], key: Key, seconds: float | None) -> None:
        if seconds is not None:
            due = self.cluster.now + timedelta(seconds=seconds)
            wakes[key] = min(due, wakes.get(key, due))

    def restart(self) -> None:
        """Another process becomes the leader: all memory is lost, and every object gets a pass."""
        self._wakes.clear()
        self._routing_wakes.clear()
        self.passes.restart()
        self.passes.wake_all()

    def _notify_watchers(self) -> None:
        for watcher in self.watchers:
            watcher()

    def _passes(self) -> bool:
        """Give a pass to everything of ours that has a reason for one; return whether there was any."""
        now = self.cluster.now
        self._take_soon()
        keys = dict.fromkeys((*self.passes.woken, *_due(self._wakes, now)))
        routings = dict.fromkeys((*self.passes.routings_woken, *_due(self._routing_wakes, now)))
        for key in keys:
            self.pass_over(key)
        for key in routings:
            self._pass_over_routing(key)
        return bool(keys or routings)

    def _take_soon(self) -> None:
        """Wake-ups that can wait get their instant, as the work queue gives it: the earliest one counts."""
        due = self.cluster.now + SOON
        for key in self.passes.woken_soon:
            self._wakes[key] = min(due, self._wakes.get(key, due))
        self.passes.woken_soon.clear()

    # --- time -----------------------------------------------------------------------------------

    def _next(self) -> datetime | None:
        """The next instant at which something happens by itself."""
        times = [self._kubelet.due(pod) for pod in self.cluster.pods]
        times += [available_at(self.cluster, rs) for rs in self.cluster.replica_sets]
        times += [self._pod_sets.due(found) for found in self.cluster.pod_sets]
        times += [*self._wakes.values(), *self._routing_wakes.values()]
        now = self.cluster.now
        return min((max(due, now) for due in times if due is not None), default=None)

    def _turn(self) -> bool:
        """One turn at this instant; False when nothing is to be done, or so much was done that time has passed."""
        if self._turns == AT_ONCE or not (self._passes() or self.tick()):
            return False
        self._turns += 1
        return True

    def _later(self) -> datetime | None:
        """Where the clock goes when there is no further turn."""
        passed = self._turns == AT_ONCE
        self._turns = 0
        return self.cluster.now + TURNS_TIME if passed else self._next()

    def advance(self) -> bool:
        """Do the next thing: passes, controllers, or else the clock. False at rest."""
        before = self.cluster.version
        if self._turn():
            self._fruitless = 0 if self.cluster.version != before else self._fruitless
            return True
        due = self._later()
        if due is None or self._fruitless > HOPELESS:
            self._fruitless = 0
            return False
        self.cluster.set_clock(due)
        self._fruitless = 0 if self.tick() else self._fruitless + 1
        return True

    def run_until(self, done: Callable[[], bool], most: int = 4000) -> None:
        """Run until `done`; NoRest when the cluster comes to rest before, or does not end."""
        for _ in range(most):
            if done():
                return
            if not self.advance():
                break
        if not done():
            raise NoRest(self.describe())

    def run_to(self, instant: datetime, most: int = 4000) -> None:
        """Run everything that is due up to `instant`, and stop there."""
        for _ in range(most):
            if self._turn():
                continue
            due = self._later()
            if due is None or due > instant:
                self.cluster.set_clock(instant)
                return
            self.cluster.set_clock(due)
            self.tick()
        raise NoRest(self.describe())

    def rest(self, most: int = 4000) -> None:
        """Run until nothing happens by itself any more."""
        for _ in range(most):
            if not self.advance():
                return
        raise NoRest(self.describe())

    def describe(self) -> str:
        """The state of the cluster, for messages."""
        lines = [f"at {self.cluster.now.time()}"]
        for rollout in self.cluster.rollouts:
            status = structs.asdict(rollout.status)
            lines.append(f"Rollout {rollout.metadata.name}: {status}")
        for deployment in self.cluster.deployments:
            sizes = [
                f"{rs.revision}={rs.spec.replicas}/{rs.status.ready_replicas}"
                for rs in self.cluster.replica_sets_of(deployment)
            ]
            lines.append(f"Deployment {deployment.metadata.name}: {sizes} {deployment.spec}")
        for pod_set in self.cluster.pod_sets:
            pods = [
                f"{pod.metadata.name}={pod.revision}{'' if pod.ready_since else '?'}"
                for pod in self.cluster.pods_of(pod_set)
            ]
            lines.append(f"{pod_set.kind} {pod_set.metadata.name}: {pods} {pod_set}")
        lines += [f"Service {s.metadata.name}: {s.spec.selector}" for s in self.cluster.services]
        return "\n".join(lines)


def _due(wakes: dict[Key, datetime], now: datetime) -> list[Key]:
    return [key for key, instant in wakes.items() if instant <= now]
