"""No number and no date that the API server stores ends a pass: the object of one team must not stop the controller."""

from datetime import UTC, datetime

import pytest
from msgspec import structs

from controller.api.rollout import CanaryStrategy, Pause, Rollout, StepState
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.status import with_moonshift_status
from tests.unit.builders import KEY, make_rollout, make_steps
from tests.unit.domain.rollout.scenes import STATES, started

HUGE = 10**18
DATES = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC))


def with_plan(rollout: Rollout, **fields: object) -> Rollout:
    plan = rollout.spec.strategy.canary
    assert isinstance(plan, CanaryStrategy)
    strategy = structs.replace(rollout.spec.strategy, canary=structs.replace(plan, **fields))
    return structs.replace(rollout, spec=structs.replace(rollout.spec, strategy=strategy))


@pytest.mark.parametrize("number", [HUGE, -HUGE])
@pytest.mark.parametrize("state", STATES)
def test_a_pass_is_made_with_any_number_of_seconds(number: int, state: StepState) -> None:
    world = started()
    seen = world.observe(KEY)
    assert seen is not None
    rollout = make_rollout()
    plan = rollout.spec.strategy.plan
    assert plan is not None
    paused = tuple(structs.replace(one, pause=Pause(number)) for one in make_steps("20%", "50%"))
    routings = tuple(
        structs.replace(one, grace_period_seconds=number) for one in plan.traffic_routings
    )
    changed = with_plan(
        structs.replace(
            seen.rollout, status=with_moonshift_status(seen.rollout.status, state=state)
        ),
        steps=paused,
        traffic_routings=routings,
        progress_deadline_seconds=number,
    )
    assert decide(structs.replace(seen, rollout=changed), world.cluster.now).status is not None


@pytest.mark.parametrize("date", DATES)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("duration", [60, None])
def test_a_pass_is_made_with_any_date(
    date: datetime, state: StepState, duration: int | None
) -> None:
    world = started(
        steps=tuple(structs.replace(one, pause=Pause(duration)) for one in make_steps("20%", "50%"))
    )
    seen = world.observe(KEY)
    assert seen is not None
    status = with_moonshift_status(
        seen.rollout.status, state=state, state_since=date, goal_since=date, started_at=date
    )
    changed = with_plan(structs.replace(seen.rollout, status=status), progress_deadline_seconds=60)
    assert decide(structs.replace(seen, rollout=changed), world.cluster.now).status is not None
