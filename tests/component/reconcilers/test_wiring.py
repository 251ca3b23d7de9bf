import asyncio

import pytest
from msgspec import structs

from controller.api.analysis import (
    Analysis,
    AnalysisTemplate,
    AnalysisTemplateSpec,
    TemplateRef,
)
from controller.api.autoscaling import AUTOSCALER
from controller.api.meta import Condition, Key, ObjectMeta
from controller.api.names import ROLLOUT_UID
from controller.api.rollout import (
    BlueGreenStrategy,
    NetworkRef,
    Rollout,
    RolloutStatus,
    Step,
    Strategy,
)
from controller.api.trafficrouting import TrafficRouting, TrafficRoutingSpec
from controller.api.workloads import Deployment, DeploymentMeta
from controller.reconcilers.caches import Caches
from controller.reconcilers.wiring import Wiring
from controller.runtime.worker import Result, Worker
from controller.runtime.workqueue import WorkQueue
from tests.component.runtime.virtual_time import virtual_time
from tests.unit.builders import (
    KEY,
    make_rollout,
    make_routing,
    make_set_world,
    make_strategy,
    release,
    release_set,
    set_of,
    template,
    with_spec,
    workload_of,
)
from tests.unit.domain.rollout.scenes import started
from tests.unit.worlds import World


def rollout(name: str, *, stalled: str) -> Rollout:
    status = RolloutStatus(conditions=(Condition(type="Stalled", status=stalled),))
    return Rollout(metadata=ObjectMeta(name=name, namespace="shop"), status=status)


def test_another_script_wakes_rollouts_that_were_stalled_and_all_traffic_routings() -> None:
    caches, woken = Caches(), list[Key]()
    wiring = Wiring(caches, woken.append, woken.append)
    caches.rollouts.put(rollout("refused", stalled="True"))
    caches.rollouts.put(rollout("running", stalled="False"))
    caches.traffic_routings.put(
        TrafficRouting(metadata=ObjectMeta(name="shared", namespace="shop"))
    )
    wiring.scripts_changed()
    assert woken == [Key("shop", "refused"), Key("shop", "shared")]


def test_a_template_wakes_the_rollouts_that_lead_to_it_also_in_a_circle() -> None:
    caches, woken = Caches(), list[Key]()
    Wiring(caches, woken.append, woken.append).connect()
    gate = Analysis(templates=(TemplateRef("a"),))
    strategy = make_strategy(steps=(Step(replicas=1, analysis=gate),))
    caches.rollouts.put(make_rollout(strategy=strategy))
    for name, others in (("a", ("b",)), ("b", ("c", "d")), ("c", ("a",))):
        caches.analysis_templates.put(analysis_template(name, *others))
    woken.clear()
    caches.analysis_templates.put(analysis_template("d"))
    assert set(woken) == {KEY}
    woken.clear()
    caches.analysis_templates.put(analysis_template("e"))
    assert woken == []


def analysis_template(name: str, *names: str) -> AnalysisTemplate:
    meta = ObjectMeta(name=name, namespace=KEY.namespace)
    spec = AnalysisTemplateSpec(templates=tuple(map(TemplateRef, names)))
    return AnalysisTemplate(metadata=meta, spec=spec)


def test_an_autoscaler_wakes_blue_green_rollouts_of_its_namespace_without_a_look_at_all_rollouts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caches, woken = Caches(), list[Key]()
    wiring = Wiring(caches, woken.append, woken.append)
    doubled = with_spec(make_rollout(), strategy=Strategy(blue_green=BlueGreenStrategy()))
    elsewhere = structs.replace(doubled.metadata, namespace="elsewhere", uid="other")
    caches.rollouts.put(doubled)
    caches.rollouts.put(structs.replace(doubled, metadata=elsewhere))
    caches.rollouts.put(rollout("canary", stalled="False"))
    monkeypatch.setattr(caches.rollouts, "values", lambda: pytest.fail("all were looked at"))
    autoscaler = ObjectMeta(name="scaler", namespace=doubled.metadata.namespace)
    wiring.named_object_changed(AUTOSCALER, autoscaler)
    assert woken == [doubled.metadata.key]


def test_a_cluster_scoped_gateway_object_wakes_the_rollouts_and_traffic_routings_that_name_it() -> (
    None
):
    """It has no namespace, while its reference is written in a Rollout of a namespace."""
    caches, woken = Caches(), list[Key]()
    wiring = Wiring(caches, woken.append, woken.append)
    kind = ("kuma.io/v1alpha1", "TrafficRoute")
    named = make_routing("web", NetworkRef(*kind, name="web"))
    strategy = structs.replace(make_strategy(), traffic_routings=(named,))
    caches.rollouts.put(make_rollout(strategy=strategy))
    shared = ObjectMeta(name="shared", namespace="shop")
    routing = TrafficRouting(metadata=shared, spec=TrafficRoutingSpec(object_ref=(named,)))
    caches.traffic_routings.put(routing)
    wiring.named_object_changed(kind, ObjectMeta(name="another"))
    assert not woken
    wiring.named_object_changed(kind, ObjectMeta(name="web"))
    assert woken == [KEY, shared.key]


