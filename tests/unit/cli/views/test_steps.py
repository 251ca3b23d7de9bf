from typing import Any

import msgspec
import pytest

from controller.api.rollout import Rollout, Step
from controller.cli.views.steps import next_text, step_views, traffic_text
from controller.domain.rollout.words.release_context import current_step
from tests.unit.cli.builders import make_rollout


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ({"traffic": "20%"}, "20% of the traffic"),
        ({"replicas": 1}, "no routes"),
        (
            {"matches": [{"headers": [{"name": "version", "value": "canary"}]}]},
            "requests with version=canary",
        ),
        (
            {
                "matches": [
                    {
                        "headers": [{"type": "RegularExpression", "name": "a", "value": "b.*"}],
                        "path": {"value": "/x"},
                    },
                    {"queryParams": [{"name": "q", "value": "1"}], "method": "GET"},
                ]
            },
            "requests with a~b.* and path /x or ?q=1 and GET",
        ),
    ],
)
def test_traffic_is_shown_in_words(step: dict[str, Any], text: str) -> None:
    assert traffic_text(msgspec.convert(step, Step)) == text


def test_the_plan_marks_the_present_step() -> None:
    views = step_views(make_rollout(step=2), 10)
    assert [(v.pods, v.pause, v.mark) for v in views] == [
        ("20% (2 of 10)", "until approved", "done"),
        ("50% (5 of 10)", "60 s", "now"),
        ("100% (10 of 10)", "none", "to come"),
    ]


def test_a_zero_pause_is_none_and_unknown_sizes_stay_as_written() -> None:
    steps: list[dict[str, Any]] = [{"replicas": 1, "pause": {"duration": 0}}, {"replicas": "30%"}]
    views = step_views(make_rollout(steps=steps), None)
    assert [(v.pods, v.pause) for v in views] == [("1", "none"), ("30%", "until approved")]


def test_next_is_the_following_step_then_the_end_then_nothing() -> None:
    assert next_text(make_rollout(), 10) == (
        "step 2/3: 50% (5 of 10) new pods, 50% of the traffic, pause 60 s"
    )
    assert next_text(make_rollout(step=3), 10).startswith("the end: all pods")
    assert next_text(make_rollout(goal="Rollback"), 10) == ""
    assert next_text(make_rollout(phase="Healthy"), 10) == ""


def test_a_blue_green_release_is_read_from_its_own_fields() -> None:
    body = {
        "spec": {"strategy": {"blueGreen": {"steps": [{"replicas": "100%"}]}}},
        "status": {"phase": "Progressing", "currentStepIndex": 1, "blueGreenStatus": {}},
    }
    rollout = msgspec.json.decode(msgspec.json.encode(body), type=Rollout)
    assert current_step(rollout.status) == 1
    assert [view.pause for view in step_views(rollout, None)] == ["until approved"]
    assert step_views(make_rollout(steps=[]), 1) == ()


@pytest.mark.parametrize("steps", [[], None])
def test_a_step_below_the_first_that_a_client_wrote_counts_as_none(
    steps: list[dict[str, Any]] | None,
) -> None:
    rollout = make_rollout(step=-1, steps=steps)
    assert current_step(rollout.status) == 0
    assert next_text(rollout, 10) == ""
