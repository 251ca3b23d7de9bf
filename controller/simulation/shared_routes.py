"""TrafficRoutings of the simulated cluster, and our passes over them.

Invariant: as the real reconciler: actions in order, the status last and only when it differs; a pass that wrote on the
object itself writes no status.
"""

from collections.abc import Callable
from datetime import datetime

from msgspec import structs

from controller.api.meta import Key
from controller.api.trafficrouting import TrafficRouting
from controller.domain.decision import (
    EnsureRoutes,
    Reference,
    Refusal,
    RestoreRoutes,
    SetFinalizers,
)
from controller.domain.observation import Observation, RouteSeen, RouteState
from controller.domain.rollout.shared_routing import shared_routing_of
from controller.domain.rollout.situation import Situation
from controller.domain.traffic.plan import references_of
from controller.domain.trafficrouting import (
    MemberSeen,
    TrafficRoutingSeen,
    decide_traffic_routing,
    is_under_way,
    joined,
    owner_of,
    refused_routing,
)
from controller.simulation.cluster import Cluster
from controller.simulation.gateways import lead_routes, set_finalizers


class SharedRoutes:
    """Passes over every TrafficRouting."""

    def __init__(
        self,
        cluster: Cluster,
        observe: Callable[[Key], Observation | None],
        route: Callable[[str, Reference, str], RouteState],
    ) -> None:
        self._cluster = cluster
        self._observe = observe
        self._route = route
        self.wakes: dict[Key, datetime] = {}
        """When a TrafficRouting wants to be looked at again."""

    def pass_over_all(self) -> bool:
        """One pass over each; answers whether anything changed."""
        before = self._cluster.versions.last
        for routing in self._cluster.traffic_routings:
            self._pass_over(routing)
        return self._cluster.versions.last != before

    def see(self, routing: TrafficRouting) -> TrafficRoutingSeen:
        """All that a decision about this TrafficRouting may depend on."""
        meta = routing.metadata
        entries = routing.spec.object_ref
        names = {entry.service for entry in entries}
        named = [r for r in self._cluster.rollouts if shared_routing_of(r) == meta.name]
        naming = {rollout.metadata.name for rollout in named}
        return TrafficRoutingSeen(
            routing=routing,
            members=tuple(
                MemberSeen(seen.rollout, Situation(seen=seen, now=self._cluster.now).new_pods)
                for name in joined(routing)
                if (seen := self._observe(Key(meta.namespace, name))) is not None
                and seen.workload is not None
            ),
            routes=tuple(
                RouteSeen(reference, self._route(meta.namespace, reference, owner_of(routing)))
                for reference in references_of(entries, disable_generate=True)
            ),
            slices=tuple(
                part
                for part in self._cluster.slices
                if part.metadata.namespace == meta.namespace and part.service in names
            ),
            strays=tuple(name for name in joined(routing) if name not in naming),
            living=frozenset(r.metadata.name for r in named if is_under_way(r)),
        )

    def _pass_over(self, routing: TrafficRouting) -> None:
        seen = self.see(routing)
        decision = decide_traffic_routing(seen, self._cluster.now)
        self.wakes.pop(routing.metadata.key, None)
        if decision.wake_at is not None:
            self.wakes[routing.metadata.key] = decision.wake_at
        for action in decision.actions:
            if isinstance(action, SetFinalizers):
                set_finalizers(self._cluster, action)
                return
            assert isinstance(action, EnsureRoutes | RestoreRoutes)
            outcome = lead_routes(self._cluster, action)
            if isinstance(outcome, Refusal):
                decision = refused_routing(seen, decision, outcome, self._cluster.now)
                break
        stored = self._cluster.traffic_routings[routing.metadata.key]
        if stored.status != decision.status:
            self._cluster.traffic_routings.put(structs.replace(stored, status=decision.status))
