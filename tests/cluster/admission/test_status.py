"""Rights to write a status, on a real API server: with the webhook, with the policies alone, as the manifests' roles.

Why a plane of its own: on it no webhook answers, as if every controller were away. Invariant: each test has objects of
its own.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
import yaml

from controller.api.names import CONTROLLER_ACCOUNT, DEFAULT_NAMESPACE, FIELD_MANAGER
from localcluster.api import ApiClient
from localcluster.errors import CommandFailed, RequestRefused
from localcluster.plane import Plane
from tests.cluster.admission.installed import DEPLOY, MANIFESTS

Json = dict[str, Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "/apis/rollouts.kruise.io"
AT = "2026-05-04T12:00:00Z"
_numbers = itertools.count(1)
JSON_PATCH = "application/json-patch+json"
EVERYTHING = {"apiGroups": ["rollouts.kruise.io"], "resources": ["*"], "verbs": ["*"]}
FAILED = {"step": 2, "startedAt": AT, "verdict": "Failed"}
PASSED = {"step": 1, "startedAt": AT, "verdict": "Passed"}
STATUS: Json = {
    "observedGeneration": 1,
    "phase": "Progressing",
    "message": "in step 2",
    "currentStepIndex": 2,
    "currentStepState": "StepPaused",
    "canaryStatus": {
        "currentStepIndex": 2,
        "nextStepIndex": 3,
        "currentStepState": "StepPaused",
        "stableRevision": "old",
        "podTemplateHash": "new",
        "lastUpdateTime": None,
    },
    "moonshift": {
        "release": "r1",
        "step": 2,
        "state": "StepPaused",
        "stableRevision": "old",
        "failedTemplate": "bad",
        "analyses": [PASSED, FAILED],
        "approvals": [{"step": 0, "by": "bob", "at": AT}, {"step": 1, "by": "bob", "at": AT}],
    },
}


def kind(name: str, version: str = "v1alpha1") -> Json:
    """The type of an object."""
    return {"apiVersion": f"rollouts.kruise.io/{version}", "kind": name}


class Namespace(NamedTuple):
    """A namespace with people."""

    plane: Plane
    name: str
    people: dict[str, ApiClient]

    async def rollout(self) -> str:
        """A Rollout in step 2 of three, and the path of its status."""
        name = f"web{next(_numbers)}"
        path = f"{GROUP}/v1beta1/namespaces/{self.name}/rollouts"
        spec = {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "strategy": {"canary": {"steps": [{"replicas": n} for n in (1, 2, 3)]}},
        }
        made = {**kind("Rollout", "v1beta1"), "metadata": {"name": name}, "spec": spec}
        await self.plane.client().create(path, made)
        status = f"{path}/{name}/status"
        await self.people["controller"].patch(
            f"{status}?fieldManager={FIELD_MANAGER}", {"status": STATUS}
        )
        return status

    async def user(self, who: str) -> str:
        """The name of a person's account."""
        return f"system:serviceaccount:{self.name}:{who}"


async def _people(plane: Plane, name: str) -> Namespace:
    admin = plane.client()
    await admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
    made = Namespace(plane, name, {"administrator of the cluster": admin})
    roles = {"anna": "rollout-approver-role", "eddy": "rollout-editor-role", "wild": "everything"}
    await admin.create(
        f"{RBAC}/clusterroles", {"metadata": {"name": "everything"}, "rules": [EVERYTHING]}
    )
    for who, role in roles.items():
        await admin.create(
            f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": who}}
        )
        binding = {
            "metadata": {"name": who},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role,
            },
            "subjects": [{"kind": "ServiceAccount", "name": who, "namespace": name}],
        }
        await admin.create(f"{RBAC}/namespaces/{name}/rolebindings", binding)
        made.people[who] = plane.client_for_token(await plane.service_account_token(name, who))
    token = await plane.service_account_token(DEFAULT_NAMESPACE, CONTROLLER_ACCOUNT)
    made.people["controller"] = plane.client_for_token(token)
    return made


