"""An approver forges the status, and an editor deletes the stable ReplicaSet: no forged text gets into the workload,
and the stable version comes back by itself.

Why on a real plane: rights are the API server's own, and the ReplicaSet that we make has to be one that the
Deployment's controller takes for its own. The people have the roles of the manifests: *anna* may approve, *eddy* may
edit.
"""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from controller.api.names import KEPT_FOR, STABLE_REVISION
from demo.stage import Product
from localcluster.api import ApiClient, JsonObject
from localcluster.errors import RequestRefused
from localcluster.record import Recorder
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import DEPLOYMENTS, REPLICA_SETS, ROLLOUTS, collection, path_of
from tests.cluster.manifests import STABLE_IMAGE
from tests.cluster.status_fields import at
from tests.cluster.story import Story
from tests.cluster.table import application
from tests.cluster.test_user_roles import refused

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVISIONS = "/apis/apps/v1/namespaces/{}/controllerrevisions"
ROLES = {"anna": "rollout-approver-role", "eddy": "edit"}
EVIL = "evil:v1"
FORGED: JsonObject = {
    "metadata": {"labels": {"app": "shop"}},
    "spec": {
        "hostPID": True,
        "containers": [
            {"name": "main", "image": EVIL, "securityContext": {"privileged": True}},
        ],
    },
}
STYLES = {
    "partition": application("Deployment", traffic=False),
    "canary": application("Deployment", canary=True, traffic=False),
}


@contextlib.asynccontextmanager
async def person(product: Product, namespace: str, who: str) -> AsyncIterator[ApiClient]:
    """An account with the role of that name in this namespace, and nothing else."""
    admin = product.plane.client()
    await admin.create(
        f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": who}}
    )
    binding: JsonObject = {
        "metadata": {"name": who},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": ROLES[who],
        },
        "subjects": [{"kind": "ServiceAccount", "name": who, "namespace": namespace}],
    }
    await admin.create(f"{RBAC}/namespaces/{namespace}/rolebindings", binding)
    token = await product.plane.service_account_token(namespace, who)
    client = product.plane.client_for_token(token)
    try:
        yield client
    finally:
        await client.close()


async def forge(anna: ApiClient, story: Story) -> None:
    """Admission may refuse or undo it; where it does not, it must change nothing but the status."""
    ours = {"keptTemplate": json.dumps(FORGED), "stableRevision": "nowhere", "ownersRecord": "{}"}
    path = f"{path_of(story.key(ROLLOUTS))}/status"
    with contextlib.suppress(RequestRefused):
        await anna.patch(path, {"status": {"moonshift": ours}})


@pytest.mark.parametrize("style", STYLES)
async def test_a_forged_status_changes_no_workload_and_the_stable_version_comes_back(
    product: Product, recorder: Recorder, style: str
) -> None:
    async with fresh_namespace(product.plane) as namespace:
        story = Story(product.plane, recorder, replace(STYLES[style], namespace=namespace))
        await story.begin()
        await story.paused_at(1)
        async with (
            person(product, namespace, "anna") as anna,
            person(product, namespace, "eddy") as eddy,
        ):
            await forge(anna, story)
            stable = await delete_the_stable_replica_set(eddy, story)
        said = await story.event("StableRebuilt")
        await the_step_is_there_again(story, stable, said)
        await story.approve_all()
        await story.completed()
        assert EVIL not in json.dumps(await story.client.get(collection(DEPLOYMENTS, namespace)))
        assert EVIL not in json.dumps(await story.client.get(collection(REPLICA_SETS, namespace)))
        kept = await story.client.get(f"{REVISIONS.format(namespace)}?labelSelector={KEPT_FOR}")
        assert kept["items"] == []


async def delete_the_stable_replica_set(eddy: ApiClient, story: Story) -> str:
    """`kubectl delete replicaset`; its name."""
    found = await story.client.get(path_of(story.key(story.workload)))
    stable = f"{story.app.name}-{found['metadata']['labels'][STABLE_REVISION]}"
    await eddy.delete(path_of(story.key(REPLICA_SETS, stable)))
    return stable


async def the_step_is_there_again(story: Story, stable: str, said: JsonObject) -> None:
    """As many pods as before are stable, of the stable image; an approval before that would be reset."""
    beside = story.app.canary
    wanted = story.size if beside else story.size - story.app.steps[0].pods

    def as_before(replica_set: JsonObject) -> bool:
        status = replica_set.get("status") or {}
        return bool(wanted == replica_set["spec"]["replicas"] == status.get("readyReplicas"))

    rebuilt = int(said["metadata"]["resourceVersion"])
    made = await story.until(REPLICA_SETS, as_before, name=stable, after=rebuilt)
    template = made.object["spec"]["template"]["spec"]
    assert template["containers"][0]["image"] == STABLE_IMAGE
    if not beside:
        went_back = await story.until(ROLLOUTS, _goes_back, after=0)
        await story.until(ROLLOUTS, _waits_at_step_1, after=went_back.resource_version)


def _goes_back(rollout: JsonObject) -> bool:
    """New pods have the place of stable ones: the release goes back to its beginning."""
    return _ours(rollout).get("goal") == "ScaledAway"


def _waits_at_step_1(rollout: JsonObject) -> bool:
    waits = at(rollout.get("status") or {}, 1, "StepPaused")
    return waits and not _ours(rollout).get("goal")


def _ours(rollout: JsonObject) -> JsonObject:
    found: JsonObject = (rollout.get("status") or {}).get("moonshift") or {}
    return found


async def test_no_role_for_people_may_write_what_a_release_keeps(product: Product) -> None:
    async with fresh_namespace(product.plane) as namespace:
        body: JsonObject = {"metadata": {"name": "web-kept-x"}, "revision": 1, "data": {}}
        path = REVISIONS.format(namespace)
        for who in ROLES:
            async with person(product, namespace, who) as client:
                assert await refused(client.create(path, body)), who
                assert await refused(client.patch(f"{path}/web-kept-x", {"revision": 2})), who
                assert await refused(client.delete(f"{path}/web-kept-x")), who
