"""The plan of shared routes knows the labels of the stable pods, if they are those of one Rollout."""

import pytest

from controller.api.meta import ObjectMeta
from controller.api.workloads import Pod
from controller.domain.trafficrouting.plans import plan_of
from controller.domain.trafficrouting.seen import MemberSeen, TrafficRoutingSeen
from tests.unit.domain.trafficrouting.scenes import lane, member


def pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, uid=name, labels={"version": name}))


def joined(name: str, *, stable: bool = True) -> MemberSeen:
    old, new = pod(f"{name}-1"), pod(f"{name}-2")
    return MemberSeen(member(name), (new,), (new, old) if stable else (new,))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ((joined("a"),), {"version": "a-1"}),
        ((joined("a", stable=False),), None),
        ((joined("a"), joined("b")), None),
        ((), None),
    ],
    ids=["one", "without-stable-pods", "two", "none"],
)
def test_the_labels_of_the_stable_pods_are_known_for_one_member(
    members: tuple[MemberSeen, ...], expected: dict[str, str] | None
) -> None:
    seen = TrafficRoutingSeen(lane("a"), members)
    assert plan_of(seen, ("a",)).stable_labels == expected
