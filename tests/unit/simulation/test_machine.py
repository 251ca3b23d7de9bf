"""Releases of Deployments under everything that can come in between, in any order."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from msgspec import structs

from controller.api import names
from controller.api.rollout import BlueGreenStrategy, NetworkRef, Rollout, Strategy
from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.words.release_context import canary_status
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    VIRTUAL_SERVICE,
    make_rollout,
    make_routing,
    make_strategy,
    make_world,
    status_of,
    template,
    with_spec,
    workload_of,
)
from tests.unit.simulation.invariants import Watch, rests
from tests.unit.simulation.owners import DeploymentOwner, applied_deployment
from tests.unit.simulation.releases import PLANS, TURNS, Releases
from tests.unit.simulation.rounds import noted, run, unmet

POINTED_AT = NetworkRef("networking.istio.io/v1", "DestinationRule", "web")
LIMITS = st.sampled_from((("25%", "25%"), (1, 0), (0, 1), ("100%", 0), (0, "50%")))


class Deployments(Releases):
    """One Deployment, in any style."""

    @initialize(
        plan=st.sampled_from(PLANS),
        style=st.sampled_from(("partition", "canary", "blueGreen")),
        traffic=st.sampled_from(((), (VIRTUAL_SERVICE,), (VIRTUAL_SERVICE, POINTED_AT))),
        replicas=st.sampled_from((1, 2, 3, 5, 10)),
        limits=LIMITS,
        min_ready=st.sampled_from((0, 4)),
        turns=TURNS,
        announced=st.booleans(),
    )
    def begin(
        self,
        plan: Any,
        style: str,
        traffic: tuple[NetworkRef, ...],
        replicas: int,
        limits: Any,
        min_ready: int,
        turns: int,
        announced: bool = False,
    ) -> None:
        """`announced`: the gateway learns of Services from its routes."""
        self.world = make_world(
            rollout_of(plan, style, traffic),
            applied_deployment("v1", replicas, limits, min_ready),
        )
        if announced and traffic:
            self.world.put_route(NAMESPACE, VIRTUAL_SERVICE.kind, "web", announces=True)
        if POINTED_AT in traffic:
            self.world.put_route(NAMESPACE, POINTED_AT.kind, "web", depth=1)
        self.limits = limits
        self.min_ready = min_ready
        self.owner = DeploymentOwner(self.world, limits, min_ready)
        self.watch = Watch(self.world)
        self.healthy = True
        self.paused_once = False
        if turns:
            self.release_and_run("v2", turns)

    @rule(which=st.integers(0, 3))
    @noted
    def delete_a_replica_set(self, which: int) -> None:
        """With its pods; a Deployment makes only that of its present template again."""
        found = tuple(self.world.cluster.replica_sets)
        if found:
            self.excuse()
            self.watch.forced = True
            self.world.cluster.replica_sets.delete(found[which % len(found)].metadata.key)

    @rule(which=st.integers(0, 20))
    @noted
    def end_a_pod(self, which: int) -> None:
        """Its node lacks memory: the ReplicaSet makes another pod, and the object stays."""
        pods = [p for p in self.world.cluster.pods if not p.metadata.deleting and not p.ended]
        if pods:
            self.world.people.end_pod(pods[which % len(pods)].metadata.key)
            self.lost_a_pod()

    @precondition(lambda self: not self.governed)
    @rule(style=st.sampled_from(("partition", "canary")))
    @noted
    def make_rollout_again(self, style: str) -> None:
        self.world.cluster.rollouts.put(make_rollout(style=style))

    @precondition(lambda self: self.there)
    @rule(paused=st.booleans())
    @noted
    def pause_or_resume_by_kubectl(self, paused: bool) -> None:
        """`kubectl rollout pause` and `resume`."""
        self.paused_once |= paused
        self.owner.edit(paused=paused)

    @precondition(lambda self: self.governed)
    @rule(rounds=st.integers(1, 12))
    @noted
    def its_own_controller_is_behind(self, rounds: int) -> None:
        """The Deployment's controller has much else to do; all others go on."""
        self.world.cluster.behind.add(WorkloadKind.DEPLOYMENT)
        for _ in range(rounds):
            self.world.advance()
        self.world.cluster.behind.clear()

    def teardown(self) -> None:
        if hasattr(self, "world") and self.there:
            self.owner.edit(paused=False)
        super().teardown()

    def finished(self) -> None:
        """The Deployment is its owner's, all its pods run, and there is nothing to decide."""
        if self.paused_once:
            # A rollback outranks the pause, which comes back at its end; kubectl finds nothing to resume before.
            self.owner.edit(paused=False)
            self.world.rest()
        world, workload = self.world, workload_of(self.world)
        why = world.describe()
        assert not {*names.OURS_ON_WORKLOAD} & workload.metadata.annotations.keys(), why
        assert names.STABLE_REVISION not in workload.metadata.labels, why
        assert self.governed or names.WORKLOAD_TYPE not in workload.metadata.labels, why
        assert workload.spec.min_ready_seconds == self.min_ready, why
        assert workload.spec.progress_deadline_seconds == 600, why
        rolling = workload.spec.strategy.rolling_update
        assert rolling is not None
        assert (rolling.max_surge, rolling.max_unavailable) == self.limits, why
        assert not workload.spec.paused, why
        assert [d.metadata.name for d in world.cluster.deployments] == ["web"], why
        wanted = world.cluster.revision_of(workload.spec.template)
        counted = [pod.revision for pod in world.cluster.pods if not pod.ended]
        assert counted == [wanted] * workload.spec.replicas, why
        rests(world)

    def made_whole(self) -> None:
        """A person scales a Deployment that Kubernetes has left alone."""
        super().made_whole()
        if self.there and self.is_left_alone:
            self.excuse()
            # The limits are percentages, so its controller divides the added pod as it divides the others.
            self.watch.most_new = 10**6
            self.owner.scale(self.owner.size + 1)

    @property
    def is_left_alone(self) -> bool:
        """The ReplicaSet of its template is gone, and the only other one had the size that was asked for then.

        Kubernetes takes that for a scaling which is under way, and makes no ReplicaSet until the next one.
        """
        cluster = self.world.cluster
        deployment = cluster.deployments[KEY]
        of_this = cluster.revision_of(deployment.spec.template)
        found = cluster.replica_sets_of(deployment)
        made = any(rs.metadata.name == f"web-{of_this}" for rs in found)
        active = [rs.spec.replicas for rs in found if rs.active]
        return not made and not deployment.spec.paused and active == [deployment.spec.replicas]


