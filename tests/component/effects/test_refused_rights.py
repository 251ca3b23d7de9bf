"""A write that is refused for want of a right says which right to grant, and to whom."""

from collections.abc import Mapping
from typing import Any

import pytest

from controller.api.meta import Key
from controller.api.names import POD_TEMPLATE_HASH
from controller.domain.decision import PinService, Refusal
from controller.effects.apply import Pass, of_refused
from controller.effects.gateways.failed_writes import unreadable
from controller.effects.writes import Writes
from controller.errors import Forbidden, Invalid, Right, WebhookFailed
from controller.kube.resources import Resource
from tests.component.effects.api_double import ApiDouble, LedgerDouble
from tests.unit.builders import make_rollout

SAID = (
    'horizontalpodautoscalers.autoscaling "web" is forbidden: User "system:serviceaccount:kruise-rollout:manager" '
    'cannot patch resource "horizontalpodautoscalers" in API group "autoscaling" in the namespace "shop"'
)


def test_a_missing_right_is_reported_with_the_right_to_grant() -> None:
    refusal = of_refused(Forbidden(SAID, status=403))
    assert refusal.reason == "Forbidden"
    assert refusal.message == (
        f"{SAID}; grant patch on horizontalpodautoscalers.autoscaling to ServiceAccount kruise-rollout/manager"
    )


def test_an_invalid_request_is_reported_in_the_servers_words() -> None:
    assert of_refused(Invalid("spec.replicas: must not be", status=422)).message == (
        "spec.replicas: must not be"
    )


def test_a_webhook_without_an_answer_is_reported_with_the_write_that_it_prevented() -> None:
    failed = WebhookFailed('failed calling webhook "v.example.dev"', status=500)
    failed.request = "patch deployments.apps shop/web"
    refusal = of_refused(failed)
    assert (refusal.reason, refusal.right) == ("WebhookFailed", None)
    assert refusal.message == f"patch deployments.apps shop/web: {failed.message}"


class Denying(ApiDouble):
    """Forbids every merge patch."""

    async def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, object],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes:
        refused = Forbidden(SAID, status=403)
        refused.right = Right("patch", "", resource.plural, "", namespace, name)
        raise refused


async def test_a_write_that_is_forbidden_refuses_its_action_and_not_the_pass() -> None:
    other: Any = None
    effects = Pass(
        make_rollout(), Writes(Denying(), LedgerDouble()), other, other, other, other, other, other
    )
    outcome = await effects.apply(PinService(Key("shop", "web"), "1", POD_TEMPLATE_HASH, "abc"))
    assert isinstance(outcome, Refusal)
    assert outcome.right == Right("patch", "", "services", "", "shop", "web")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("it is gone", "Lane shop/web: it is gone"),
        ("Lane shop/web cannot be read", "Lane shop/web cannot be read"),
        ("Lane shop/other cannot be read", "Lane shop/web: Lane shop/other cannot be read"),
    ],
)
def test_the_object_is_named_once(message: str, shown: str) -> None:
    assert unreadable(message, "Lane shop/web") == shown
