"""Each message of a pass is counted once, when its status is written."""

from datetime import timedelta

from msgspec import structs

from controller.api.meta import Condition
from controller.api.rollout import Rollout
from controller.domain import reasons
from controller.domain.decision import Decision, Note
from controller.domain.rollout.ends.reported import End
from controller.domain.traffic.drift.policy import DRIFTED
from controller.reconcilers.reporting import Reporting
from tests.unit.builders import KEY, ours_of, status_of
from tests.unit.domain.rollout.scenes import started
from tests.unit.worlds import World


class Counted:
    """Metrics that remember."""

    def __init__(self) -> None:
        self.drifts: list[str] = []
        self.ended: list[tuple[str, str, float]] = []

    def approved(self) -> None: ...

    def drifted(self, action: str) -> None:
        self.drifts.append(action)

    def release_ended(self, namespace: str, outcome: str, seconds: float) -> None:
        self.ended.append((namespace, outcome, seconds))

    def state_entered(self, state: str) -> None: ...

    def state_left(self, state: str, waiting_for: str, seconds: float) -> None: ...


def silent(rollout: Rollout, note: Note) -> None:
    """Events are not looked at."""


def report(world: World, counted: Counted, decision: Decision) -> None:
    seen = world.observe(KEY)
    assert seen is not None
    Reporting(silent, counted).report(seen, decision, world.cluster.now)


def test_an_end_is_counted_with_the_time_since_the_release_began() -> None:
    world = started()
    began = ours_of(world).started_at
    assert began is not None
    world.cluster.set_clock(began + timedelta(minutes=3))
    counted = Counted()
    note = Note(reasons.RELEASE_ABANDONED, "the release is over", ended=End.DELETED)
    report(world, counted, Decision(status_of(world), notes=(note,)))
    assert counted.ended == [("shop", "deleted", 180.0)]


def test_a_change_of_a_route_that_is_left_alone_is_counted_when_it_is_met() -> None:
    world = started()
    counted = Counted()
    held = (Condition(DRIFTED, "True", reasons.ROUTE_HELD),)
    status = structs.replace(status_of(world), conditions=held)
    report(world, counted, Decision(status))
    rollout = world.cluster.rollouts[KEY]
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    report(world, counted, Decision(status))
    assert counted.drifts == ["held"]
