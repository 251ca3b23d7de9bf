"""The end of a release of a Deployment: its last marks, and who owns its fields afterwards."""

from controller.api import names
from controller.api.meta import Key
from controller.api.names import FIELD_MANAGER, IN_PROGRESSING, STABLE_REVISION
from controller.api.workload_kinds import DEPLOYMENT
from controller.domain.decision import Done, ReleaseWorkload
from controller.effects import workloads
from controller.effects.writes import Writes
from controller.kube.resources import DEPLOYMENTS
from tests.component.effects.api_double import NAMESPACE, ApiDouble, LedgerDouble, Object

OURS: Object = {"manager": FIELD_MANAGER, "operation": "Update"}
OWNERS: Object = {"manager": "owner", "operation": "Apply"}


class Patched(ApiDouble):
    """Counts all attempts, refused or not."""

    tried = 0

    def on_json_patch(self, subresource: str) -> None:
        self.tried += 1


def marked(api: ApiDouble) -> ReleaseWorkload:
    """A Deployment with its owner's values and our last marks, and the action of the pass that observed it."""
    metadata: Object = {
        "name": "web",
        "generation": 3,
        "annotations": {IN_PROGRESSING: "{}", "team": "shop"},
        "labels": {STABLE_REVISION: "abc"},
        "managedFields": [OURS, OWNERS, OURS],
    }
    stored = api.put(DEPLOYMENTS, {"metadata": metadata, "spec": {"replicas": 2}})
    return ReleaseWorkload(
        kind=DEPLOYMENT,
        workload=Key(NAMESPACE, "web"),
        generation=3,
        annotations=(names.IN_PROGRESSING,),
        labels=(names.STABLE_REVISION,),
        resource_version=str(stored["metadata"]["resourceVersion"]),
        entries=(0, 2),
    )


def is_the_owners(api: ApiDouble) -> bool:
    """Nothing of the Deployment is ours."""
    found = api.one(DEPLOYMENTS, "web")["metadata"]
    kept = found["annotations"] == {"team": "shop"} and not found.get("labels")
    return kept and [entry["manager"] for entry in found["managedFields"]] == ["owner"]


async def test_the_last_marks_and_our_entries_go_in_one_write() -> None:
    api = Patched()
    action = marked(api)
    assert await workloads.release(Writes(api, LedgerDouble()), DEPLOYMENTS, action) == Done(
        wrote=True
    )
    assert is_the_owners(api)
    assert api.tried == 1


async def test_a_deployment_whose_status_changed_since_is_looked_at_again() -> None:
    api = Patched()
    action = marked(api)
    status: Object = {"status": {"readyReplicas": 1}}
    await api.merge_patch(DEPLOYMENTS, NAMESPACE, "web", status, "status")
    assert await workloads.release(Writes(api, LedgerDouble()), DEPLOYMENTS, action) == Done(
        wrote=True
    )
    assert is_the_owners(api)
    assert api.tried > 1
