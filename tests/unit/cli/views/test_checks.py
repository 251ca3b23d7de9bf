"""A release that waits for checks says so, with their words; `why` and `get` have a line for each."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from controller.api.checks import CheckRun
from controller.api.rollout import MoonshiftStatus, Phase
from controller.cli.render.checks import check_line
from controller.cli.views.checks import check_views, waits_for_checks
from controller.cli.views.waiting import waits_for
from controller.domain.checks.answering import Holds
from tests.unit.builders import KEY, make_rollout, status_of
from tests.unit.domain.rollout.approvals.test_checking import BEFORE, END, ROUTED, check, checked

NOW = datetime(2026, 11, 27, 20, tzinfo=UTC)
RUN = CheckRun(
    step=2,
    at="routed",
    name="change",
    message="CHG1 is requested",
    started_at=NOW - timedelta(minutes=3),
    again_at=NOW + timedelta(seconds=20),
)


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (
            RUN,
            "check change of step 2 (routed)  Running  for 3m  CHG1 is requested  asked again in 20s",
        ),
        (
            structs.replace(RUN, again_at=NOW),
            "check change of step 2 (routed)  Running  for 3m  CHG1 is requested  asked again now",
        ),
        (
            structs.replace(RUN, message="", again_at=None),
            "check change of step 2 (routed)  Running  for 3m  no answer yet",
        ),
        (
            structs.replace(RUN, step=0, at="start", verdict="Failed", message="rejected"),
            "check change of the start (start)  Failed  rejected",
        ),
    ],
)
def test_a_check_is_a_line(run: CheckRun, line: str) -> None:
    status = structs.replace(make_rollout().status, moonshift=MoonshiftStatus(checks=(run,)))
    (view,) = check_views(structs.replace(make_rollout(), status=status))
    assert check_line(view, NOW).plain == line


@pytest.mark.parametrize("at", [BEFORE, ROUTED, END])
def test_a_release_waits_for_its_checks_in_words(at: str) -> None:
    world = checked(check("change", at), says={"change": (Holds("CHG1 is requested"),)})
    assert waits_for(world.cluster.rollouts[KEY]) == "its checks: change: CHG1 is requested"
    assert status_of(world).phase == Phase.PROGRESSING


def test_a_release_without_checks_waits_for_none() -> None:
    rollout = make_rollout()
    assert waits_for_checks(rollout) == ""
