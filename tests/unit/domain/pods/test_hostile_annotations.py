"""Texts in annotations that no decoder reads: everybody may write one, and a decoder stops at a thousand levels."""

from collections.abc import Callable

import msgspec
import pytest

from controller.api import names
from controller.api.autoscaling import Autoscaler
from controller.api.conversion import converted
from controller.api.jsontree import JsonObject
from controller.api.meta import ObjectMeta
from controller.api.workloads import Pod
from controller.domain.admission.overridden import overridden
from controller.domain.admission.service import pin_of
from controller.domain.pods.held_autoscalers import owners_behavior
from controller.domain.pods.marks import hold_on
from controller.domain.pods.originals import originals_values, partition_strategy
from controller.domain.pods.recovered_values import applied_manifest
from controller.domain.traffic.companions.companion import place_of_companion
from controller.domain.traffic.original.record import read_state

DEEP = '{"unknown": ' + "[" * 5000 + "]" * 5000 + "}"
NAMES = (
    names.COMPANION,
    names.IN_PROGRESSING,
    names.KEPT_V1ALPHA1,
    names.LAST_APPLIED,
    names.ORIGINAL_BEHAVIOR,
    names.ORIGINAL_STRATEGY,
    names.PIN,
)
META = ObjectMeta(name="web", namespace="shop", annotations=dict.fromkeys(NAMES, DEEP))
TREE: JsonObject = {
    "apiVersion": names.V1BETA1,
    "kind": "Rollout",
    "metadata": {"annotations": dict.fromkeys(NAMES, DEEP), "labels": {names.PINNED: "yes"}},
    "spec": {},
}


def version_of_converted() -> object:
    result = converted(TREE, names.V1ALPHA1)
    assert isinstance(result, dict)
    return result["apiVersion"]


@pytest.mark.parametrize(
    ("read", "found"),
    [
        pytest.param(lambda: place_of_companion(META), "", id="companion"),
        pytest.param(lambda: read_state(DEEP), None, id="record of a route"),
        pytest.param(lambda: hold_on(Pod(metadata=META)).rollout, "", id="mark"),
        pytest.param(lambda: hold_on(Pod(metadata=META)).record, None, id="owner's values"),
        pytest.param(lambda: applied_manifest(META), None, id="applied manifest"),
        pytest.param(lambda: owners_behavior(Autoscaler(metadata=META)), None, id="behavior"),
        pytest.param(lambda: originals_values(DEEP), None, id="values of the original"),
        pytest.param(
            lambda: partition_strategy(DEEP),
            {"type": "RollingUpdate"},
            id="strategy of the original",
        ),
        pytest.param(lambda: pin_of(TREE), None, id="pin"),
        pytest.param(lambda: overridden(TREE, TREE, TREE), (), id="overridden"),
        pytest.param(version_of_converted, names.V1ALPHA1, id="conversion"),
    ],
)
def test_a_text_that_is_nested_too_deeply_counts_as_unreadable(
    read: Callable[[], object], found: object
) -> None:
    with pytest.raises(RecursionError):
        msgspec.json.decode(DEEP)
    assert read() == found
