"""The roles for people, checked with the API server's own answers."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from controller.api.names import CONFIGURATION
from demo.stage import NAMESPACE, Product
from localcluster.api import ApiClient, JsonObject
from localcluster.errors import RequestRefused
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.manifests import Application, StepPlan

RBAC = "/apis/rbac.authorization.k8s.io/v1"
FORBIDDEN = 403
AGGREGATED_SECONDS = 90.0
LOOK_SECONDS = 0.1
GIVEN = {"create", "approve"}
DRY_RUN = "?dryRun=All"
ROLES = {
    "viewer": ("ClusterRole", "view"),
    "editor": ("ClusterRole", "edit"),
    "administrator": ("ClusterRole", "admin"),
    "approver": ("ClusterRole", "rollout-approver-role"),
    "author": ("Role", "rollout-script-author-role"),
}
"""The role of each person; `view`, `edit` and `admin` are Kubernetes' own, to which our rules are added."""


class Team(NamedTuple):
    """A namespace with a Rollout, and a client for each person."""

    namespace: str
    people: dict[str, ApiClient]

    @property
    def rollouts(self) -> str:
        return f"/apis/rollouts.kruise.io/v1beta1/namespaces/{self.namespace}/rollouts"


@pytest.fixture(scope="module")
async def team(product: Product) -> AsyncIterator[Team]:
    """Make one account for each role, bound to it and to nothing else."""
    admin = product.plane.client()
    async with fresh_namespace(product.plane) as namespace:
        made = Team(namespace, {})
        for who, (kind, role) in ROLES.items():
            accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
            await admin.create(accounts, {"metadata": {"name": who}})
            subject = {"kind": "ServiceAccount", "name": who, "namespace": namespace}
            where = namespace if kind == "ClusterRole" else NAMESPACE
            binding: JsonObject = {
                "metadata": {"name": f"{namespace}-{who}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
                "subjects": [subject],
            }
            await admin.create(f"{RBAC}/namespaces/{where}/rolebindings", binding)
            token = await product.plane.service_account_token(namespace, who)
            made.people[who] = product.plane.client_for_token(token)
        app = Application("shop", namespace, False, (StepPlan(1), StepPlan(4)))
        await admin.create(made.rollouts, manifests.rollout(app))
        await _aggregated(made)
        yield made
        for client in made.people.values():
            await client.close()
        for who in ("author",):
            await admin.delete(f"{RBAC}/namespaces/{NAMESPACE}/rolebindings/{namespace}-{who}")


async def _aggregated(team: Team) -> None:
    """Return when the API server's own roles have got our rules: a controller adds them."""
    async with asyncio.timeout(AGGREGATED_SECONDS):
        for who, expected in (
            ("viewer", {"look"}),
            ("editor", {"create"}),
            ("administrator", GIVEN),
        ):
            while not expected <= await rights(team, who):  # noqa: ASYNC110 - bounded
                await asyncio.sleep(LOOK_SECONDS)


async def refused(asking: object) -> bool:
    """Whether the API server has refused the request because of a missing right; it checks rights before anything
    else."""
    assert asyncio.iscoroutine(asking)
    try:
        await asking
    except RequestRefused as answer:
        return answer.status == FORBIDDEN
    return False


APPROVAL: JsonObject = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
PAUSE: JsonObject = {"spec": {"strategy": {"paused": True}}}


async def rights(team: Team, who: str) -> set[str]:
    """The actions of the roles that a person may do."""
    client, one = team.people[who], f"{team.rollouts}/shop"
    scripts = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    other = {"metadata": {"name": "other"}, "spec": {}}
    tries = {
        "look": client.get(one),
        "write": client.patch(one + DRY_RUN, PAUSE),
        "create": client.create(team.rollouts + DRY_RUN, other),
        "delete": client.delete(one + DRY_RUN),
        "approve": client.patch(f"{one}/status{DRY_RUN}", APPROVAL),
        "scripts": client.patch(f"{scripts}/{CONFIGURATION}{DRY_RUN}", {"data": {"a": "b"}}),
        "certificates": client.get(f"/api/v1/namespaces/{NAMESPACE}/secrets"),
        "other configuration": client.patch(f"{scripts}/kube-root-ca.crt{DRY_RUN}", {"data": {}}),
    }
    return {name for name, asking in tries.items() if not await refused(asking)}


WRITING = {"look", "write", "create", "delete"}


@pytest.mark.parametrize(
    ("who", "may"),
    [
        ("viewer", {"look"}),
        ("editor", WRITING),
        ("administrator", {*WRITING, "approve"}),
        ("approver", {"look", "approve"}),
        ("author", {"scripts"}),
    ],
)
async def test_each_role_gives_the_rights_of_its_name_and_no_others(
    team: Team, who: str, may: set[str]
) -> None:
    assert await rights(team, who) == may


async def test_an_administrator_of_a_namespace_may_give_the_right_to_approve_and_an_editor_may_not(
    team: Team,
) -> None:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    body: JsonObject = {
        "metadata": {"name": "approvers"},
        "roleRef": {**reference, "name": "rollout-approver-role"},
        "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    path = f"{RBAC}/namespaces/{team.namespace}/rolebindings{DRY_RUN}"
    assert not await refused(team.people["administrator"].create(path, body))
    assert await refused(team.people["editor"].create(path, body))
