"""Checks the status of a simulated release with the checkers of recorded histories.

Invariant: they are asked after every change, as they are asked of a real cluster's history.
"""

from controller.domain.pods.running import min_ready_seconds
from controller.simulation.api_server.storage import Change as Stored
from controller.simulation.state import resource_of_kind
from localcluster.history import Change, Key, Kind
from tests.cluster.conditions import ConditionsAreTrue
from tests.cluster.kinds import PODS, ROLLOUTS
from tests.cluster.truth import StatusIsTrue
from tests.cluster.view import View
from tests.unit.builders import KEY
from tests.unit.worlds import World


class StatusChecker:
    """Looks at every change of a world."""

    def __init__(self, world: World) -> None:
        named = world.cluster.rollouts[KEY].spec.workload_ref
        resource = resource_of_kind(named.api_version, named.kind)
        workload = Kind(resource.group, resource.version, resource.plural)
        self._kinds = {(kind.group, kind.plural): kind for kind in (PODS, ROLLOUTS, workload)}
        self._view = View(KEY.namespace)
        self._checker = StatusIsTrue(KEY.name, workload, waits=_waits(world))
        self._conditions = ConditionsAreTrue(KEY.name)
        self.wrong: list[str] = []
        storage = world.cluster.server.storage
        for kind, key, found in storage.everything():
            self._heard(Stored(0, kind, key, "ADDED", found))
        storage.subscribe(self._heard)

    def _heard(self, stored: Stored) -> None:
        kind = self._kinds.get(stored.kind)
        if kind is None:
            return
        key = Key(kind, stored.key.namespace, stored.key.name)
        change = Change(stored.version, stored.type, key, stored.object)
        self._view.apply(change)
        parts = (self._checker.look(self._view), self._conditions.after(change))
        self.wrong += [f"{stored.version}: {detail}" for detail in parts if detail is not None]

    def at_rest(self) -> None:
        """Nothing changes by itself any more: the status must be true now."""
        detail = self._checker.at_rest()
        assert detail is None, detail


def _waits(world: World) -> bool:
    """The owner asks for a time that a pod has to be ready."""
    deployment = world.cluster.deployments.get(KEY)
    pod_set = world.cluster.pod_sets.get(KEY)
    waits = deployment.spec.min_ready_seconds if deployment is not None else 0
    return bool(waits or (pod_set is not None and min_ready_seconds(pod_set)))
