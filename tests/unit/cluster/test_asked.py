"""The checker of requests flags bad ones, made by hand for each rule, and lets good ones pass."""

from datetime import UTC, datetime

import msgspec
import pytest

from controller.api.names import ROLLOUT_UID
from localcluster.audit import AuditRecord
from tests.cluster import asked as checked
from tests.cluster.asked import judge_requests

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OURS = {"metadata": {"labels": {ROLLOUT_UID: "r-1"}}}


def asked(
    verb: str, resource: str, body: object = None, stored: object = None, *, forbidden: bool = False
) -> AuditRecord:
    """A request of the controller; the resource as `plural.group/subresource`."""
    name, _, subresource = resource.partition("/")
    plural, _, group = name.partition(".")
    return AuditRecord(
        audit_id="a", stage="ResponseComplete", at=NOON, received_at=NOON, user="us", user_agent="",
        verb=verb, uri="", api_group=group, resource=plural, subresource=subresource,
        namespace="shop", name="web", code=200, is_forbidden=forbidden, is_watch=False,
        resource_version=7, request_object=None if body is None else msgspec.json.encode(body),
        response_object=None if stored is None else msgspec.json.encode(stored),
    )  # fmt: skip


def patched(resource: str, body: object, stored: object = None) -> AuditRecord:
    return asked("patch", resource, body, stored)


def without_version() -> AuditRecord:
    return asked("update", "virtualservices.networking.istio.io", {"metadata": {"name": "web"}})


def removing(path: str) -> list[dict[str, str]]:
    return [{"op": "remove", "path": path}]


BAD: dict[str, tuple[str, AuditRecord]] = {
    "a request without a right": (
        "no_right_is_missing",
        asked("list", "secrets", forbidden=True),
    ),
    "a route that is written without its resource version": (
        "whole_objects_carry_the_version_that_was_judged",
        without_version(),
    ),
    "the owner's replicas in a merge patch": (
        "patches_stay_within_our_fields",
        patched("deployments.apps", {"spec": {"replicas": 0, "paused": True}}, {"metadata": {}}),
    ),
    "a Service's ports in a JSON patch": (
        "patches_stay_within_our_fields",
        patched("services", removing("/spec/ports/0")),
    ),
    "an autoscaler's bounds": (
        "patches_stay_within_our_fields",
        patched("horizontalpodautoscalers.autoscaling", {"spec": {"maxReplicas": 1}}),
    ),
    "a Rollout's spec": (
        "patches_stay_within_our_fields",
        patched("rollouts.rollouts.kruise.io", {"spec": {"disabled": True}}),
    ),
}
GOOD: dict[str, AuditRecord] = {
    "a pin over the version that was seen": patched(
        "services", {"metadata": {"resourceVersion": "6"}, "spec": {"selector": {"a": "b"}}}
    ),
    "a deployment that is held": patched(
        "deployments.apps",
        [{"op": "test", "path": "/metadata/generation", "value": 3}, *removing("/spec/paused")],
    ),
    "the size of our own copy": patched("deployments.apps", {"spec": {"replicas": 2}}, OURS),
    "a route over its version": asked(
        "update", "virtualservices.networking.istio.io", {"metadata": {"resourceVersion": "6"}}
    ),
    "a status": patched("rollouts.rollouts.kruise.io/status", removing("/status/message")),
    "a kind whose owner is a script": patched("configmaps", {"data": {"a": "b"}}),
    "a read": asked("get", "services"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_flagged(name: str) -> None:
    rule, record = BAD[name]
    assert {item for _, item, _ in judge_requests([record])} == {rule}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_request_passes(name: str) -> None:
    assert list(judge_requests([GOOD[name]])) == []


def test_every_rule_has_a_bad_request() -> None:
    assert {rule.__name__ for rule in checked.RULES} == {rule for rule, _ in BAD.values()}
