"""Plays a whole release before it is started: the pods, Services and routes after each step.

The decisions and the effects are the controller's own, on the in-memory API server; only scripts run outside, in the
worker. Every step waits for its approval here, so that each can be shown. Invariant: a reason that stops the release in
the cluster stops it here, with the same words.
"""

from datetime import UTC, datetime
from typing import TypeVar

import msgspec
from msgspec import structs

from controller.api import names
from controller.api.analysis import AnalysisTemplate, TemplateRef
from controller.api.jsontree import JsonObject, text
from controller.api.meta import Key
from controller.api.rollout import (
    BlueGreenStrategy,
    CanaryStrategy,
    Pause,
    Phase,
    Rollout,
    StepState,
)
from controller.domain.decision import Reference
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.rollout.words.status import condition
from controller.domain.traffic.original.content import content_of
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.domain.traffic.tree import Json, Tree, decode_tree, encode, same
from controller.effects.gateways import ScriptRunner
from controller.kube.resources import DEPLOYMENTS, SERVICES
from controller.outbound.golden import packaged
from controller.simulation import gates
from controller.simulation.api_server.server import Admission
from controller.simulation.cluster import NoRest, SimulatedCluster
from controller.simulation.passes import Scripts
from controller.simulation.state import resource_of_kind
from controller.simulation.typed_views import store_whole

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SIMULATED = "moonshift.dev/simulated"
"""Annotation on the pod template: the change that begins the release."""
MAX_EVENTS = 200_000
"""Events after which a release that does not end is given up."""


Place = tuple[str, str, str]
"""Group, kind and name."""


class Scene(msgspec.Struct, frozen=True):
    """The cluster before the release: the Rollout, and all other objects complete."""

    rollout: Rollout
    workload: JsonObject
    services: tuple[JsonObject, ...] = ()
    objects: tuple[JsonObject, ...] = ()
    """The gateway objects."""
    beside: tuple[JsonObject, ...] = ()
    """Deployments of other workloads whose pods are behind the same Services."""
    templates: dict[TemplateRef, AnalysisTemplate] = {}
    """Templates that gates name."""
    series: dict[str, tuple[float | str, ...]] = {}
    """Values of the metrics of gates, one a measurement."""


class ServiceSeen(msgspec.Struct, frozen=True, rename="camel"):
    """A Service: its selector, and its number of ready pods."""

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
    """The state after a step."""

    index: int
    old_pods: int
    old_ready: int
    new_pods: int
    new_ready: int
    services: tuple[ServiceSeen, ...] = ()
    routes: tuple[RouteChange, ...] = ()
    metrics: str = ""
    """How the step's gate ended; empty if it has none."""
    problem: str = ""


class Played(msgspec.Struct, frozen=True, rename="camel"):
    """The whole release. `left` are the gateway objects that were not restored at the end."""

    steps: tuple[StepPlayed, ...] = ()
    left: tuple[RouteChange, ...] = ()
    seconds: float = 0.0
    problem: str = ""


def play(
    scene: Scene, scripts: Scripts, runner: ScriptRunner, admission: Admission | None = None
) -> Played:
    """Play the release through; `admission` reviews what is written."""
    return _Play(scene, scripts, runner, admission).run()


