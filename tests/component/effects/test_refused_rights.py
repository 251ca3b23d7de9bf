"""A write that is refused for want of a right says which right to grant, and to whom."""

from controller.effects.apply import of_refused
from controller.errors import Forbidden, Invalid

SAID = (
    'horizontalpodautoscalers.autoscaling "web" is forbidden: User "system:serviceaccount:kruise-rollout:manager" '
    'cannot patch resource "horizontalpodautoscalers" in API group "autoscaling" in the namespace "shop"'
)


def test_a_missing_right_is_told_with_what_to_grant() -> None:
    refusal = of_refused(Forbidden(SAID, status=403))
    assert refusal.reason == "Forbidden"
    assert refusal.message == (
        f"{SAID}; grant patch on horizontalpodautoscalers.autoscaling to ServiceAccount kruise-rollout/manager"
    )


def test_what_is_invalid_is_told_as_it_was_said() -> None:
    assert of_refused(Invalid("spec.replicas: must not be", status=422)).message == (
        "spec.replicas: must not be"
    )
