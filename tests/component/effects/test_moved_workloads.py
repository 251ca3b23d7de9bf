"""A set of pods is moved only by a pass that saw its present version."""

import pytest

from controller.api.meta import Key
from controller.api.workload_kinds import KindName
from controller.domain.decision import MoveWorkload, field_of_spec
from controller.effects import workloads
from controller.effects.writes import Writes
from controller.errors import Conflict
from controller.kube.resources import STATEFUL_SETS
from tests.component.effects.api_double import NAMESPACE, ApiDouble, LedgerDouble

MOVED = {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}


@pytest.mark.parametrize("seen", [3, 4], ids=["late", "in time"])
async def test_a_late_move_of_a_set_changes_nothing(seen: int) -> None:
    api = ApiDouble()
    api.put(STATEFUL_SETS, {"metadata": {"name": "web", "generation": 4}, "spec": {}})
    kind, moved = KindName("apps/v1", "StatefulSet"), field_of_spec("updateStrategy", MOVED)
    action = MoveWorkload(kind, Key(NAMESPACE, "web"), seen, (moved,))
    writes = Writes(api, LedgerDouble())
    if seen == 3:
        with pytest.raises(Conflict):
            await workloads.move(writes, STATEFUL_SETS, action)
    else:
        await workloads.move(writes, STATEFUL_SETS, action)
    assert api.one(STATEFUL_SETS, "web")["spec"] == ({} if seen == 3 else {"updateStrategy": MOVED})