def rollout_of(plan: Any, style: str, traffic: tuple[NetworkRef, ...]) -> Rollout:
    """A Rollout with this plan."""
    routings = (make_routing("web", *traffic),) if traffic else ()
    if style == "blueGreen":
        beside = BlueGreenStrategy(steps=plan, traffic_routings=routings)
        return with_spec(make_rollout(), strategy=Strategy(blue_green=beside))
    strategy = make_strategy(steps=plan, style=style)
    return make_rollout(strategy=structs.replace(strategy, traffic_routings=routings))


@pytest.mark.timeout(3600)
def test_releases_under_everything_that_can_come_in_between() -> None:
    run(Deployments)
    assert not unmet(Deployments)


def test_a_step_whose_pods_are_gone_is_not_left_to_the_pause_of_admission() -> None:
    """The ReplicaSets were deleted, and the template changed away and back before anybody looked."""
    release = Deployments()
    release.begin(PLANS[1], "partition", (), 1, turns=0, min_ready=0, limits=("25%", "25%"))
    release.change_template(version="v2")
    release.delete_a_replica_set(which=0)
    release.rest()
    release.delete_a_replica_set(which=0)
    release.pass_while_the_template_changes(version="v1")
    release.change_template(version="v2")
    release.scale(replicas=1)
    (pod,) = release.world.cluster.pods
    assert pod.ready_since is not None
    release.teardown()