class _Play:
    """One release."""

    def __init__(
        self, scene: Scene, scripts: Scripts, runner: ScriptRunner, admission: Admission | None
    ) -> None:
        self.key = scene.rollout.metadata.key
        self.workload = Key(self.key.namespace, scene.rollout.spec.workload_ref.name)
        self.world = SimulatedCluster(BEGIN, scripts, runner, admission=admission)
        self.kinds = {(item.group, item.kind) for item in _references(scene.rollout)}
        self.series = scene.series
        self.against = ""
        """The last objection of a gate."""
        self._furnish(scene)
        self.originals = self._contents()
        self.world.cluster.rollouts.put(_each_step_waits(scene.rollout))
        self.world.rest(MAX_EVENTS)

    def _furnish(self, scene: Scene) -> None:
        cluster, workload = self.world.cluster, scene.workload
        self.world.passes.measures.series = dict(scene.series)
        self.world.passes.gates.golden = packaged()
        for template in scene.templates.values():
            cluster.analysis_templates.put(template)
        for service in scene.services:
            cluster.services.store(service, SERVICES)
        for item in scene.beside:
            cluster.deployments.store(item, DEPLOYMENTS)
        for item in scene.objects:
            place = text(item, "apiVersion"), text(item, "kind")
            store_whole(cluster.server, item, resource_of_kind(*place))
        kind = text(workload, "apiVersion"), text(workload, "kind")
        if kind == ("apps/v1", "Deployment"):
            cluster.deployments.store(workload, resource_of_kind(*kind))
        else:
            cluster.keep_pod_sets(*kind)
            cluster.pod_sets.store(workload, resource_of_kind(*kind))
        self.world.rest(MAX_EVENTS)

    def run(self) -> Played:
        """From the change of the template to the end."""
        began = self.world.cluster.now
        self._change_template()
        steps: list[StepPlayed] = []
        while True:
            seen = steps[-1].index if steps else 0
            try:
                self.world.run_until(lambda seen=seen: self._rests(seen), MAX_EVENTS)  # type: ignore[misc]
            except NoRest:
                problem = self._stalled() or "the release does not end"
                steps += [self._look(self._position(), problem)] if self._position() > seen else []
                return self._played(steps, began, problem)
            if self._ended():
                return self._played(steps, began, self._taken_back())
            steps.append(self._look(self._position()))
            if problem := self._waits_for_values() or gates.against(self._rollout()):
                return self._played(steps, began, problem)
            self.world.people.approve_step(self.key, steps[-1].index)

    def _played(self, steps: list[StepPlayed], began: datetime, problem: str) -> Played:
        seconds = (self.world.cluster.now - began).total_seconds()
        return Played(tuple(steps), () if problem else self._changes(), seconds, problem)

    def _change_template(self) -> None:
        people, cluster = self.world.people, self.world.cluster
        found = cluster.deployments.get(self.workload)
        if found is not None:
            people.edit(self.workload, template=_changed(found.spec.template))
        else:
            old = cluster.pod_sets[self.workload].spec.template
            people.edit_set(self.workload, template=_changed(old))

    # --- the state of the release ------------------------------------------------------------------------

    def _rollout(self) -> Rollout:
        return self.world.cluster.rollouts[self.key]

    def _position(self) -> int:
        return moonshift_status(self._rollout().status).step

    def _rests(self, seen: int) -> bool:
        """A new step waits for its approval or for values, or the release has ended."""
        ours = moonshift_status(self._rollout().status)
        self.against = gates.against(self._rollout()) or self.against
        waits = ours.state == StepState.STEP_PAUSED and ours.step > seen
        return waits or self._ended() or self._waits_for_values() != ""

    def _waits_for_values(self) -> str:
        return gates.waits_for_values(self._rollout(), self.series)

    def _taken_back(self) -> str:
        """Why the release ended with the old revision; here only a gate can cause that."""
        done = condition(self._rollout().status, "Succeeded")
        back = done is not None and done.status == "False"
        return f"{self.against}; the new revision is rolled back" if back else ""

    def _ended(self) -> bool:
        status = self.world.cluster.rollouts[self.key].status
        done = condition(status, "Succeeded")
        return status.phase == Phase.HEALTHY and done is not None

    def _stalled(self) -> str:
        stalled = condition(self.world.cluster.rollouts[self.key].status, "Stalled")
        return stalled.message if stalled is not None and stalled.status == "True" else ""

    # --- the picture of a step ---------------------------------------------------------------------------

    def _look(self, step: int, problem: str = "") -> StepPlayed:
        seen = self.world.observe(self.key)
        assert seen is not None
        context = as_stored(seen, self.world.cluster.now)
        new = context.new_pods
        known = {pod.metadata.uid for pod in new}
        running = [pod for pod in context.workload.pods if not pod.metadata.deleting]
        old = [pod for pod in running if pod.metadata.uid not in known]
        services = (context.service(name) for name in self._service_names(context))
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
                    len(context.ready_endpoints(found.metadata.name)),
                )
                for found in services
                if found is not None
            ),
            routes=self._changes(),
            metrics=gates.outcome_of(self._rollout(), step),
            problem=problem,
        )

    @staticmethod
    def _service_names(release: Release) -> tuple[str, ...]:
        pairs = ((name, release.canary_service_of(name)) for name in release.stable_services)
        return tuple(dict.fromkeys(name for pair in pairs for name in pair))

    def _contents(self) -> dict[Place, Tree]:
        """The present content of gateway objects and companion objects."""
        everything = self.world.cluster.server.storage.everything()
        return {
            (group, text(found, "kind"), key.name): content_of(
                decode_tree(msgspec.json.encode(found))
            )
            for (group, _), key, found in everything
            if (group, text(found, "kind")) in self.kinds
        }

    def _changes(self) -> tuple[RouteChange, ...]:
        """Every gateway object that is not as it was."""
        now = self._contents()
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
    """A companion object without our marks."""
    shown = {**content}
    for part, mark in (("labels", names.ROLLOUT_UID), ("annotations", names.COMPANION)):
        found = shown.pop(part, None)
        kept: Tree = (
            {k: v for k, v in found.items() if k != mark} if isinstance(found, dict) else {}
        )
        if kept:
            shown[part] = kept
    return shown


def _references(rollout: Rollout) -> tuple[Reference, ...]:
    canary = rollout.spec.strategy.plan
    if canary is None:
        return ()
    return references_of(
        canary.traffic_routings, canary.disable_generate_canary_service, rollout.metadata.namespace
    )


ALL = "101%"
"""As many pods as `100%`; a last step of exactly `100%` would not wait to be shown."""


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