class Asked:
    """The names of the Rollouts that were woken, by urgency."""

    def __init__(self) -> None:
        self.caches = Caches()
        self.ordinarily: list[str] = []
        self.soon: list[str] = []
        self.urgently: list[str] = []
        self.wiring = Wiring(
            self.caches,
            lambda key: self.ordinarily.append(key.name),
            lambda key: None,
            wake_urgently=lambda key: self.urgently.append(key.name),
            wake_soon=lambda key: self.soon.append(key.name),
        )
        self.wiring.connect()

    def take_in(self, world: World) -> None:
        """The Rollout, its workload and its revisions, as they are."""
        self.caches.rollouts.put(world.cluster.rollouts[KEY])
        self.caches.deployments.put(workload_of(world))
        for revision in world.cluster.replica_sets:
            self.caches.replica_sets.put(revision)

    def forget(self) -> None:
        self.ordinarily.clear()
        self.soon.clear()
        self.urgently.clear()


def test_an_approval_wakes_urgently_and_the_status_of_a_pass_does_not() -> None:
    asked, world = Asked(), started()
    at_rest = world.cluster.rollouts[KEY]
    asked.caches.rollouts.put(at_rest)
    assert (asked.ordinarily, asked.urgently) == (["web"], [])
    world.people.approve(KEY)
    asked.caches.rollouts.put(world.cluster.rollouts[KEY])
    assert asked.urgently == ["web"]
    asked.forget()
    world.rest()
    asked.caches.rollouts.put(world.cluster.rollouts[KEY])
    assert (asked.soon, asked.urgently) == (["web"], [])


def test_a_rollback_wakes_urgently_and_a_release_that_begins_does_not() -> None:
    asked, world = Asked(), started()
    asked.caches.rollouts.put(world.cluster.rollouts[KEY])
    asked.caches.deployments.put(workload_of(world))
    assert not asked.urgently
    world.people.undo(KEY, template("v1"))
    asked.caches.deployments.put(workload_of(world))
    assert asked.urgently == ["web"]
    world.rest()
    asked.caches.rollouts.put(world.cluster.rollouts[KEY])
    asked.forget()
    release(world, "v3")
    asked.caches.deployments.put(workload_of(world))
    assert (bool(asked.ordinarily), asked.urgently) == (True, [])


def test_another_template_of_a_set_during_a_release_wakes_urgently() -> None:
    asked, world = Asked(), make_set_world("CloneSet")
    release_set(world)
    world.rest()
    asked.caches.rollouts.put(world.cluster.rollouts[KEY])
    release_set(world, "v3")
    kind = ("apps.kruise.io/v1alpha1", "CloneSet")
    asked.wiring.named_object_changed(kind, set_of(world).metadata)
    assert asked.urgently == ["web"]


def test_a_pod_that_becomes_ready_wakes_at_once_in_a_step_and_soon_when_the_release_has_ended() -> (
    None
):
    asked, world = Asked(), started()
    asked.take_in(world)
    pod = next(iter(world.cluster.pods))
    asked.forget()
    asked.caches.pods.put(pod)
    assert (asked.ordinarily, asked.soon) == (["web"], [])
    world.people.undo(KEY, template("v1"))
    world.rest()
    asked.take_in(world)
    asked.forget()
    asked.caches.pods.remove(pod.metadata.key)
    assert (asked.ordinarily, asked.soon) == ([], ["web"])


def test_a_rollout_that_is_gone_is_looked_at_without_hurry() -> None:
    asked = Asked()
    asked.caches.rollouts.put(make_rollout())
    asked.caches.rollouts.remove(make_rollout().metadata.key)
    assert asked.ordinarily == ["web", "web"]
    assert not asked.urgently


@virtual_time
async def test_an_approval_has_the_next_turn_of_a_thousand_although_no_pass_of_theirs_ends() -> (
    None
):
    world, caches, queue = started(), Caches(), WorkQueue[Key]()
    turns: list[Key] = []
    Wiring(caches, queue.add, queue.add, wake_urgently=queue.add_urgent).connect()

    async def reconcile(key: Key) -> Result:
        turns.append(key)
        if key != KEY:
            await asyncio.Event().wait()  # for an API server that does not answer
        return Result()

    worker = Worker("passes", queue, reconcile, workers=8, reserved=1, deadline=1e6, drain=0.0)
    task = asyncio.create_task(worker.run())
    caches.rollouts.put(world.cluster.rollouts[KEY])
    await asyncio.sleep(1)
    crowd = world.cluster.rollouts[KEY]
    for number in range(1_000):
        metadata = structs.replace(crowd.metadata, name=f"crowd-{number}", uid=f"uid-{number}")
        caches.rollouts.put(structs.replace(crowd, metadata=metadata))
    await asyncio.sleep(1)
    before = len(turns)
    world.people.approve(KEY)
    caches.rollouts.put(world.cluster.rollouts[KEY])
    await asyncio.sleep(1)
    assert turns[before:] == [KEY]
    assert len(queue) == 1_000 - 8
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_deployment_that_loses_the_mark_of_its_rollout_wakes_it_once_more() -> None:
    caches, woken = Caches(), list[Key]()
    Wiring(caches, woken.append, woken.append).connect()
    owner = make_rollout()
    owner = structs.replace(owner, metadata=structs.replace(owner.metadata, uid="r-1"))
    caches.rollouts.put(owner)
    meta = DeploymentMeta(
        name="web-extra",
        namespace="shop",
        labels={ROLLOUT_UID: owner.metadata.uid},
        resource_version="1",
    )
    caches.deployments.put(Deployment(metadata=meta))
    woken.clear()
    caches.deployments.put(
        Deployment(metadata=structs.replace(meta, labels={}, resource_version="2"))
    )
    assert woken == [owner.metadata.key]
