"""A controller is killed between the owner's values and the marks: the next one restores the object once more.

The marks are removed last, so an object that has its owner's values already is restored again. Each write must succeed
on an object that it has changed before.
"""

import msgspec
import pytest

from controller.api import names
from controller.api.meta import Key
from controller.api.workload_kinds import KindName
from controller.domain.decision import FieldOfSpec, FreeAutoscaler, ReleaseWorkload
from controller.effects import autoscalers, workloads
from controller.effects.writes import Writes
from controller.kube.resources import HPAS, STATEFUL_SETS
from tests.component.effects.api_double import NAMESPACE, ApiDouble, LedgerDouble, Object

WEB = Key(NAMESPACE, "web")
POLICIES: Object = {"scaleDown": {"selectPolicy": "Min"}}


def autoscaler(api: ApiDouble, behavior: Object | None, saved: str) -> FreeAutoscaler:
    spec: Object = {"maxReplicas": 5} | ({} if behavior is None else {"behavior": behavior})
    annotations = {names.ORIGINAL_BEHAVIOR: saved, "team": "shop"}
    stored = api.put(HPAS, {"metadata": {"name": "web", "annotations": annotations}, "spec": spec})
    version = str(stored["metadata"]["resourceVersion"])
    return FreeAutoscaler(WEB, version, None if saved == "null" else msgspec.Raw(saved.encode()))


@pytest.mark.parametrize(
    ("before", "saved", "after"),
    [
        pytest.param({"scaleUp": {"selectPolicy": "Disabled"}}, "null", None, id="paused, none"),
        pytest.param(None, "null", None, id="restored before the kill, none"),
        pytest.param(POLICIES, '{"scaleDown":{"selectPolicy":"Min"}}', POLICIES, id="restored"),
    ],
)
async def test_an_autoscaler_gets_its_owners_behavior_at_every_repetition(
    before: Object | None, saved: str, after: Object | None
) -> None:
    api = ApiDouble()
    action = autoscaler(api, before, saved)
    await autoscalers.free(Writes(api, LedgerDouble()), action)
    found = api.one(HPAS, "web")
    assert found["spec"].get("behavior") == after
    assert found["metadata"]["annotations"] == {"team": "shop"}


@pytest.mark.parametrize("there", [True, False], ids=["still frozen", "restored before the kill"])
async def test_a_set_loses_the_strategy_that_its_owner_never_wrote(there: bool) -> None:
    api = ApiDouble()
    frozen: Object = {"updateStrategy": {"type": "OnDelete"}, "minReadySeconds": 9} if there else {}
    stored = api.put(
        STATEFUL_SETS,
        {
            "metadata": {
                "name": "web",
                "generation": 3,
                "annotations": {names.IN_PROGRESSING: "{}"},
            },
            "spec": {"replicas": 2, **frozen},
        },
    )
    action = ReleaseWorkload(
        kind=KindName("apps", "StatefulSet"),
        workload=WEB,
        generation=int(stored["metadata"]["generation"]),
        annotations=(names.IN_PROGRESSING,),
        fields=(FieldOfSpec("updateStrategy", None), FieldOfSpec("minReadySeconds", None)),
    )
    await workloads.release(Writes(api, LedgerDouble()), STATEFUL_SETS, action)
    found = api.one(STATEFUL_SETS, "web")
    assert found["spec"] == {"replicas": 2}
    assert not found["metadata"].get("annotations")