async def _guards(shop: Namespace) -> None:
    """Return when the policies are in force: the API server takes them up a moment after they were written."""
    path = await shop.rollout()
    async with asyncio.timeout(60):
        while not await _refused(shop.people["anna"], path, {"phase": "Healthy"}):
            await shop.people["controller"].patch(path, {"status": STATUS})
            await asyncio.sleep(0.1)


async def _refused(client: ApiClient, path: str, status: Json) -> str:
    """Why a change of the status is refused; empty if it is not."""
    try:
        await client.patch(path, {"status": status})
    except RequestRefused as refusal:
        return str(refusal)
    return ""


@pytest.fixture(scope="module")
async def unanswered(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Namespace]:
    """Everything is installed, and no controller answers; the webhook configurations are there."""
    async with Plane.start(tmp_path_factory.mktemp("unanswered") / "plane") as plane:
        await plane.kubectl("apply", "--server-side", "-f", str(MANIFESTS))
        await plane.kubectl("apply", "-k", str(DEPLOY / "kustomize" / "local"))
        await plane.crds_served()
        # Rollouts cannot be created while their webhook with failure policy Fail does not answer.
        await plane.kubectl(
            "delete",
            "validatingwebhookconfiguration",
            "kruise-rollout-validating-webhook-configuration",
        )
        shop = await _people(plane, "shop")
        await _guards(shop)
        yield shop
        for who in ("anna", "eddy", "wild", "controller"):
            await shop.people[who].close()


FORGED: dict[str, Json] = {
    "the state": {"moonshift": {"state": "StepReady"}},
    "the step": {"moonshift": {"step": 3}},
    "the end": {"moonshift": {"goal": "Success"}},
    "the stable revision": {"moonshift": {"stableRevision": "new"}},
    "the stable revision that clients see": {"canaryStatus": {"stableRevision": "new"}},
    "the present step": {"canaryStatus": {"currentStepIndex": 3}},
    "a state that is no approval": {"canaryStatus": {"currentStepState": "Completed"}},
    "the phase": {"phase": "Healthy"},
    "a condition": {"conditions": [{"type": "Ready", "status": "True"}]},
    "the message": {"message": "all is well"},
    "our part": {"moonshift": None},
    "the style": {"blueGreenStatus": {"currentStepState": "StepReady"}},
    "everything": dict.fromkeys(STATUS),
    "a name in the record": {
        "moonshift": {"approvals": [*STATUS["moonshift"]["approvals"], {"step": 2, "by": "ceo"}]}
    },
    "another name in the record": {"moonshift": {"approvals": [{"step": 1, "by": "ceo"}]}},
    "an empty record": {"moonshift": {"approvals": []}},
    "an entry twice": {"moonshift": {"approvals": STATUS["moonshift"]["approvals"] * 2}},
    "an entry of another order": {
        "moonshift": {"approvals": STATUS["moonshift"]["approvals"][::-1]}
    },
    "gates in another order": {"moonshift": {"analyses": [FAILED, PASSED]}},
    "a gate twice": {"moonshift": {"analyses": [PASSED, PASSED, FAILED]}},
    "a gate that passed": {"moonshift": {"analyses": [PASSED, {**FAILED, "verdict": "Passed"}]}},
    "a gate that is gone though it passed": {"moonshift": {"analyses": [FAILED]}},
    "a template that was given up": {"moonshift": {"failedTemplate": "other"}},
}
BEYOND: dict[str, Json] = {
    "a next step beyond the plan": {"canaryStatus": {"nextStepIndex": 4}},
    "a negative next step": {"canaryStatus": {"nextStepIndex": -2}},
    "a jump beyond the plan": {"moonshift": {"jump": 4}},
    "an approval of a step beyond the plan": {"moonshift": {"approval": {"step": 4}}},
}
INTENTS: dict[str, Json] = {
    "an approval": {"canaryStatus": {"currentStepState": "StepReady"}},
    "a next step": {"canaryStatus": {"nextStepIndex": 1}},
    "a jump": {"moonshift": {"jump": 3}},
    "an exact approval": {"moonshift": {"approval": {"step": 2, "at": AT, "message": "fine"}}},
    "retry of a template": {"moonshift": {"failedTemplate": None}},
    "retry of a gate": {"moonshift": {"analyses": [PASSED]}},
}


