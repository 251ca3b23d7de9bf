"""Random releases of the simulated cluster, recorded action by action with the state after each, to be replayed.

Invariant: the simulated world starts from the very manifests that the cluster is given, and rests after every act, so
the recorded state does not depend on which controller was faster. It must not look at a cluster.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec import structs

from controller.api.meta import Key, ObjectMeta
from controller.api.names import POD_TEMPLATE_HASH, WORKLOAD_TYPE
from controller.api.networking import Service, ServiceSpec
from controller.api.rollout import Phase as phases
from controller.api.rollout import Rollout
from controller.api.workloads import Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdate
from controller.domain.decision import Refusal
from controller.domain.rollout.words.release_context import moonshift_status
from tests.cluster import manifests
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.rest import Rest, rest_of_world
from tests.unit.worlds import World

RUNS = 50
WRITES_OF_ROUTES = ("EnsureRoutes", "RestoreRoutes")
DENIED = Refusal("Forbidden", "the right is missing", retry_after=10)
RESTARTED = "kubectl.kubernetes.io/restartedAt"
IMAGES = (manifests.STABLE_IMAGE, manifests.NEW_IMAGE, manifests.THIRD_IMAGE)
KEY = Key("shop", "shop")
PLANS = (
    (StepPlan(1, 20), StepPlan(2, 50), StepPlan(3, 75)),
    (StepPlan(1), StepPlan(2, 50), StepPlan(4)),
    (StepPlan(2, 30), StepPlan(2, 50)),
)
WITHOUT_TRAFFIC = (StepPlan(1), StepPlan(2), StepPlan(3))
BESIDE = (StepPlan(2, 0), StepPlan(4, 0), StepPlan(4, 50))
APPLICATIONS = (
    *(
        Application("shop", "shop", canary, plan, virtual_service=True)
        for canary in (False, True)
        for plan in PLANS
    ),
    *(Application("shop", "shop", canary, WITHOUT_TRAFFIC) for canary in (False, True)),
    Application("shop", "shop", False, BESIDE, virtual_service=True, blue_green=True),
)


@dataclass(frozen=True, slots=True)
class Act:
    """An action of a person: `what`, and its value."""

    what: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class Run:
    """An application, and what is seen after each act."""

    app: Application
    acts: tuple[tuple[Act, Rest], ...]


class Rehearsal(RuleBasedStateMachine):
    """One Deployment, one Rollout, and people who wait until the cluster is at rest before each action."""

    found: list[Run]

    @initialize(app=st.sampled_from(APPLICATIONS), approvals=st.integers(0, 2))
    def begin(self, app: Application, approvals: int) -> None:
        self.app = app
        self.acts: list[tuple[Act, Rest]] = []
        self.world = _world(app)
        self.before = self.world.cluster.version
        self.restarts = 0
        self.release(manifests.NEW_IMAGE)
        for _ in range(approvals):
            self.approve()

    @property
    def governed(self) -> bool:
        return self.world.cluster.rollouts.get(KEY) is not None

    @property
    def step(self) -> int:
        """The step of the release that is under way; 0 when none is."""
        rollout = self.world.cluster.rollouts.get(KEY)
        if rollout is None or rollout.status.phase != phases.PROGRESSING:
            return 0
        return moonshift_status(rollout.status).step

    @property
    def switched_off(self) -> bool:
        rollout = self.world.cluster.rollouts.get(KEY)
        return rollout is not None and (rollout.spec.disabled or rollout.spec.strategy.paused)

    @rule(image=st.sampled_from(IMAGES))
    def release(self, image: str) -> None:
        template = manifests.deployment(self.app, image)["spec"]["template"]
        self.world.people.edit(KEY, template=_raw(template))
        self.did(Act("release", image))

    @precondition(lambda self: self.workload.spec.replicas)
    @rule(image=st.sampled_from(IMAGES))
    def release_under_a_full_quota(self, image: str) -> None:
        """For a while no pod can be created; the existing pods stay."""
        template = _raw(manifests.deployment(self.app, image)["spec"]["template"])
        if template == self.workload.spec.template:
            return
        self.world.people.forbid_pods("exceeded quota")
        self.world.people.edit(KEY, template=template)
        self.did(Act("release_under_a_full_quota", image), always=True)
        self.world.people.heal()
        self.did(Act("raise_the_quota"), always=True)

    @property
    def workload(self) -> Deployment:
        return self.world.cluster.deployments[KEY]

    @rule(size=st.sampled_from((0, 2, 3, 4, 6)))
    def scale(self, size: int) -> None:
        self.world.people.edit(KEY, replicas=size)
        self.did(Act("scale", size))

    @rule(image=st.sampled_from(IMAGES))
    def replace(self, image: str) -> None:
        """`kubectl replace` with the owner's bare manifest."""
        spec = _spec(self.app, image)
        size = self.workload.spec.replicas
        self.world.people.replace(KEY, structs.replace(spec, replicas=size))
        self.did(Act("replace", (image, size)))

    @rule()
    def take_the_label_off(self) -> None:
        labels = self.workload.metadata.labels
        kept = {name: value for name, value in labels.items() if name != WORKLOAD_TYPE}
        self.world.people.label(KEY, kept)
        self.did(Act("take_the_label_off"), always=bool(self.step))

    @precondition(lambda self: not self.workload.spec.paused)
    @rule()
    def restart(self) -> None:
        """`kubectl rollout restart`, which kubectl refuses for a paused workload."""
        self.restarts += 1
        tree = msgspec.json.decode(self.workload.spec.template)
        when = f"restart {self.restarts}"
        tree["metadata"] = {**tree["metadata"], "annotations": {RESTARTED: when}}
        self.world.people.edit(KEY, template=_raw(tree))
        self.did(Act("restart", when))

    @precondition(lambda self: not self.workload.spec.paused)
    @rule()
    def undo(self) -> None:
        """`kubectl rollout undo`, which takes the ReplicaSet before the newest one."""
        owned = self.world.cluster.replica_sets_of(self.workload)
        if len(owned) > 1:
            template = msgspec.json.decode(owned[-2].spec.template)
            template["metadata"]["labels"].pop(POD_TEMPLATE_HASH, None)
            self.world.people.undo(KEY, _raw(template))
            self.did(Act("undo"))

    @rule(paused=st.booleans())
    def pause_the_workload(self, paused: bool) -> None:
        """`kubectl rollout pause` and `resume`."""
        self.world.people.edit(KEY, paused=paused)
        self.did(Act("pause_the_workload", paused))

    @rule(image=st.sampled_from(IMAGES))
    def delete_a_replica_set(self, image: str) -> None:
        """Delete it with its pods; a Deployment creates again only the ReplicaSet of its present template."""
        for replica_set in self.world.cluster.replica_sets_of(self.workload):
            if image.encode() in bytes(replica_set.spec.template):
                self.world.cluster.replica_sets.delete(replica_set.metadata.key)
                self.did(Act("delete_a_replica_set", image))
                return

    @precondition(lambda self: self.step)
    @rule()
    def apply_the_service(self) -> None:
        """The owner's manifest of the stable Service, over its pin."""
        self.world.people.apply_service(_service(self.app))
        self.did(Act("apply_the_service"), always=True)

    @precondition(lambda self: self.governed and self.step)
    @rule()
    def approve(self) -> None:
        step = self.step
        self.world.people.approve_step(KEY, step)
        self.did(Act("approve", step))

    @precondition(lambda self: self.governed and self.step and self.app.virtual_service)
    @rule()
    def approve_while_routes_may_not_be_written(self) -> None:
        """The API server denies every write of the VirtualService for a while."""
        step = self.step
        for action in WRITES_OF_ROUTES:
            self.world.people.forbid(action, DENIED)
        self.world.people.approve_step(KEY, step)
        self.did(Act("approve_while_routes_may_not_be_written", step), always=True)
        for action in WRITES_OF_ROUTES:
            self.world.people.grant(action)
        self.did(Act("let_routes_be_written"), always=True)

    @precondition(lambda self: self.governed and self.step)
    @rule(step=st.integers(1, 3))
    def jump(self, step: int) -> None:
        """Admission refuses a step that the plan has not."""
        step = min(step, len(self.app.steps))
        self.world.people.jump(KEY, step)
        self.did(Act("jump", step))

    @precondition(lambda self: self.step or self.switched_off)
    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        self.world.people.pause(KEY, paused)
        self.did(Act("pause", paused))

    @precondition(lambda self: self.step or self.switched_off)
    @rule(disabled=st.booleans())
    def disable(self, disabled: bool) -> None:
        self.world.people.disable(KEY, disabled)
        self.did(Act("disable", disabled))

    @precondition(lambda self: self.step)
    @rule()
    def delete_rollout(self) -> None:
        self.world.cluster.rollouts.delete(KEY)
        self.did(Act("delete_rollout"))

    @precondition(lambda self: not self.governed)
    @rule()
    def make_rollout(self) -> None:
        self.world.cluster.rollouts.put(_rollout(self.app))
        self.did(Act("make_rollout"))

    @rule(image=st.sampled_from(IMAGES))
    def evict(self, image: str) -> None:
        """Evict one pod of an image, if there is one."""
        for replica_set in self.world.cluster.replica_sets:
            if bytes(image.encode()) in bytes(replica_set.spec.template):
                for pod in self.world.cluster.pods_of(replica_set)[:1]:
                    self.world.people.delete_pod(pod.metadata.key)
                    self.did(Act("evict", image))
                    return

    def did(self, act: Act, *, always: bool = False) -> None:
        """Write down the act and the state after it. An act that changed nothing is left out, unless `always`."""
        if self.world.cluster.version == self.before and not always:
            return
        self.world.rest()
        self.before = self.world.cluster.version
        self.acts.append((act, rest_of_world(self.app, self.world)))

    def teardown(self) -> None:
        """End the release."""
        if not hasattr(self, "world"):
            return
        if not self.governed:
            self.make_rollout()
        self.pause_the_workload(False)
        if self.workload.spec.replicas == 0:
            self.scale(4)
        self.disable(False)
        self.pause(False)
        for _ in self.app.steps:
            if self.step:
                self.approve()
        self.found.append(Run(self.app, tuple(self.acts)))


