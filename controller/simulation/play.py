"""A whole release played through before anybody starts it: what each step would do to pods, Services and routes.

The decisions are the controller's own, in the simulated cluster; what the routes would say is found out by the real
effect, the real scripts and a real worker. Every step waits for its approval here, so that each can be looked at.
Invariant: what stops the release in the cluster stops it here, with the same words.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar, assert_never

import msgspec
from msgspec import structs

from controller.api import names
from controller.api.meta import Key
from controller.api.networking import Service
from controller.api.podsets import PodSet
from controller.api.rollout import (
    BlueGreenStrategy,
    CanaryStrategy,
    Pause,
    Phase,
    Rollout,
    StepState,
)
from controller.api.workloads import Deployment
from controller.domain.decision import (
    Done,
    NotYet,
    Outcome,
    Reference,
    Refusal,
    RestoreRoutes,
    RoutePlan,
)
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.status import condition
from controller.domain.traffic.abilities import Headers
from controller.domain.traffic.header import GroupKind
from controller.domain.traffic.original import content_of
from controller.domain.traffic.plan import references_of
from controller.domain.traffic.scripts import Cycle, depths_of, kind_of
from controller.domain.traffic.tree import Json, Tree, decode_tree, encode, same
from controller.effects.gateways import GatewayRoutes
from controller.simulation.cluster import Delays, Route
from controller.simulation.gateway_objects import GatewayStore, Place
from controller.simulation.world import NoRest, World

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SIMULATED = "moonshift.dev/simulated"
"""Annotation on the pod template: the change that begins the release."""
TRIES = 5
"""How often an effect that has to wait for something is asked again."""
MOST = 200_000
"""Events after which a release that does not end is given up."""


class Scene(msgspec.Struct, frozen=True):
    """What there is before the release. `objects` are the gateway objects, whole."""

    rollout: Rollout
    workload: Deployment | PodSet
    services: tuple[Service, ...] = ()
    objects: tuple[Tree, ...] = ()


class ServiceSeen(msgspec.Struct, frozen=True, rename="camel"):
    """A Service: what it selects, and how many ready pods it leads to."""

    name: str
    selector: dict[str, str]
    endpoints: int


class RouteChange(msgspec.Struct, frozen=True, rename="camel"):
    """A gateway object against its original; `before` is None for one that was made, `after` for one that is gone."""

    kind: str
    name: str
    before: Tree | None
    after: Tree | None


class StepPlayed(msgspec.Struct, frozen=True, rename="camel"):
    """What a step comes to."""

    index: int
    old_pods: int
    old_ready: int
    new_pods: int
    new_ready: int
    services: tuple[ServiceSeen, ...] = ()
    routes: tuple[RouteChange, ...] = ()
    problem: str = ""


class Played(msgspec.Struct, frozen=True, rename="camel"):
    """The whole release. `left` are gateway objects that are not as they were in the end."""

    steps: tuple[StepPlayed, ...] = ()
    left: tuple[RouteChange, ...] = ()
    seconds: float = 0.0
    problem: str = ""


RoutesFor = Callable[[GatewayStore], GatewayRoutes]
"""The real effect over a store."""


async def play(scene: Scene, routes_for: RoutesFor, headers: Headers) -> Played:
    """Play the release through. Raises WorkerUnavailable where no script can be run."""
    return await _Play(scene, routes_for, headers).run()


class _Play:
    """One release."""

    def __init__(self, scene: Scene, routes_for: RoutesFor, headers: Headers) -> None:
        self.key = scene.rollout.metadata.key
        self.workload = Key(self.key.namespace, scene.rollout.spec.workload_ref.name)
        self.world = World(BEGIN, Delays(ready=timedelta(seconds=2)))
        self.world.headers = headers
        self.store = GatewayStore(scene.objects, self.key.namespace, BEGIN)
        self.originals = {place: content_of(item) for place, item in self.store.objects.items()}
        self.routes = routes_for(self.store)
        self.references = _references(scene.rollout)
        self._furnish(scene)

    def _furnish(self, scene: Scene) -> None:
        cluster = self.world.cluster
        for service in scene.services:
            cluster.services.put(service)
        if isinstance(scene.workload, Deployment):
            cluster.deployments.put(scene.workload)
        else:
            cluster.pod_sets.put(scene.workload)
        depths = self._depths()
        for reference in self.references:
            found = self.store.objects.get((reference.group, reference.kind, reference.name))
            if found is not None:
                depth = depths.get(kind_of(reference), 0)
                route = Route(raw=msgspec.Raw(encode(found)), depth=depth)
                cluster.put_route(self.key.namespace, reference.kind, reference.name, route)
        self.world.rest(MOST)
        cluster.rollouts.put(_each_step_waits(scene.rollout))
        self.world.rest(MOST)

    def _depths(self) -> dict[GroupKind, int]:
        """How far below an object that nothing points at each kind is; what goes in circles the real effect tells."""
        headers = tuple(
            (reference, header)
            for reference in self.references
            if (header := self.world.headers(reference)) is not None
        )
        depths = depths_of(headers)
        if isinstance(depths, Cycle):
            return {}
        kinds = (kind_of(reference) for reference, _ in headers)
        return dict(zip(kinds, depths, strict=True))

    async def run(self) -> Played:
        """From the change of the template to the end."""
        began = self.world.cluster.now
        self._change_template()
        steps: list[StepPlayed] = []
        seen = 0
        while True:
            try:
                self.world.run_until(lambda seen=seen: self._stands(seen), MOST)  # type: ignore[misc]
            except NoRest:
                return self._played(steps, began, self._stalled() or "the release does not end")
            if self._ended():
                break
            seen = self._position()
            played = await self._look(seen)
            steps.append(played)
            if played.problem:
                return self._played(steps, began, played.problem)
            self.world.people.approve_step(self.key, seen)
        problem = await self._restored()
        return self._played(steps, began, problem)

    def _played(self, steps: list[StepPlayed], began: datetime, problem: str) -> Played:
        seconds = (self.world.cluster.now - began).total_seconds()
        left = self._changes() if not problem and self._ended() else ()
        return Played(tuple(steps), left, seconds, problem)

    def _change_template(self) -> None:
        people, cluster = self.world.people, self.world.cluster
        if self.workload in (item.metadata.key for item in cluster.deployments):
            old = cluster.deployments[self.workload].spec.template
            people.edit(self.workload, template=_changed(old))
        else:
            old = cluster.pod_sets[self.workload].spec.template
            people.edit_set(self.workload, template=_changed(old))

    # --- where it stands ------------------------------------------------------------------------

    def _position(self) -> int:
        return position(self.world.cluster.rollouts[self.key].status).step

    def _stands(self, seen: int) -> bool:
        """A step that was not looked at waits for its approval, or the release has ended."""
        ours = position(self.world.cluster.rollouts[self.key].status)
        waits = ours.state == StepState.STEP_PAUSED and ours.step > seen
        return waits or self._ended()

    def _ended(self) -> bool:
        status = self.world.cluster.rollouts[self.key].status
        done = condition(status, "Succeeded")
        return status.phase == Phase.HEALTHY and done is not None

    def _stalled(self) -> str:
        said = condition(self.world.cluster.rollouts[self.key].status, "Stalled")
        return said.message if said is not None and said.status == "True" else ""

    # --- what is seen ---------------------------------------------------------------------------

    async def _look(self, step: int) -> StepPlayed:
        seen = self.world.observe(self.key)
        assert seen is not None
        sit = Situation(seen=seen, now=self.world.cluster.now)
        new = sit.new_pods
        known = {pod.metadata.uid for pod in new}
        running = [pod for pod in sit.workload.pods if not pod.metadata.deleting]
        old = [pod for pod in running if pod.metadata.uid not in known]
        plan = self._plan()
        problem = (
            _problem(await self._carried_out(plan)) if plan is not None else await self._restored()
        )
        services = (sit.service(name) for name in self._service_names(sit))
        return StepPlayed(
            index=step,
            old_pods=len(old),
            old_ready=sum(pod.ready_since is not None for pod in old),
            new_pods=len(new),
            new_ready=sum(pod.ready_since is not None for pod in new),
            services=tuple(
                ServiceSeen(
                    found.metadata.name,
                    found.spec.selector,
                    len(sit.ready_endpoints(found.metadata.name)),
                )
                for found in services
                if found is not None
            ),
            routes=self._changes(),
            problem=problem,
        )

    @staticmethod
    def _service_names(sit: Situation) -> tuple[str, ...]:
        pairs = ((name, sit.canary_service_of(name)) for name in sit.stable_services)
        return tuple(dict.fromkeys(name for pair in pairs for name in pair))

    def _plan(self) -> RoutePlan | None:
        """What the simulated gateway objects follow."""
        plans = [route.plan for route in self.world.cluster.routes if route.plan is not None]
        return plans[0] if plans else None

    async def _carried_out(self, plan: RoutePlan) -> Outcome:
        outcome = await self.routes.ensure(plan)
        for _ in range(TRIES):
            if not isinstance(outcome, NotYet):
                break
            outcome = await self.routes.ensure(plan)
        return outcome

    async def _restored(self) -> str:
        """Gateway objects are given back; what went wrong, or nothing."""
        if not self.references:
            return ""
        meta = self.world.cluster.rollouts[self.key].metadata
        action = RestoreRoutes(meta.namespace, self.references, "", meta.name, meta.uid)
        return _problem(await self.routes.restore(action))

    def _changes(self) -> tuple[RouteChange, ...]:
        """Every gateway object that is not as it was."""
        now = {place: content_of(item) for place, item in self.store.objects.items()}
        found = []
        for place in dict.fromkeys((*self.originals, *now)):
            before, after = self.originals.get(place), now.get(place)
            if before is None or after is None or not same(before, after):
                found.append(_change(place, before, after))
        return tuple(found)


def _change(place: Place, before: Tree | None, after: Tree | None) -> RouteChange:
    shown = after if before is not None or after is None else _unmarked(after)
    return RouteChange(place[1], place[2], before, shown)


def _unmarked(content: Tree) -> Tree:
    """What was made, without the marks of whom it was made for."""
    shown = {**content}
    for part, mark in (("labels", names.ROLLOUT_UID), ("annotations", names.MADE)):
        found = shown.pop(part, None)
        kept: Tree = (
            {k: v for k, v in found.items() if k != mark} if isinstance(found, dict) else {}
        )
        if kept:
            shown[part] = kept
    return shown


def _problem(outcome: Outcome) -> str:
    match outcome:
        case Done():
            return ""
        case NotYet(reason=reason):
            return reason
        case Refusal(message=message):
            return message
        case _:
            assert_never(outcome)


def _references(rollout: Rollout) -> tuple[Reference, ...]:
    canary = rollout.spec.strategy.plan
    if canary is None:
        return ()
    return references_of(canary.traffic_routings, canary.disable_generate_canary_service)


ALL = "101%"
"""As many pods as `100%`; but a last step of exactly that would not wait to be looked at."""


def _each_step_waits(rollout: Rollout) -> Rollout:
    """The plan with an approval at the end of every step."""
    spec = rollout.spec
    strategy = structs.replace(
        spec.strategy,
        paused=False,
        canary=_waiting(spec.strategy.canary),
        blue_green=_waiting(spec.strategy.blue_green),
    )
    return structs.replace(rollout, spec=structs.replace(spec, strategy=strategy, disabled=False))


_Style = TypeVar("_Style", CanaryStrategy, BlueGreenStrategy)


def _waiting(style: _Style | None) -> _Style | None:
    """The steps of one style, each with an approval at its end."""
    if style is None:
        return None
    steps = tuple(
        structs.replace(
            step, pause=Pause(), replicas=ALL if step.replicas == "100%" else step.replicas
        )
        for step in style.steps
    )
    changed: _Style = structs.replace(style, steps=steps)
    return changed


def _changed(template: msgspec.Raw) -> msgspec.Raw:
    """The pod template as the next version has it."""
    tree = decode_tree(bytes(template))
    metadata: Json = tree.get("metadata")
    metadata = {**metadata} if isinstance(metadata, dict) else {}
    annotations = metadata.get("annotations")
    found = annotations if isinstance(annotations, dict) else {}
    metadata["annotations"] = {**found, SIMULATED: "next"}
    return msgspec.Raw(encode({**tree, "metadata": metadata}))
