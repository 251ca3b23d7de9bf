"""A status that cannot be read as a whole hides no object: what can be read of it is read, and the rest is named."""

import msgspec
import pytest

from controller.api.jsontree import JsonObject, changed
from controller.api.rollout import MoonshiftStatus, RolloutStatus
from controller.api.salvage import read_rollout, read_traffic_routing

STATUS: JsonObject = {
    "phase": "Progressing",
    "canaryStatus": {"currentStepIndex": 2, "currentStepState": "StepPaused"},
    "moonshift": {"release": "r1", "step": 2, "state": "StepPaused", "stateSince": None},
}
ROLLOUT: JsonObject = {
    "metadata": {"name": "web", "namespace": "shop", "finalizers": ["f"]},
    "spec": {"workloadRef": {"kind": "Deployment", "name": "web"}},
    "status": STATUS,
}


def test_a_rollout_that_can_be_read_is_read_whole() -> None:
    found = read_rollout(msgspec.json.encode(ROLLOUT))
    assert found.unreadable == ()
    assert found.status.current_step_index == 0
    assert found.status.of_release is not None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("moonshift", "stateSince"), "0000-01-01T00:00:00Z"),
        (("moonshift", "visits"), [{"step": "x"}]),
        (("moonshift", "approval"), []),
        (("canaryStatus", "lastUpdateTime"), "0000-01-01T00:00:00Z"),
        (("conditions",), [{"type": "Ready"}]),
        (("observedGeneration",), "many"),
        (("blueGreenStatus",), 7),
        (("moonshift", "analyses"), [{"metrics": [{"readings": [{"value": {}}]}]}]),
    ],
)
def test_a_part_that_cannot_be_read_is_named_and_the_rest_is_there(
    path: tuple[str, ...], value: object
) -> None:
    broken = changed(ROLLOUT, ("status", *path), value)
    found = read_rollout(msgspec.json.encode(broken))
    assert found.unreadable == (".".join(("status", *path)),)
    assert found.metadata.key == ("shop", "web")
    assert found.metadata.finalizers == ("f",)
    assert found.spec.workload_ref.name == "web"
    assert found.status.phase == "Progressing"
    ours = found.status.moonshift
    assert isinstance(ours, MoonshiftStatus)
    assert (ours.release, ours.step) == ("r1", 2)


@pytest.mark.parametrize("status", [7, [], "text"])
def test_a_status_that_is_no_object_is_an_empty_one(status: object) -> None:
    found = read_rollout(msgspec.json.encode({**ROLLOUT, "status": status}))
    assert found.unreadable == ("status",)
    assert found.status == RolloutStatus()


def test_a_status_that_is_null_is_an_absent_one() -> None:
    found = read_rollout(msgspec.json.encode({**ROLLOUT, "status": None}))
    assert found.unreadable == ()
    assert found.status == RolloutStatus()


@pytest.mark.parametrize(
    "broken",
    [b"", b"[]", b'{"metadata": 7}', b'{"spec": 7}', b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}"],
)
def test_an_object_whose_identity_or_spec_cannot_be_read_is_not_read(broken: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_rollout(broken)


def test_a_traffic_routing_is_read_in_the_same_way() -> None:
    status = {"phase": "Healthy", "members": [{"since": "0000-01-01T00:00:00Z"}]}
    found = read_traffic_routing(msgspec.json.encode({**ROLLOUT, "spec": {}, "status": status}))
    assert found.unreadable == ("status.members",)
    assert found.status.phase == "Healthy"