def leaves(status: Json) -> Json:
    """The status without the fields that the API server drops or adds."""
    return {name: value for name, value in status.items() if value not in (None, {})}


@pytest.mark.parametrize("name", [*FORGED, *BEYOND])
@pytest.mark.parametrize("who", ["anna", "wild"])
async def test_without_a_controller_a_policy_refuses_what_only_the_controller_writes(
    unanswered: Namespace, who: str, name: str
) -> None:
    path = await unanswered.rollout()
    client = unanswered.people[who]
    before = (await client.get(path))["status"]
    why = await _refused(client, path, {**FORGED, **BEYOND}[name])
    assert "moonshift-rollout-status" in why
    assert (await client.get(path))["status"] == before


@pytest.mark.parametrize("name", INTENTS)
async def test_without_a_controller_people_may_still_ask(unanswered: Namespace, name: str) -> None:
    path = await unanswered.rollout()
    assert await _refused(unanswered.people["anna"], path, INTENTS[name]) == ""


async def test_without_a_controller_an_entry_in_the_record_has_its_authors_own_name(
    unanswered: Namespace,
) -> None:
    path = await unanswered.rollout()
    anna, name = unanswered.people["anna"], await unanswered.user("anna")
    before = STATUS["moonshift"]["approvals"]
    own = {"step": 2, "by": name, "at": AT}
    assert await _refused(anna, path, {"moonshift": {"approvals": [*before, own]}}) == ""
    signed = {"moonshift": {"approval": {"step": 2, "by": "ceo"}}}
    assert "nobody but" in await _refused(anna, path, signed)


async def test_whoever_may_not_patch_the_status_changes_nothing_by_the_object_itself(
    unanswered: Namespace,
) -> None:
    path = await unanswered.rollout()
    eddy, whole = unanswered.people["eddy"], path.removesuffix("/status")
    assert "forbidden" in await _refused(eddy, path, {"phase": "Healthy"})
    forged = await eddy.get(whole)
    forged["status"] = {"phase": "Healthy"}
    after = await eddy.replace(whole, forged)
    assert after["status"]["phase"] == "Progressing"
    made = {**forged, "metadata": {"name": f"new{next(_numbers)}"}}
    created = await eddy.create(whole.rpartition("/")[0], made)
    assert created["status"].get("phase") != "Healthy"


async def test_the_controller_and_an_administrator_of_the_cluster_may_write_all(
    unanswered: Namespace,
) -> None:
    path = await unanswered.rollout()
    for who in ("controller", "administrator of the cluster"):
        assert await _refused(unanswered.people[who], path, {"phase": who}) == ""


