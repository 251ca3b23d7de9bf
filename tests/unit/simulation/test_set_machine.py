"""Releases of sets of pods under everything that can come in between, in any order."""

from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from controller.api import names
from controller.api.jsontree import same
from controller.api.quantity import scaled_up
from controller.api.rollout import BlueGreenStrategy, CanaryStrategy
from controller.domain.rollout.moving.sets import owners_limits
from controller.domain.rollout.words.release_context import Style, canary_status
from controller.domain.rollout.words.release_value import Release
from tests.unit.builders import (
    GIVEN_BACK,
    KEY,
    SETS,
    STRATEGIES,
    VIRTUAL_SERVICE,
    make_pod_set,
    make_rollout,
    make_routing,
    make_set_world,
    make_strategy,
    set_of,
    strategy_of,
    template,
)
from tests.unit.simulation.invariants import Watch, rests
from tests.unit.simulation.owners import SetOwner
from tests.unit.simulation.releases import PLANS, TURNS, Releases
from tests.unit.simulation.rounds import noted, run, unmet

FORMS = (
    ("StatefulSet", "partition"),
    ("Advanced StatefulSet", "partition"),
    ("CloneSet", "partition"),
    ("CloneSet", "blue-green"),
    ("DaemonSet", "partition"),
    ("Advanced DaemonSet", "partition"),
)


class SetWatch(Watch):
    """The rules that hold at every instant of a release of a set of pods."""

    def no_pod_is_wanted(self) -> bool:
        """The owner wants no pod, or there is no node."""
        found = self.world.cluster.pod_sets.get(KEY)
        if found is None or found.spec.replicas is None:
            return self.world.cluster.nodes == 0
        return found.spec.replicas == 0

    def limits(self, release: Release) -> tuple[int, int]:
        """There is no surge but in blue-green style, in which no pod may miss; else their controllers round up."""
        if release.style is Style.BLUE_GREEN:
            return release.replicas, 0
        own = owners_limits(release)
        rolling = own.rolling_update
        limit = own.max_unavailable or (rolling.max_unavailable if rolling is not None else None)
        return 0, max(1, scaled_up(limit or 1, release.replicas))


class Sets(Releases):
    """One set of pods of any kind, partition or blue-green style."""

    @initialize(
        form=st.sampled_from(FORMS),
        plan=st.sampled_from(PLANS),
        traffic=st.booleans(),
        replicas=st.sampled_from((1, 2, 3, 5, 10)),
        min_ready=st.sampled_from((0, 4)),
        turns=TURNS,
    )
    def begin(
        self,
        form: tuple[str, str],
        plan: Any,
        traffic: bool,
        replicas: int,
        min_ready: int,
        turns: int,
    ) -> None:
        self.which, style = form
        self.min_ready = min_ready
        routings = (make_routing("web", VIRTUAL_SERVICE),) if traffic else ()
        strategy: CanaryStrategy | BlueGreenStrategy = make_strategy(steps=plan, traffic=traffic)
        if style == "blue-green":
            strategy = BlueGreenStrategy(steps=plan, traffic_routings=routings)
        pod_set = make_pod_set(self.which, replicas=replicas, min_ready_seconds=min_ready or None)
        self.world = make_set_world(self.which, pod_set, strategy=strategy)
        self.owner = SetOwner(self.world, self.which, min_ready)
        self.watch = SetWatch(self.world)
        self.healthy = True
        if turns:
            self.release_and_run("v2", turns)

    @precondition(lambda self: not self.governed)
    @rule()
    @noted
    def make_rollout_again(self) -> None:
        self.world.cluster.rollouts.put(make_rollout(ref=SETS[self.which]))

    @precondition(lambda self: self.there)
    @rule(which=st.integers(0, 3))
    @noted
    def delete_a_revision(self, which: int) -> None:
        """A ControllerRevision goes; its pods stay."""
        found = self.world.cluster.revisions_of(set_of(self.world))
        if found:
            self.watch.forced = True
            self.world.cluster.revisions.remove(found[which % len(found)].metadata.key)

    def finished(self) -> None:
        """The set is its owner's, all its pods run, and there is nothing to decide."""
        world, workload = self.world, set_of(self.world)
        why = world.describe()
        assert not {*names.OURS_ON_WORKLOAD} & workload.metadata.annotations.keys(), why
        assert (workload.spec.min_ready_seconds or 0) == self.min_ready, why
        given_back = (STRATEGIES[self.which], GIVEN_BACK[self.which])
        assert any(same(strategy_of(world), own) for own in given_back), why
        assert not msgspec.json.decode(workload.spec.scale_strategy), why
        wanted = world.cluster.revision_of(workload.spec.template)
        alive = [pod for pod in world.cluster.pods if not pod.metadata.deleting]
        assert {pod.revision.removeprefix("web-") for pod in alive} == {wanted}, why
        assert len(alive) == self.owner.size, why
        rests(world)