def test_a_deployment_that_kubernetes_leaves_alone_goes_on_when_it_is_scaled() -> None:
    """Somebody deleted the new ReplicaSet at the end of a release, and scaled to what the old one has."""
    release = Deployments()
    release.begin(PLANS[0], "partition", (), 2, turns=1, min_ready=0, limits=("25%", "25%"))
    release.approve_to_the_end(turns=0)
    release.delete_a_replica_set(which=1)
    release.scale(replicas=1)
    assert release.is_left_alone
    release.teardown()


def test_pods_that_nobody_moved_are_counted_with_the_name_that_they_carry() -> None:
    """The manifest was replaced past admission, so the Deployment's own controller made a pod before the first move."""
    release = Deployments()
    release.begin(PLANS[0], "partition", (), 1, turns=8, min_ready=0, limits=("25%", "25%"))
    release.approve()
    release.replace_the_manifest_while_no_webhook_answers(rounds=0, version="")
    release.approve_and_rest()
    release.teardown()
    assert release.state == "Healthy"


def test_pods_of_the_workload_itself_are_not_counted_as_pods_of_the_extra_deployment() -> None:
    """The manifest was replaced past admission, and the workload's own controller created a pod of the new version."""
    release = Deployments()
    release.begin(PLANS[0], "canary", (), 1, turns=1, min_ready=0, limits=("25%", "25%"))
    release.replace_the_manifest_while_no_webhook_answers(rounds=0, version="")
    release.controllers_run(rounds=1)
    release.rest()
    new = release.world.cluster.revision_of(template("v2"))
    assert sum(pod.revision == new for pod in release.world.cluster.pods) == 2
    assert canary_status(status_of(release.world)).canary_ready_replicas == 1
    release.teardown()


def test_a_stable_service_without_ready_pods_is_not_pinned_while_routes_lead_to_new_ones() -> None:
    """The Service had lost its selector, so the routes took the stable share; then its owner applied it again."""
    release = Deployments()
    release.begin(
        PLANS[0], "canary", (VIRTUAL_SERVICE,), 1, turns=1, min_ready=0, limits=("25%", "25%")
    )
    release.approve_and_rest()
    release.take_the_selector_off(heard=False)
    release.fill_the_quota_and_raise_it(ticks=7)
    release.delete_a_replica_set(which=0)
    release.replace_the_manifest_while_no_webhook_answers(rounds=0, version="")
    release.made_whole()
    for _ in range(3):
        release.world.pass_over(KEY)
    assert release.world.cluster.services[KEY].spec.selector == {"app": "web"}
    release.teardown()


def test_a_stable_pod_returns_beside_two_other_revisions_of_its_size() -> None:
    """The Deployment's controller removed the stable pod, the oldest of three, as often as it was added."""
    release = Deployments()
    release.begin(
        PLANS[4], "blueGreen", (VIRTUAL_SERVICE,), 3, turns=15, min_ready=0, limits=(0, 1)
    )
    release.approve_to_the_end(turns=1)
    release.take_the_label_off_while_no_webhook_answers(rounds=2)
    release.release_and_run(turns=2, version="v3")
    release.scale_to_zero_and_back(replicas=1, ticks=7, wakes=False)
    release.restart()
    release.take_the_label_off_while_no_webhook_answers(rounds=3)
    release.teardown()
    assert release.state == "Healthy"


def test_a_workload_that_is_deleted_while_no_stable_pod_is_ready_leaves_nothing_behind() -> None:
    """The stable ReplicaSet was deleted, so the share of the stable pods was led away when the workload went."""
    release = Deployments()
    release.begin(
        PLANS[0], "blueGreen", (VIRTUAL_SERVICE,), 2, turns=40, min_ready=0, limits=(0, "50%")
    )
    release.delete_a_replica_set(which=0)
    release.pass_while_the_template_changes(version="v3")
    release.delete_workload()
    release.its_own_controller_is_behind(rounds=8)
    release.teardown()
    assert release.state == "Healthy"


