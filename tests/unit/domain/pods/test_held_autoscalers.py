"""An autoscaler's own behavior is stored once, whatever the object contains later."""

import msgspec
import pytest

from controller.api.autoscaling import Autoscaler
from controller.api.names import ORIGINAL_BEHAVIOR
from controller.domain.pods import held_autoscalers

POLICIES = {"scaleUp": {"selectPolicy": "Min"}}


def autoscaler(behavior: object, saved: str | None = None) -> Autoscaler:
    annotations = {} if saved is None else {ORIGINAL_BEHAVIOR: saved}
    spec = {} if behavior is None else {"behavior": behavior}
    body = msgspec.json.encode({"metadata": {"annotations": annotations}, "spec": spec})
    return msgspec.json.decode(body, type=Autoscaler)


@pytest.mark.parametrize("saved", ["null", '{"scaleUp":{"selectPolicy":"Min"}}'])
def test_the_behavior_of_a_paused_autoscaler_is_not_taken_for_its_owners(saved: str) -> None:
    assert held_autoscalers.original(autoscaler(held_autoscalers.PAUSED_BEHAVIOR, saved)) == saved


def test_an_absent_behavior_is_recorded_as_absent() -> None:
    assert held_autoscalers.original(autoscaler(None)) == "null"