async def test_people_write_no_record_and_no_status_of_a_shared_route(
    unanswered: Namespace,
) -> None:
    wild, own = unanswered.people["wild"], unanswered.people["controller"]
    histories = f"{GROUP}/v1alpha1/namespaces/shop/rollouthistories"
    made: Json = {**kind("RolloutHistory"), "metadata": {"name": "h"}}
    made["spec"] = {"rollout": {"rolloutID": "1", "name": "web"}}
    with pytest.raises(RequestRefused, match="only the controller writes records"):
        await wild.create(histories, made)
    await own.create(histories, made)
    await wild.patch(f"{histories}/h", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(RequestRefused, match="only the controller writes records"):
        await wild.patch(f"{histories}/h", {"spec": {"rollout": {"name": "other"}}})
    names = {"approvals": [{"step": 1, "by": "ceo"}]}
    assert "only the controller" in await _refused(wild, f"{histories}/h/status", names)
    await wild.delete(f"{histories}/h")
    routings = f"{GROUP}/v1alpha1/namespaces/shop/trafficroutings"
    shared = {**kind("TrafficRouting"), "metadata": {"name": "t"}}
    shared["spec"] = {"objectRef": [{"service": "web", "gateway": {"httpRouteName": "web"}}]}
    await wild.create(routings, {**shared, "spec": {**shared["spec"], "strategy": {"weight": 10}}})
    assert "only the controller" in await _refused(
        wild, f"{routings}/t/status", {"phase": "Progressing"}
    )


async def test_a_status_that_is_nested_deeply_or_too_long_is_not_stored(
    unanswered: Namespace,
) -> None:
    path = await unanswered.rollout()
    own = unanswered.people["controller"]
    deep: Json = {}
    for _ in range(200):
        deep = {"a": deep}
    after = await own.patch(path, {"status": {"moonshift": {"later": deep}, "later": deep}})
    assert "later" not in after["status"]
    assert "later" not in after["status"]["moonshift"]
    long = {"moonshift": {"routePlan": "x" * 70_000}}
    assert "Too long" in await _refused(own, path, long)
    assert "Invalid value" in await _refused(own, path, {"moonshift": {"step": -1}})
    value = {"step": 1, "metrics": [{"readings": [{"value": {"a": {}}}]}]}
    assert await _refused(own, path, {"moonshift": {"analyses": [value]}}) != ""


# --- with the webhook -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def answered(own_plane: Plane) -> AsyncIterator[Namespace]:
    """The webhooks answer, and the policies are there, too."""
    shop = await _people(own_plane, "people")
    yield shop
    for who in ("anna", "eddy", "wild", "controller"):
        await shop.people[who].close()


@pytest.mark.parametrize("name", FORGED)
async def test_a_controller_that_answers_keeps_the_stored_status_and_tells_the_author(
    answered: Namespace, name: str
) -> None:
    path = await answered.rollout()
    anna = answered.people["anna"]
    before = (await anna.get(path))["status"]
    assert await _refused(anna, path, FORGED[name]) == ""
    assert leaves((await anna.get(path))["status"]) == leaves(before)


@pytest.mark.parametrize("name", BEYOND)
async def test_a_controller_that_answers_refuses_a_step_beyond_the_plan_in_words(
    answered: Namespace, name: str
) -> None:
    path = await answered.rollout()
    why = await _refused(answered.people["anna"], path, BEYOND[name])
    assert "there is no step" in why


@pytest.mark.parametrize("name", INTENTS)
async def test_with_webhook_and_policy_people_may_ask_and_are_recorded(
    answered: Namespace, name: str
) -> None:
    path = await answered.rollout()
    anna, who = answered.people["anna"], await answered.user("anna")
    assert await _refused(anna, path, INTENTS[name]) == ""
    approvals = (await anna.get(path))["status"]["moonshift"]["approvals"]
    names = [entry["by"] for entry in approvals]
    assert names == ["bob", "bob", *([] if name.startswith("retry") else [who])]


async def test_kubectl_shows_the_warning(answered: Namespace) -> None:
    path = await answered.rollout()
    name = path.split("/")[-2]
    patch = yaml.safe_dump({"status": {"phase": "Healthy"}})
    _, warnings = await answered.plane.kubectl_with_warnings(
        "patch", "rollouts.rollouts.kruise.io", name, "-n", answered.name,
        "--subresource=status", "--type=merge", "-p", patch,
    )  # fmt: skip
    assert "status.phase: only the controller writes this" in warnings


async def test_a_whole_namespace_can_still_be_deleted(unanswered: Namespace) -> None:
    admin = unanswered.plane.client()
    await admin.create("/api/v1/namespaces", {"metadata": {"name": "going"}})
    going = unanswered._replace(name="going")
    await going.rollout()
    await admin.delete("/api/v1/namespaces/going")
    async with asyncio.timeout(120):
        while True:
            try:
                await unanswered.plane.kubectl("get", "namespace", "going")
            except CommandFailed:
                return
            await asyncio.sleep(0.2)
