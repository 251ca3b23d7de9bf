"""The stamp of a changed content is held exactly as an owner's change of the template would be."""

from typing import Any

import msgspec
import pytest

from controller.api.meta import Key, ObjectMeta, OwnerReference
from controller.api.names import (
    ADMISSION_PAUSE,
    CONFIG_HASH,
    FREEZE_MIN_READY_SECONDS,
    IN_PROGRESSING,
    POD_TEMPLATE_HASH,
    ROLLOUT_ID,
    WORKLOAD_TYPE,
)
from controller.api.rollout import CanaryStrategy, Rollout, RolloutSpec, Strategy, WorkloadRef
from controller.api.workload_kinds import DEPLOYMENT, KindName
from controller.api.workloads import ReplicaSet, ReplicaSetSpec
from controller.domain import reasons
from controller.domain.decision import Done, Refusal, StampTemplate
from controller.effects.reverts import stamp
from controller.effects.writes import Writes
from controller.errors import Conflict
from controller.kube.resources import DEPLOYMENTS, STATEFUL_SETS
from tests.component.effects.api_double import ApiDouble, LedgerDouble

KEY = Key("shop", "web")
STATEFUL_SET = KindName("apps/v1", "StatefulSet")
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "img:v1"}]},
}


def rollout(kind: KindName = DEPLOYMENT) -> Rollout:
    return Rollout(
        metadata=ObjectMeta(name="web", namespace="shop", uid="r1"),
        spec=RolloutSpec(
            workload_ref=WorkloadRef(kind.api_version, kind.kind, "web"),
            strategy=Strategy(canary=CanaryStrategy()),
        ),
    )


def workload(kind: KindName = DEPLOYMENT, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": "web",
            "uid": "w1",
            "generation": 7,
            "labels": {WORKLOAD_TYPE: kind.kind.lower()},
        },
        "spec": {"replicas": 4, "template": TEMPLATE, **spec},
    }


def running() -> ReplicaSet:
    owner = OwnerReference("apps/v1", "Deployment", "web", "w1", controller=True)
    template = msgspec.Raw(msgspec.json.encode(TEMPLATE))
    return ReplicaSet(
        metadata=ObjectMeta(
            name="web-1", labels={POD_TEMPLATE_HASH: "1"}, owner_references=(owner,)
        ),
        spec=ReplicaSetSpec(replicas=4, template=template),
    )


def stamping(kind: KindName = DEPLOYMENT, generation: int = 7, text: str = "d2") -> StampTemplate:
    replica_sets = (running(),) if kind == DEPLOYMENT else ()
    return StampTemplate(kind, KEY, generation, text, replica_sets)


async def test_a_deployment_is_stamped_held_and_admission_paused_in_one_write() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, workload())
    writes = Writes(api, LedgerDouble())
    assert await stamp(writes, DEPLOYMENTS, stamping(), rollout()) == Done(wrote=True)
    assert api.writes == ["patch web"]
    stored = api.one(DEPLOYMENTS, "web")
    assert stored["spec"]["template"]["metadata"]["annotations"] == {CONFIG_HASH: "d2"}
    assert stored["spec"]["template"]["spec"] == TEMPLATE["spec"]
    assert stored["spec"]["paused"] is True
    assert stored["spec"]["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert {ADMISSION_PAUSE, IN_PROGRESSING} <= stored["metadata"]["annotations"].keys()


async def test_a_set_of_pods_is_stamped_and_held_in_one_write() -> None:
    api = ApiDouble()
    api.put(STATEFUL_SETS, workload(STATEFUL_SET, updateStrategy={"type": "RollingUpdate"}))
    writes = Writes(api, LedgerDouble())
    outcome = await stamp(writes, STATEFUL_SETS, stamping(STATEFUL_SET), rollout(STATEFUL_SET))
    assert outcome == Done(wrote=True)
    stored = api.one(STATEFUL_SETS, "web")
    assert stored["spec"]["template"]["metadata"]["annotations"] == {CONFIG_HASH: "d2"}
    assert stored["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 32767}


async def test_a_late_stamp_changes_nothing() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, workload())
    with pytest.raises(Conflict):
        await stamp(Writes(api, LedgerDouble()), DEPLOYMENTS, stamping(generation=6), rollout())
    assert api.writes == []


@pytest.mark.parametrize(
    ("body", "action"),
    [
        (
            {
                **workload(),
                "metadata": {**workload()["metadata"], "annotations": {ROLLOUT_ID: "1"}},
            },
            stamping(),
        ),
        (workload(STATEFUL_SET, updateStrategy={"type": "OnDelete"}), stamping(STATEFUL_SET)),
    ],
    ids=["a rollout-id decides", "rolled by hand"],
)
async def test_a_stamp_that_would_not_be_held_is_not_written(
    body: dict[str, Any], action: StampTemplate
) -> None:
    api = ApiDouble()
    resource = DEPLOYMENTS if action.kind == DEPLOYMENT else STATEFUL_SETS
    api.put(resource, body)
    outcome = await stamp(Writes(api, LedgerDouble()), resource, action, rollout(action.kind))
    assert isinstance(outcome, Refusal)
    assert outcome.reason == reasons.CONFIG_NOT_HELD
    assert "is not held for a release" in outcome.message
    assert api.writes == []


async def test_a_refusal_of_admission_is_reported_in_its_words() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, workload(strategy={"type": "Recreate"}))
    outcome = await stamp(Writes(api, LedgerDouble()), DEPLOYMENTS, stamping(), rollout())
    assert isinstance(outcome, Refusal)
    assert "has strategy Recreate" in outcome.message
    assert api.writes == []