@cache
def runs(examples: int = 3 * RUNS) -> tuple[Run, ...]:
    """The runs with the most events among this number of examples; the same runs every time."""
    machine = type("Collected", (Rehearsal,), {"found": []})
    rules = settings(
        max_examples=examples,
        stateful_step_count=10,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=rules)
    found: list[Run] = machine.found  # type: ignore[attr-defined] # made by type() above
    # Each once; those in which the most happens while a release is under way come first.
    return tuple(sorted(dict.fromkeys(found), key=_quietness)[:RUNS])


def _quietness(run: Run) -> tuple[int, int]:
    met = [act.what for act, rest in run.acts if phases.PROGRESSING in rest.rollout]
    return -len(set(met)), -len(met)


# --- the world, from the manifests ----------------------------------------------------------------


def _raw(tree: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(tree, order="sorted"))


def _rollout(app: Application) -> Rollout:
    return msgspec.json.decode(msgspec.json.encode(manifests.rollout(app)), type=Rollout)


def _spec(app: Application, image: str = manifests.STABLE_IMAGE) -> DeploymentSpec:
    """The spec as the API server stores it."""
    body = manifests.deployment(app, image)
    made = msgspec.json.decode(msgspec.json.encode(body), type=Deployment)
    return structs.replace(
        made.spec,
        template=_raw(body["spec"]["template"]),
        strategy=DeploymentStrategy("RollingUpdate", RollingUpdate("25%", "25%")),
        progress_deadline_seconds=600,
    )


def _service(app: Application) -> Service:
    selector = manifests.service(app)["spec"]["selector"]
    meta = ObjectMeta(name=app.name, namespace=app.namespace)
    return Service(metadata=meta, spec=ServiceSpec(selector))


def _world(app: Application) -> World:
    body = manifests.deployment(app)
    made = msgspec.json.decode(msgspec.json.encode(body), type=Deployment)
    world = World(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    world.cluster.deployments.put(structs.replace(made, spec=_spec(app)))
    world.cluster.services.put(_service(app))
    world.put_route(app.namespace, "VirtualService", app.name)
    world.rest()
    world.cluster.rollouts.put(_rollout(app))
    world.rest()
    return world
