"""A workload that lost its marks and hold has them again in one write, over the spec that was looked at."""

import pytest

from controller.api.meta import Key
from controller.api.names import (
    ADMISSION_PAUSE,
    FREEZE_MIN_READY_SECONDS,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    WORKLOAD_TYPE,
)
from controller.api.workload_kinds import DEPLOYMENT, KindName
from controller.domain.decision import (
    REPLICA_SET,
    DeleteObject,
    Done,
    FreezeWorkload,
    NotYet,
    Refusal,
    SetCurrentRevision,
)
from controller.effects.freezing import freeze
from controller.effects.objects import delete
from controller.effects.workloads import set_current_revision
from controller.effects.writes import Writes
from controller.errors import Conflict
from controller.kube.resources import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS
from tests.component.effects.api_double import ApiDouble, LedgerDouble
from tests.component.effects.test_stamps import KEY, STATEFUL_SET, workload


def lost(kind: KindName = DEPLOYMENT, generation: int = 7) -> FreezeWorkload:
    return FreezeWorkload(
        kind=kind,
        workload=KEY,
        generation=generation,
        rollout="web",
        release="r-1",
        stable_revision="h1",
        max_surge="0%",
        max_unavailable="20%",
    )


async def test_a_deployment_is_held_and_admission_paused_again_in_one_write() -> None:
    kube = ApiDouble()
    kube.put(DEPLOYMENTS, workload())
    assert await freeze(Writes(kube, LedgerDouble()), DEPLOYMENTS, lost()) == Done(wrote=True)
    found = kube.one(DEPLOYMENTS, "web")
    assert {IN_PROGRESSING, ORIGINAL_STRATEGY, ADMISSION_PAUSE} <= found["metadata"][
        "annotations"
    ].keys()
    assert found["spec"]["paused"] is True
    assert found["spec"]["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert found["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == "20%"
    assert kube.writes == ["patch web"]


async def test_a_hold_that_a_policy_undoes_is_refused_with_its_fields() -> None:
    kube = ApiDouble()
    kube.undoes_patches = True
    kube.put(DEPLOYMENTS, workload())
    refused = await freeze(Writes(kube, LedgerDouble()), DEPLOYMENTS, lost())
    assert isinstance(refused, Refusal)
    assert refused.reason == "WorkloadContested"
    assert "undoes each write of" in refused.message
    assert "spec.minReadySeconds" in refused.message
    assert refused.retry_after


async def test_a_set_is_held_again() -> None:
    kube = ApiDouble()
    bare = workload(STATEFUL_SET, updateStrategy={"type": "RollingUpdate"})
    bare["metadata"]["labels"] = {}
    kube.put(STATEFUL_SETS, bare)
    await freeze(Writes(kube, LedgerDouble()), STATEFUL_SETS, lost(STATEFUL_SET))
    found = kube.one(STATEFUL_SETS, "web")
    assert found["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 32767}
    assert found["metadata"]["labels"] == {WORKLOAD_TYPE: "statefulset"}


async def test_a_late_write_changes_nothing() -> None:
    kube = ApiDouble()
    kube.put(DEPLOYMENTS, workload())
    with pytest.raises(Conflict):
        await freeze(Writes(kube, LedgerDouble()), DEPLOYMENTS, lost(generation=6))
    assert kube.one(DEPLOYMENTS, "web")["spec"] == workload()["spec"]


async def test_a_kind_that_lost_the_label_it_is_known_by_is_left_alone() -> None:
    kind = KindName("db.example/v1", "Cluster")
    kube = ApiDouble()
    bare = workload(kind)
    bare["metadata"]["labels"] = {}
    kube.put(STATEFUL_SETS, bare)
    answer = await freeze(Writes(kube, LedgerDouble()), STATEFUL_SETS, lost(kind))
    assert isinstance(answer, NotYet)
    assert kube.writes == []


async def test_a_replica_set_is_deleted_by_its_uid() -> None:
    kube = ApiDouble()
    kube.put(REPLICA_SETS, {"kind": "ReplicaSet", "metadata": {"name": "web-2", "uid": "u2"}})
    writes = Writes(kube, LedgerDouble())
    action = DeleteObject(REPLICA_SET, Key("shop", "web-2"), "u2")
    assert await delete(writes, REPLICA_SETS, action) == Done(wrote=True)
    assert kube.writes == ["delete web-2"]


async def test_the_current_revision_of_a_set_is_written_in_its_status_alone() -> None:
    kube = ApiDouble()
    there = workload(STATEFUL_SET)
    there["metadata"]["uid"], there["status"] = "u1", {"currentRevision": "web-r2"}
    kube.put(STATEFUL_SETS, there)
    writes, spec = Writes(kube, LedgerDouble()), kube.one(STATEFUL_SETS, "web")["spec"]
    action = SetCurrentRevision(STATEFUL_SET, KEY, "u1", "web-r1")
    assert await set_current_revision(writes, STATEFUL_SETS, action) == Done(wrote=True)
    found = kube.one(STATEFUL_SETS, "web")
    assert (found["status"]["currentRevision"], found["spec"]) == ("web-r1", spec)
    other = SetCurrentRevision(STATEFUL_SET, KEY, "u2", "web-r1")
    with pytest.raises(Conflict):
        await set_current_revision(writes, STATEFUL_SETS, other)