def test_a_deployment_that_was_paused_before_its_first_look_may_be_scaled_to_go_on() -> None:
    """The share of its only pod is 100 %, so both pods are new after the scaling."""
    release = Deployments()
    release.begin(
        PLANS[5],
        "partition",
        (VIRTUAL_SERVICE, POINTED_AT),
        1,
        turns=2,
        min_ready=0,
        limits=(0, 1),
    )
    release.pause_or_resume_by_kubectl(paused=True)
    release.controllers_run(rounds=1)
    release.its_own_controller_is_behind(rounds=1)
    release.approve()
    release.teardown()
    assert release.state == "Healthy"


def test_a_blue_green_rollback_adds_stable_pods_where_the_workload_went_on_by_itself() -> None:
    """No webhook answered, so its own controller had removed every stable pod; the rollback waited for one for ever."""
    release = Deployments()
    release.begin(
        PLANS[6], "blueGreen", (VIRTUAL_SERVICE,), 5, turns=1, min_ready=0, limits=("100%", 0)
    )
    release.scale(replicas=6)
    release.replace_the_manifest_while_no_webhook_answers(rounds=3, version="v2")
    release.replace_the_manifest_while_no_webhook_answers(rounds=2, version="v2")
    release.fill_the_quota_and_raise_it(ticks=3)
    release.replace_the_manifest(version="v1")
    release.rest()
    assert release.state == "Healthy"
    release.teardown()


def test_blue_green_pods_that_a_full_quota_held_back_at_a_scaling_are_not_too_many() -> None:
    """The Deployment's controller gave all added pods to the new version, as large as the stable one by then."""
    release = Deployments()
    release.begin(
        PLANS[4], "blueGreen", (VIRTUAL_SERVICE,), 3, turns=40, min_ready=0, limits=(1, 0)
    )
    release.scale(replicas=1)
    release.approve_and_rest()
    release.scale(replicas=4)
    release.forbid_pods()
    release.scale(replicas=6)
    sizes = [rs.spec.replicas for rs in release.world.cluster.replica_sets]
    assert sizes == [6, 6]
    release.heal()
    release.rest()
    release.teardown()
    assert release.state == "Healthy"


def test_a_restart_that_no_webhook_saw_may_make_more_pods_than_the_step() -> None:
    """The label was lost, so the Deployment's own controller exchanged pods of both versions for the newest ones."""
    release = Deployments()
    release.begin(PLANS[5], "blueGreen", (), 6, turns=40, min_ready=0, limits=(1, 0))
    release.rest()
    release.take_the_label_off_while_no_webhook_answers(rounds=0)
    release.restart()
    release.rest()
    (new,) = {p.revision for p in release.world.cluster.pods} - {
        release.world.cluster.revision_of(template("v1"))
    }
    sizes = [pod.revision == new for pod in release.world.cluster.pods]
    assert (sizes.count(False), sizes.count(True)) == (6, 4)
    release.teardown()
    assert release.state == "Healthy"


def test_a_larger_step_after_a_scaling_under_the_owners_pause_creates_no_new_pod_too_many() -> None:
    """The paused Deployment was divided as 3+2; the surge of the next step filled the place of the fourth old pod."""
    release = Deployments()
    release.begin(
        PLANS[1], "blueGreen", (VIRTUAL_SERVICE,), 2, turns=40, min_ready=0, limits=(1, 0)
    )
    release.rest()
    release.pause_or_resume_by_kubectl(paused=True)
    release.approve_and_rest()
    release.scale(replicas=4)
    sizes = [rs.spec.replicas for rs in release.world.cluster.replica_sets]
    assert sizes == [3, 2]
    release.pause_or_resume_by_kubectl(paused=False)
    release.rest()
    sizes = [rs.spec.replicas for rs in release.world.cluster.replica_sets]
    assert sizes == [4, 2]
    release.teardown()
