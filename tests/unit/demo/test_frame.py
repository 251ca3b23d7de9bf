"""The picture shows the right texts, and it fits the terminal."""

import io

import pytest
from rich.console import Console

from demo.expectations import (
    BASE_PAGE,
    BASE_RULE,
    CANARY_PAGE,
    CANARY_SUBSETS,
    HEADER_HTTP,
    WEIGHTED_HTTP,
)
from demo.frame import Moment, draw, obstacle, rollout_words
from demo.routes import Line, difference, shares
from demo.world import State
from tests.unit.demo.objects import (
    NEW,
    OLD,
    destination_rule,
    history,
    of_pod,
    of_rollout,
    pod,
    rollout,
    state_of,
    virtual_service,
)

OLD_NAME = "nginx-deployment-8594db5d94-m4gbb"
NEW_NAME = "nginx-deployment-f5vmw-c88d794f8-x7bg2"
ORIGINAL = state_of(
    history([virtual_service([BASE_RULE]), destination_rule(CANARY_SUBSETS[:1]), of_pod(OLD)])
)
STEP_TWO = state_of(
    history(
        [
            virtual_service(HEADER_HTTP),
            destination_rule(CANARY_SUBSETS),
            of_pod(pod(OLD_NAME, BASE_PAGE, "base")),
            of_pod(pod(NEW_NAME, CANARY_PAGE, "canary", batch="1")),
            of_rollout(rollout(2, "StepTrafficRouting")),
        ]
    )
)


def drawn(moment: Moment, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as picture:
        console.print(draw(moment))
    return [line.rstrip() for line in picture.get().splitlines()]


def test_the_largest_picture_fits_a_terminal_of_80_by_24() -> None:
    lines = drawn(Moment(STEP_TWO, ORIGINAL, "step 2", 3.0))
    text = "\n".join(lines)
    assert len(lines) <= 24
    assert "…" not in text
    assert {OLD_NAME, NEW_NAME} <= set(text.split())
    assert "waiting for step 2" in lines[-1]


def test_added_lines_of_both_objects_are_marked() -> None:
    text = "\n".join(drawn(Moment(STEP_TWO, ORIGINAL)))
    assert "+ - match:" in text
    assert "+     version: canary" in text
    assert "nginx-vs against the original" in text


def test_without_a_change_the_routes_are_called_the_original() -> None:
    text = "\n".join(drawn(Moment(ORIGINAL, ORIGINAL)))
    assert "nginx-vs is the original" in text
    assert "+" not in text


def test_an_empty_cluster_can_be_drawn() -> None:
    assert any("none yet" in line for line in drawn(Moment({}, {}, "the pod")))


def test_the_bar_is_divided_by_weight() -> None:
    state = state_of(history([virtual_service(WEIGHTED_HTTP)]))
    [line] = [line for line in drawn(Moment(state, ORIGINAL)) if "█" in line]
    assert line.count("█") == 30
    assert line.endswith("requests → 80 % version-base, 20 % canary")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(
            [of_pod(pod("p", BASE_PAGE, "base", ready=False))], "a pod starts", id="start"
        ),
        pytest.param([of_pod(pod("p", BASE_PAGE, "base", leaving=True))], "a pod leaves", id="end"),
        pytest.param([of_pod(OLD)], "the controllers are at work", id="nothing new"),
        pytest.param(
            [of_pod(NEW), of_rollout(rollout(1, "StepTrafficRouting"))],
            "gateways get a moment to learn of the new pod",
            id="margin before the route",
        ),
        pytest.param(
            [of_pod(NEW), virtual_service([BASE_RULE]), of_rollout(rollout(2, "Completed"))],
            "no route leads to the canary pod; it stays a moment",
            id="margin after the route",
        ),
        pytest.param(
            [of_pod(NEW), virtual_service(HEADER_HTTP), of_rollout(rollout(2, "Completed"))],
            "Completed",
            id="the Rollout's own word",
        ),
    ],
)
def test_the_demo_names_the_obstacle_of_a_release(
    state: list[tuple[object, object, str]], expected: str
) -> None:
    seen: State = state_of(history(state))  # type: ignore[arg-type]
    assert obstacle(Moment(seen, ORIGINAL)) == expected


def test_a_rollout_that_cannot_go_on_is_quoted() -> None:
    body = rollout(1, "StepTrafficRouting")
    body["status"]["message"] = "step 1"
    condition = {"type": "Stalled", "status": "True", "reason": "ScriptFailed", "message": "line 3"}
    body["status"]["conditions"] = [condition]
    state = state_of(history([of_rollout(body)]))
    assert rollout_words(state) == [
        "Rollout Progressing: step 1",
        "Stalled=True ScriptFailed: line 3",
    ]


def test_a_difference_shows_every_line_once() -> None:
    lines = difference({"hosts": ["*"], "http": [1]}, {"hosts": ["*"], "http": [1, 2]})
    assert lines == [Line(" ", "http:"), Line(" ", "- 1"), Line("+", "- 2")]


def test_a_difference_shows_other_fields_where_they_differ() -> None:
    lines = difference({"hosts": ["a"], "http": [1]}, {"hosts": ["b"], "http": [1]})
    assert Line("-", "- a") in lines
    assert Line("+", "- b") in lines


def test_shares_are_of_each_rule() -> None:
    assert list(shares(HEADER_HTTP)) == [
        ("version: canary", "canary", 100),
        ("", "version-base", 100),
    ]