@pytest.mark.timeout(3600)
def test_releases_of_sets_under_everything_that_can_come_in_between() -> None:
    run(Sets, share=0.5)
    assert not unmet(Sets)


def test_old_pods_that_all_fail_do_not_keep_new_ones_of_blue_green_away() -> None:
    """OpenKruise deletes a named pod that is not ready and makes it again, until the new pods are ready."""
    release = Sets()
    release.begin(
        ("CloneSet", "blue-green"), PLANS[1], traffic=True, replicas=5, min_ready=4, turns=11
    )
    release.scale_to_zero_and_back(replicas=3, ticks=9, wakes=False)
    release.break_a_version("v1")
    release.approve_and_rest()
    release.teardown()
    assert len(tuple(release.world.cluster.pods)) == 3


def test_a_daemon_set_goes_on_with_pods_of_a_revision_before_the_stable_one() -> None:
    """Nothing replaces them before a step does: a release that waited for stable pods alone never went on."""
    release = Sets()
    release.begin(("DaemonSet", "partition"), PLANS[1], False, 1, min_ready=0, turns=0)
    release.take_the_label_off_while_no_webhook_answers(rounds=0)
    release.forbid_pods()
    release.restart()
    release.scale(replicas=4)
    release.restart()
    release.teardown()
    assert len(tuple(release.world.cluster.pods)) == 4


@pytest.mark.parametrize("which", ["DaemonSet", "Advanced DaemonSet"])
def test_a_step_with_traffic_after_one_without_pins_before_its_position_is_stored(
    which: str,
) -> None:
    """The larger step's position is stored before its pods; meanwhile the Service led to both revisions."""
    release = Sets()
    release.begin((which, "partition"), PLANS[5], True, 2, min_ready=0, turns=0)
    release.change_template(version="v2")
    release.rest()
    release.approve_and_rest()
    release.approve_and_rest()
    assert release.position.step == 3
    release.teardown()


@pytest.mark.parametrize("which", ["DaemonSet", "Advanced DaemonSet"])
def test_no_new_pod_of_a_daemon_set_is_deleted_while_their_revision_is_unknown(which: str) -> None:
    """Somebody deleted the ControllerRevision of the new pods, which counted as old ones then."""
    release = Sets()
    release.begin((which, "partition"), PLANS[0], True, 10, min_ready=0, turns=40)
    release.delete_a_revision(which=1)
    v2 = release.world.cluster.revision_of(template("v2"))
    new = {pod.metadata.uid for pod in release.world.cluster.pods if pod.revision == v2}
    assert new
    release.rest()
    assert new <= {pod.metadata.uid for pod in release.world.cluster.pods}
    release.teardown()


def test_unready_pods_of_an_abandoned_revision_count_as_unavailable_nodes_of_a_daemon_set() -> None:
    """The third revision deleted one unready pod and, within the owner's limit of two, two ready ones beside it."""
    release = Sets()
    release.begin(("DaemonSet", "partition"), PLANS[6], False, 5, min_ready=4, turns=0)
    release.release_and_run(version="v2", turns=6)
    release.time_passes(seconds=8)
    release.undo(version="v4")
    release.approve_and_rest()
    release.teardown()
    assert release.state == "Healthy"


def test_a_clone_set_is_not_made_to_replace_its_current_revision_by_itself_for_ever() -> None:
    """OpenKruise creates the pods of its current revision again; the steps replace them."""
    release = Sets()
    release.begin(("CloneSet", "partition"), PLANS[0], True, 1, min_ready=0, turns=11)
    release.evict_a_pod(which=14)
    release.forbid_pods()
    release.replace_the_manifest_while_no_webhook_answers(rounds=0, version="v1")
    release.approve_to_the_end(turns=0)
    release.evict_a_pod(which=0)
    release.controllers_run(rounds=2)
    release.evict_a_pod(which=1)
    release.replace_the_manifest_while_no_webhook_answers(rounds=1, version="v3")
    release.teardown()
    assert len(tuple(release.world.cluster.pods)) == 1


def test_pods_are_counted_while_the_revision_of_their_template_is_missing() -> None:
    """Somebody deleted it. The set's controller creates it again, with the same name."""
    release = Sets()
    release.begin(("StatefulSet", "partition"), PLANS[7], False, 10, min_ready=4, turns=40)
    for plan in (PLANS[0], PLANS[1], PLANS[6]):
        release.edit_the_plan(plan=plan)
    release.crash(actions=3)
    release.delete_a_revision(which=3)
    release.world.pass_over(KEY)
    v2 = release.world.cluster.revision_of(template("v2"))
    new = [pod for pod in release.world.cluster.pods if pod.revision.endswith(v2)]
    assert new
    assert canary_status(release.world.cluster.rollouts[KEY].status).canary_replicas == len(new)
    release.teardown()
