"""A review of a TrafficRouting: refused, or let pass, before anybody waits for its lane."""

import json
from typing import Any

import msgspec
import pytest

from controller.domain.traffic.plan.header import ScriptHeader
from controller.runtime.clock import SystemClock
from controller.webhook.admission import Admission
from controller.webhook.review import AdmissionRequest, Answer
from tests.component.webhook.served import Reads

Json = dict[str, Any]
MATCH = {"headers": [{"name": "gray", "value": "1"}]}


def lane(**strategy: object) -> Json:
    """A TrafficRouting that leads an Ingress."""
    entry = {"service": "web", "ingress": {"name": "web"}}
    return {"metadata": {"name": "lane"}, "spec": {"objectRef": [entry], "strategy": strategy}}


async def judged(operation: str, obj: Json) -> Answer:
    """By scripts that match headers, and nothing else; before it was another one."""
    admission = Admission(
        Reads(), Reads(), SystemClock(), is_own=lambda *who: False,
        headers=lambda reference: ScriptHeader(can=frozenset({"header"})),
    )  # fmt: skip
    before = json.dumps(lane()).encode()
    return await admission.traffic_routing(
        AdmissionRequest(
            uid="r", operation=operation, namespace="shop",
            object=msgspec.Raw(json.dumps(obj).encode()), old_object=msgspec.Raw(before),
        )
    )  # fmt: skip


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
async def test_a_traffic_routing_is_checked_against_the_abilities_of_its_gateways(
    operation: str,
) -> None:
    refused = await judged(operation, lane(weight=20))
    assert (refused.allowed, refused.code) == (False, 422)
    assert "cannot divide requests by weight" in refused.message
    assert (await judged(operation, lane(matches=[MATCH]))).allowed


async def test_a_deletion_is_not_judged() -> None:
    assert (await judged("DELETE", lane(weight=20))).allowed
