"""The limits of the controller's own account, tried with its token: policies of the API server refuse."""

import copy
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest
from yarl import URL

from controller.api.names import CONTROLLER_ACCOUNT, MUTATING_CONFIGURATION
from controller.certificates.publish import Address, Wanted, configured
from demo.stage import NAMESPACE, Product
from localcluster.api import ApiClient, JsonObject
from localcluster.errors import RequestRefused

DRY_RUN = "?dryRun=All"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{WEBHOOKS}/mutatingwebhookconfigurations/{MUTATING_CONFIGURATION}"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rollouts.rollouts.kruise.io"
CLOSED = {"metadata": {"labels": {"moonshift.dev/closed": "true"}}}
CONTAINER = {"name": "main", "image": "evil:1"}
DEPLOYMENT: JsonObject = {
    "metadata": {"name": "evil"},
    "spec": {
        "selector": {"matchLabels": {"app": "evil"}},
        "template": {
            "metadata": {"labels": {"app": "evil"}},
            "spec": {"hostPID": True, "containers": [CONTAINER]},
        },
    },
}
SERVICE: JsonObject = {
    "metadata": {"name": "evil"},
    "spec": {"ports": [{"port": 53}], "selector": {"app": "evil"}},
}
SECRET: JsonObject = {"metadata": {"name": "evil"}}
LEASE: JsonObject = {"metadata": {"name": "evil"}}
WRITES = {
    "deployments": ("/apis/apps/v1/namespaces/{}/deployments", DEPLOYMENT),
    "services": ("/api/v1/namespaces/{}/services", SERVICE),
}
OWN_WRITES = {
    "secrets": (f"/api/v1/namespaces/{NAMESPACE}/secrets", SECRET),
    "leases": (f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases", LEASE),
}


@pytest.fixture
async def controller(product: Product) -> AsyncIterator[ApiClient]:
    """Give a client with the token of the controller's account."""
    token = await product.plane.service_account_token(NAMESPACE, CONTROLLER_ACCOUNT)
    async with product.plane.client_for_token(token) as client:
        yield client


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("where", ["kube-system", "kube-public", "kube-node-lease", NAMESPACE])
async def test_the_controller_writes_nothing_of_others_where_clusters_are_run(
    controller: ApiClient, where: str, what: str
) -> None:
    path, body = WRITES[what]
    with pytest.raises(RequestRefused, match=f"Moonshift writes no {what} in namespace {where}"):
        await controller.create(path.format(where) + DRY_RUN, body)


@pytest.mark.parametrize("what", OWN_WRITES)
async def test_the_controller_writes_only_its_own_objects_in_its_namespace(
    controller: ApiClient, what: str
) -> None:
    path, body = OWN_WRITES[what]
    with pytest.raises(RequestRefused, match=f"Moonshift writes no {what}"):
        await controller.create(path + DRY_RUN, body)


async def test_an_administrator_closes_a_namespace_for_the_controller(
    product: Product, controller: ApiClient, namespace_of_product: str
) -> None:
    path, body = WRITES["deployments"]
    there = path.format(namespace_of_product) + DRY_RUN
    assert await controller.create(there, body)
    await product.plane.client().patch(f"/api/v1/namespaces/{namespace_of_product}", CLOSED)
    with pytest.raises(RequestRefused, match="has the label moonshift"):
        await controller.create(there, body)
    assert await product.plane.client().create(there, body)


async def test_the_controller_changes_only_annotations_of_the_workers_pods(
    product: Product, controller: ApiClient
) -> None:
    admin = product.plane.client()
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    harmless = {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "main", "image": "worker:1", "securityContext": harmless}
    body = {"metadata": {"name": "worker", "labels": {}}, "spec": {"containers": [container]}}
    await admin.create(pods, body)
    pod = f"{pods}/worker"
    annotated = {"metadata": {"annotations": {"moonshift.dev/certificates": "1"}}}
    assert await controller.patch(pod + DRY_RUN, annotated)
    evil = {"spec": {"activeDeadlineSeconds": 1}}
    for change in ({"metadata": {"labels": {"app": "evil"}}}, evil):
        with pytest.raises(RequestRefused, match="Moonshift writes no pods"):
            await controller.patch(pod + DRY_RUN, change)
    with pytest.raises(RequestRefused, match="Moonshift writes no pods"):
        await controller.delete(pod, dryRun="All")
    await admin.delete(pod, gracePeriodSeconds="0")


Change = Callable[[JsonObject], object]


def _first(change: Change) -> Change:
    """The change in the first webhook."""
    return lambda configuration: change(configuration["webhooks"][0])


def _alone(hook: JsonObject) -> None:
    conditions = hook["matchConditions"]
    hook["matchConditions"] = [one for one in conditions if one["name"] == "not-by-moonshift"]


def _never(hook: JsonObject, users: str) -> None:
    ours = next(one for one in hook["matchConditions"] if one["name"] == "not-by-moonshift")
    ours["expression"] = (
        f"!(request.userInfo.username in ['a'{users}] && has(request.options.fieldManager) && "
        "request.options.fieldManager == 'moonshift')"
    )


def _again(configuration: JsonObject) -> None:
    hook = copy.deepcopy(configuration["webhooks"][0])
    configuration["webhooks"].append({**hook, "name": "another.moonshift.dev"})


SECRETS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"]}
RULE = {**SECRETS, "operations": ["*"], "scope": "*"}
ELSEWHERE = {"url": "https://evil.example.com/mutate-apps-v1-deployment"}
OWNERS = [{"apiVersion": "v1", "kind": "Namespace", "name": "x", "uid": "x"}]
OF_WEBHOOKS: dict[str, tuple[Change, str]] = {
    "every Secret": (_first(lambda hook: hook["rules"].append(RULE)), "of a webhook"),
    "failure policy": (_first(lambda hook: hook.update(failurePolicy="Ignore")), "of a webhook"),
    "again": (_first(lambda hook: hook.update(reinvocationPolicy="IfNeeded")), "of a webhook"),
    "unlabelled": (_first(lambda hook: hook.update(objectSelector={})), "of a webhook"),
    "everywhere": (_first(lambda hook: hook.update(namespaceSelector={})), "of a namespace"),
    "kube-system": (
        _first(
            lambda hook: hook["namespaceSelector"]["matchExpressions"][0].update(values=[NAMESPACE])
        ),
        "of a namespace selector",
    ),
    "address": (_first(lambda hook: hook.update(clientConfig=ELSEWHERE)), "at its own Service"),
    "without conditions": (_first(_alone), "of the match conditions"),
    "always": (
        _first(partial(_never, users="] || true || request.userInfo.username in ['b'")),
        "of the match conditions",
    ),
    "two more": (_first(partial(_never, users=", 'b', 'c'")), "of the match conditions"),
    "one more webhook": (_again, "neither adds nor removes webhooks"),
    "one webhook less": (lambda found: found["webhooks"].pop(), "neither adds nor removes"),
    "owner": (lambda found: found["metadata"].update(ownerReferences=OWNERS), "no owners"),
}


@pytest.mark.parametrize("change", OF_WEBHOOKS)
async def test_the_controller_keeps_its_webhooks_as_they_were_installed(
    controller: ApiClient, change: str
) -> None:
    found = await controller.get(MUTATING)
    changed, says = OF_WEBHOOKS[change]
    changed(found)
    with pytest.raises(RequestRefused, match=says):
        await controller.replace(MUTATING + DRY_RUN, found)


async def test_the_controller_publishes_its_certificate_its_address_and_its_name(
    product: Product, controller: ApiClient
) -> None:
    authority = product.plane.ca_path.read_bytes()
    paths = set()
    for path, kind in (
        (MUTATING, "MutatingWebhookConfiguration"),
        (CRD, "CustomResourceDefinition"),
    ):
        found = await controller.get(path)
        for hook in found.get("webhooks", ()):
            client = hook["clientConfig"]
            paths.add(client["service"]["path"] if "service" in client else URL(client["url"]).path)
        for address in (Address(), Address(url="https://127.0.0.1:1")):
            wanted = Wanted(address, authority, frozenset(paths), "somebody", alone=True)
            after = configured({**found, "kind": kind}, wanted)
            assert await controller.replace(path + DRY_RUN, after)


def _without_schema(found: JsonObject) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = anything


def _converted_at(found: JsonObject, url: str) -> None:
    found["spec"]["conversion"]["webhook"]["clientConfig"] = {"url": url}


OF_THE_CRD: dict[str, tuple[Change, str]] = {
    "schema": (_without_schema, "of a CRD"),
    "names": (lambda found: found["spec"]["names"].update(shortNames=["deploy"]), "of a CRD"),
    "no conversion": (
        lambda found: found["spec"].update(conversion={"strategy": "None"}),
        "how a CRD is converted",
    ),
    "address": (partial(_converted_at, url="https://evil.example.com/convert"), "its own Service"),
    "path": (partial(_converted_at, url="https://127.0.0.1:1/other"), "converts at /convert"),
}


@pytest.mark.parametrize("change", OF_THE_CRD)
async def test_the_controller_keeps_its_crd_as_it_was_installed(
    controller: ApiClient, change: str
) -> None:
    found = await controller.get(CRD)
    changed, says = OF_THE_CRD[change]
    changed(found)
    with pytest.raises(RequestRefused, match=says):
        await controller.replace(CRD + DRY_RUN, found)
