"""Istio with one Service for both revisions: the VirtualService and the DestinationRule of a step, judged together.

The owner's routes lead to a subset of the stable revision; the step's lead to the subset `canary`, which the
DestinationRule's script adds by the labels that new pods are given.
"""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.component.luaworker.process import Worker
from tests.routing import istio, tables
from tests.routing.model import Shares, Tree
from tests.routing.tables import ADMIN, LEGACY, STABLE, Spec, Table
from tests.routing.test_routing import (
    EXAMPLES,
    PROBES,
    STEPS,
    is_meant,
    routing_tables,
    without_nothing,
)
from tests.unit.lua_configuration.running import IN_VAIN, Refused, answered

FEWER = settings(EXAMPLES, max_examples=8)
VIRTUAL_SERVICE, RULE = "networking.istio.io/VirtualService", "networking.istio.io/DestinationRule"
OLD, NEW = "old", "new"
BASE = {"app": "web", "version": "base"}
LABELS = [
    pytest.param({}, {"istio.service.tag": "gray", "version": "next"}, id="by-convention"),
    pytest.param({"version": "canary"}, {"version": "canary"}, id="given"),
]
ORIGINAL_RULE = {"host": STABLE, "subsets": [{"name": "base", "labels": {"version": "base"}}]}


def hosts(given: dict[str, str]) -> dict[str, istio.Pods]:
    """Pods of both revisions behind the one Service, and others."""
    return {
        STABLE: {OLD: BASE, NEW: {**BASE, **given}},
        LEGACY: {LEGACY: {}},
        ADMIN: {ADMIN: {}},
    }


def to_the_subset(table: Table) -> Spec:
    """The table as a VirtualService that leads to the subset of the stable revision."""
    spec = tables.virtual_service(table)
    for rule in spec["http"]:
        for entry in rule["route"]:
            if entry["destination"]["host"] == STABLE:
                entry["destination"]["subset"] = "base"
    return spec


async def both(
    worker: Worker, original: Spec, patched: dict[str, str], weight: float = -1, **more: Any
) -> tuple[Tree, Tree]:
    """The VirtualService and the DestinationRule of a step."""
    more |= {"canaryService": STABLE, "patchPodMetadata": {"labels": patched, "annotations": {}}}
    return (
        await answered(worker, VIRTUAL_SERVICE, original, weight, **more),
        await answered(worker, RULE, ORIGINAL_RULE, weight, **more),
    )


@pytest.mark.parametrize(("patched", "pods"), LABELS)
@FEWER
@given(table=routing_tables(), weight=st.integers(0, 100))
async def test_the_new_pods_get_the_share_of_one_service_that_the_step_asked(
    script_worker: Worker,
    patched: dict[str, str],
    pods: dict[str, str],
    table: Table,
    weight: int,
) -> None:
    original, behind = to_the_subset(table), hosts(pods)
    service, rule = await both(script_worker, original, patched, weight)
    for request in PROBES:
        before = istio.by_revision(original, ORIGINAL_RULE, behind, request)
        after = istio.by_revision(service, rule, behind, request)
        moved = before.get(OLD, Fraction(0)) * weight / 100
        expected: Shares = {**before, OLD: before.get(OLD, Fraction(0)) - moved, NEW: moved}
        assert without_nothing(after) == without_nothing(expected), request


@pytest.mark.parametrize(("patched", "pods"), LABELS)
@pytest.mark.parametrize("number", range(len(STEPS)))
@FEWER
@given(table=routing_tables())
async def test_requests_that_match_go_to_the_new_pods_of_one_service(
    script_worker: Worker,
    patched: dict[str, str],
    pods: dict[str, str],
    number: int,
    table: Table,
) -> None:
    original, behind, matches = to_the_subset(table), hosts(pods), STEPS[number][1]
    answer, words = None, ""
    try:
        answer = await both(script_worker, original, patched, matches=matches)
    except Refused as refused:
        words = str(refused)
    if answer is None:
        assert IN_VAIN in words
        assert not any(
            OLD in without_nothing(istio.by_revision(original, ORIGINAL_RULE, behind, request))
            and any(is_meant(match, request) for match in matches)
            for request in PROBES
        )
        return
    service, rule = answer
    for request in PROBES:
        before = without_nothing(istio.by_revision(original, ORIGINAL_RULE, behind, request))
        after = without_nothing(istio.by_revision(service, rule, behind, request))
        meant = OLD in before and any(is_meant(match, request) for match in matches)
        assert after == ({NEW: Fraction(1)} if meant else before), request
