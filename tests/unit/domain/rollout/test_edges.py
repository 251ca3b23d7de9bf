"""Situations that last for one pass only: a short loss of a traffic side, a set that is not observed yet, a
rollback."""

from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.autoscaling import Autoscaler
from controller.domain.pods.held_autoscalers import is_paused
from controller.domain.rollout.routes import routing
from controller.domain.rollout.routes.empty_side_record import _has_share, _way_to_move_share
from controller.domain.rollout.styles.doubled import DoubledCloneSet
from controller.domain.rollout.trouble.deadline import _stuck
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.rollout.words.status import with_moonshift_status
from controller.domain.rollout.words.transition import Stop
from controller.domain.sides import SERVICE, Side, SideRevision
from tests.unit.builders import KEY, make_set_world, make_world, status_of
from tests.unit.domain.rollout.scenes import started
from tests.unit.worlds import World


def looked(world: World) -> Release:
    seen = world.observe(KEY)
    assert seen is not None
    return as_stored(seen, world.cluster.now)


def test_an_autoscaler_without_a_behavior_may_still_scale() -> None:
    assert not is_paused(Autoscaler())


def test_the_share_of_an_un_pinned_stable_service_is_given_away_by_the_service() -> None:
    context = looked(make_world())
    assert _way_to_move_share(context, Side(SideRevision.STABLE, "web")) == SERVICE


def test_a_share_needs_ready_pods() -> None:
    context = looked(make_world())
    empty = as_stored(structs.replace(context.seen, slices=()), context.now)
    assert _way_to_move_share(empty, Side(SideRevision.NEW, "web")) == ""


def test_routes_that_lead_by_matches_alone_lead_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    world = started()
    monkeypatch.setattr(routing, "present_share", lambda release: None)
    assert _has_share(looked(world), Side(SideRevision.NEW, "web"))


def test_a_set_that_is_not_observed_loses_no_pod() -> None:
    context = looked(make_set_world("CloneSet"))
    workload = context.workload
    status = structs.replace(workload.pod_set.status, observed_generation=-1)
    unseen = structs.replace(workload, object=structs.replace(workload.pod_set, status=status))
    later = as_stored(structs.replace(context.seen, workload=unseen), context.now)
    assert not later.observed
    assert DoubledCloneSet().delete_excess(later) == ()


def test_a_way_back_from_zero_that_takes_long_names_the_stable_pods() -> None:
    world = started()
    status = with_moonshift_status(status_of(world), goal=Goal.SCALED_AWAY)
    later = looked(world)
    found = _stuck(as_stored(later.seen, later.now + timedelta(hours=1)), Stop(status))
    assert "the way back from zero replicas has taken more than" in found.message
