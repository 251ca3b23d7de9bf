"""Changes of Services, gateway objects and their kinds around a release."""

import yaml

from localcluster.api import JsonObject
from localcluster.errors import RequestRefused
from localcluster.history import Kind
from tests.cluster import gateways, invented, manifests
from tests.cluster.kinds import ROLLOUTS, SERVICES, VIRTUAL_SERVICES, collection, path_of
from tests.cluster.manifests import NEW_IMAGE
from tests.cluster.status_fields import condition
from tests.cluster.story import conclude
from tests.cluster.view import image_of
from tests.trouble import forms
from tests.trouble.forms import (
    ADVANCED_STATEFUL,
    BLUE_GREEN,
    CANARY,
    CLONES_DOUBLED,
    DAEMON,
    FORMS,
    KRUISE,
    PACED,
    STATEFUL,
)
from tests.trouble.scene import Scene, State
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import APPROVE, UNDO, theirs

LEFT_ALONE = (
    "it cannot lead to one revision only, and is left as it is. Name a Service that selects the workload's pods in "
    "trafficRoutings[].service"
)
PUT_BACK = (
    "<writer> changed VirtualService <namespace>/shop: spec.http[1].route[0].weight from 50 to 0, "
    "spec.http[1].route[1].weight from 50 to 100; it is put back"
)
SAME = "Services and routes are the same for every kind of workload"
ROUTE_GROUPS = Kind("zalando.org", "v1", "routegroups")
UPSTREAMS = Kind("gloo.solo.io", "v1", "upstreamgroups")


async def loses_its_route(scene: Scene) -> None:
    """The gateway object is deleted. Without it no pod changes; when it is applied again, the step's share is written
    into it again.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl delete virtualservice/shop")
    await scene.stalled()
    await scene.is_explained()
    await scene.moment()
    route = manifests.virtual_service(scene.app)
    await scene.follows("kubectl apply -f FILE", scene.create(route))
    await scene.goes_on()
    await scene.at_its_share()
    await scene.approve(2)
    await conclude(scene)


async def has_its_route_edited(scene: Scene) -> None:
    """Somebody writes other weights into the route. Moonshift writes its own weights again, and names the writer."""
    await scene.begin()
    await scene.reach(2)
    live = await scene.client.get(path_of(scene.key(VIRTUAL_SERVICES)))
    http = live["spec"]["http"]
    for destination in http[1]["route"]:
        destination["weight"] = 0 if destination["destination"]["host"] == "shop" else 100
    scene.excused["traffic_stays_within_the_approved_step"] = "the test wrote it"
    await scene.amend({"spec": {"http": http}}, VIRTUAL_SERVICES)
    await scene.moment()
    await scene.event("RoutePutBack")
    await scene.at_its_share()
    await scene.is_explained()
    await scene.approves()
    await conclude(scene)


async def goes_back_without_its_service(scene: Scene) -> None:
    """The stable Service is deleted, and the release is rolled back: the requests stay with the new pods, which are
    ready, and the rollback waits. When the Service is applied again, they return to it.
    """
    await scene.begin()
    await scene.reach(2)
    scene.excused["routes_lead_to_ready_pods"] = "the test deleted the Service"
    scene.excused["traffic_stays_within_the_approved_step"] = "nobody else answers meanwhile"
    scene.excused["new_pods_find_the_stable_service_pinned"] = "a new Service has no pin at first"
    await scene.does("kubectl delete service/shop")
    await scene.eventually(lambda state: "besides" in stall_of(scene, state), "all leads to new")
    await scene.goes_back()
    await scene.eventually(lambda state: "the end of the release" in stall_of(scene, state), "held")
    await scene.is_explained()
    await scene.moment()
    made = scene.create(manifests.service(scene.app))
    await scene.follows("kubectl apply -f FILE", made)
    await scene.made_again(SERVICES)
    await conclude(scene)


def stall_of(scene: Scene, state: State) -> str:
    """The message of the condition Stalled."""
    status = state.get(scene.key(ROLLOUTS), {}).get("status") or {}
    return str(condition(status, "Stalled").get("message", ""))


async def loses_its_pinned_service(scene: Scene) -> None:
    """The stable Service is deleted during a release. After the grace period all requests go to the new revision,
    because the stable one cannot be reached. When the Service is applied again, it is pinned again, and the release
    continues with the step's share.
    """
    await scene.begin()
    await scene.reach(2)
    scene.excused["routes_lead_to_ready_pods"] = "the test deleted the Service"
    scene.excused["traffic_stays_within_the_approved_step"] = "nobody else answers meanwhile"
    scene.excused["new_pods_find_the_stable_service_pinned"] = "a new Service has no pin at first"
    await scene.does("kubectl delete service/shop")
    await scene.eventually(lambda state: "besides" in stall_of(scene, state), "all leads to new")
    await scene.is_explained()
    await scene.moment()
    made = scene.create(manifests.service(scene.app))
    await scene.follows("kubectl apply -f FILE", made)
    await scene.made_again(SERVICES)
    await scene.goes_on()
    await scene.at_its_share()
    await scene.approve(2)
    await conclude(scene)


async def has_its_pinned_service_applied_again(scene: Scene) -> None:
    """The owner's manifest of the stable Service is applied and replaced over the pin: the pin stays."""
    await scene.install()
    await scene.types("apply", "-f", "-", body=manifests.service(scene.app))
    await scene.govern()
    await scene.release(NEW_IMAGE)
    await scene.reach(2)
    await scene.replaces(manifests.service(scene.app))
    await scene.types("apply", "-f", "-", body=manifests.service(scene.app))
    await scene.moment()
    await scene.at_its_share()
    await scene.approve(2)
    await conclude(scene)


async def _begun_with_service(scene: Scene, spec: JsonObject) -> None:
    made = manifests.objects(scene.app)
    service = next(body for body in made if body["kind"] == "Service")
    service["spec"] = spec
    await scene.create(*made)
    await scene.pods_ready()
    key = scene.key(SERVICES)
    before = (await scene.client.get(path_of(key)))["metadata"]["resourceVersion"]
    await scene.create(forms.rollout(scene.app))
    await scene.moment()
    try:
        await scene.release(NEW_IMAGE)
    except RequestRefused as refused:
        scene.answers.append(Message("refused", str(refused)))
    await scene.stalled()
    await scene.is_explained()
    after = (await scene.client.get(path_of(key)))["metadata"]["resourceVersion"]
    assert before == after, "the Service was touched"
    assert NEW_IMAGE not in map(image_of, scene.pods())


async def has_a_service_without_a_selector(scene: Scene) -> None:
    """The pods of a Service without a selector are not known, so it cannot be pinned: nothing is changed, and the
    release begins when the Service has a selector.
    """
    await _begun_with_service(scene, {"ports": [{"port": 80, "protocol": "TCP"}]})
    edited = scene.amend({"spec": {"selector": {"app": "shop"}}}, SERVICES)
    await scene.follows("kubectl edit service shop", edited)
    await scene.goes_on()
    await scene.paused_at(1)


async def has_a_service_of_type_external_name(scene: Scene) -> None:
    """A Service of type ExternalName has no pods: nothing is changed, and the release begins when the Rollout and its
    route name another Service.
    """
    await _begun_with_service(scene, {"type": "ExternalName", "externalName": "shop.example"})
    await scene.create(manifests.service(scene.app, "own"))
    route = {**manifests.virtual_service(scene.app)["spec"]["http"][1]}
    route["route"] = [{"destination": {"host": "own"}}]
    await scene.amend({"spec": {"http": [route]}}, VIRTUAL_SERVICES)
    (style, plan), *_ = forms.rollout(scene.app)["spec"]["strategy"].items()
    plan["trafficRoutings"][0]["service"] = "own"
    edited = scene.amend({"spec": {"strategy": {style: plan}}})
    await scene.follows("kubectl edit rollout shop", edited)
    await scene.goes_on()
    await scene.paused_at(1)


def _led_by(scene: Scene, api_version: str, kind: str) -> JsonObject:
    body = forms.rollout(scene.app)
    (plan,) = body["spec"]["strategy"].values()
    reference = {"apiVersion": api_version, "kind": kind, "name": "shop"}
    plan["trafficRoutings"][0]["customNetworkRefs"] = [reference]
    return body


def _upstream_group(namespace: str) -> JsonObject:
    destination = {"kube": {"ref": {"name": "shop", "namespace": namespace}, "port": 80}}
    return {
        "apiVersion": "gloo.solo.io/v1",
        "kind": "UpstreamGroup",
        "metadata": {"name": "shop", "namespace": namespace},
        "spec": {"destinations": [{"destination": destination, "weight": 100}]},
    }


async def lacks_the_right_to_the_gateway_kind(scene: Scene) -> None:
    """The controller may not read the kind. The Rollout names the missing right and continues within ten seconds of the
    grant; no pod and no route changes meanwhile.
    """
    crd = gateways.definition("gloo.solo.io", "UpstreamGroup", "upstreamgroups", ["v1"])
    await invented.install(scene.plane, crd)
    await scene.create(*(o for o in manifests.objects(scene.app) if o["kind"] != "VirtualService"))
    path = collection(UPSTREAMS, scene.app.namespace)
    await scene.plane.client().create(path, _upstream_group(scene.app.namespace))
    await scene.pods_ready()
    await scene.govern(_led_by(scene, "gloo.solo.io/v1", "UpstreamGroup"))
    await scene.release(NEW_IMAGE)
    message = await scene.stalled()
    await scene.is_explained()
    await scene.moment()
    await scene.never(5.0, lambda change: change.key == scene.key(ROLLOUTS))
    writes = [
        change
        for change in scene.recorder.history()
        if change.key == scene.key(ROLLOUTS)
        and condition(change.object.get("status") or {}, "Stalled").get("message") == message
    ]
    assert len(writes) == 1, [change.object["status"] for change in writes]
    await scene.does("kubectl apply -k deploy/kustomize/gateways", user="admin")
    await scene.rollout(lambda s: condition(s, "Stalled").get("status") == "False", seconds=10.0)
    await scene.paused_at(1)
    await scene.approve(1)
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


def _route_group(namespace: str) -> JsonObject:
    backend = {"name": "shop", "type": "service", "serviceName": "shop", "servicePort": 80}
    return {
        "apiVersion": "zalando.org/v1",
        "kind": "RouteGroup",
        "metadata": {"name": "shop", "namespace": namespace},
        "spec": {"backends": [backend], "defaultBackends": [{"backendName": "shop"}]},
    }


async def lacks_the_crd_of_the_gateway_kind(scene: Scene) -> None:
    """The kind is not served: the Rollout says so, and the release begins when the CRD is installed. If the CRD is
    removed during a release, the release waits until the CRD is installed again.
    """
    await scene.create(*(o for o in manifests.objects(scene.app) if o["kind"] != "VirtualService"))
    await scene.pods_ready()
    right = invented.right()
    right["metadata"]["name"] = "route-groups"
    right["rules"][0] |= {"apiGroups": ["zalando.org"], "resources": ["routegroups"]}
    await scene.plane.apply(yaml.safe_dump(right))
    await scene.govern(_led_by(scene, "zalando.org/v1", "RouteGroup"))
    await scene.release(NEW_IMAGE)
    await scene.stalled()
    await scene.is_explained()
    crd = gateways.definition("zalando.org", "RouteGroup", "routegroups", ["v1"])
    await scene.follows("kubectl apply -f FILE", invented.install(scene.plane, crd))
    path = collection(ROUTE_GROUPS, scene.app.namespace)
    body = _route_group(scene.app.namespace)
    await scene.plane.client().create(path, body)
    await scene.paused_at(1)
    await scene.plane.kubectl("delete", "crd", "routegroups.zalando.org")
    await scene.stalled()
    await scene.moment()
    await invented.install(scene.plane, crd)
    await scene.plane.client().create(path, body)
    await scene.goes_on()
    await scene.at_its_share()


TROUBLES = (
    Trouble(
        "route-gone",
        "The gateway object is deleted during a release",
        (
            Row(
                loses_its_route,
                (
                    Message(
                        "Stalled GatewayObjectNotFound",
                        "VirtualService <namespace>/shop does not exist: create it again, or go back "
                        "(kubectl moonshift undo)",
                    ),
                ),
                ("apply the gateway object again",),
                killed=(CANARY, CLONES_DOUBLED),
                why=(theirs("apply -f FILE", "FILE: the manifest of VirtualService shop"), UNDO),
                played=FORMS,
                often=(CANARY,),
            ),
        ),
    ),
    Trouble(
        "route-edited",
        "The gateway object is edited during a release",
        (
            Row(
                has_its_route_edited,
                (
                    Message(
                        "Event RoutePutBack",
                        PUT_BACK,
                    ),
                ),
                ("nothing",),
                why=(
                    "waits for an approval",
                    f"! RoutePutBack: {PUT_BACK}",
                    APPROVE,
                ),
                played=FORMS,
                killed=(STATEFUL,),
                often=(PACED,),
            ),
        ),
    ),
    Trouble(
        "service-gone",
        "The stable Service is deleted or applied again during a release",
        (
            Row(
                loses_its_pinned_service,
                (
                    Message(
                        "Stalled ServiceNotFound",
                        "Service <namespace>/shop does not exist: create it again, which a rollback needs, too; "
                        "besides: no pod of the stable revision is ready behind Service <namespace>/shop since <time>: "
                        "all requests go to the new revision until one has been ready for 1 s",
                    ),
                ),
                ("apply the Service again",),
                why=(theirs("apply -f FILE", "FILE: the manifest of Service shop"),),
                played=FORMS,
                killed=(DAEMON,),
                often=(PACED,),
            ),
            Row(
                goes_back_without_its_service,
                (
                    Message(
                        "Stalled ServiceNotFound",
                        "Service <namespace>/shop does not exist, and the end of the release would lead all requests "
                        "to it: create it again; besides: no pod of the stable revision is ready behind Service "
                        "<namespace>/shop since <time>: all requests go to the new revision until one has been ready "
                        "for 1 s",
                    ),
                ),
                ("apply the Service again",),
                why=(theirs("apply -f FILE", "FILE: the manifest of Service shop"),),
                played=(CANARY, PACED, BLUE_GREEN, STATEFUL),
                derived={(DAEMON, *KRUISE): SAME},
                killed=(CANARY,),
            ),
            Row(
                has_its_pinned_service_applied_again,
                (),
                ("nothing",),
                played=FORMS,
                killed=(ADVANCED_STATEFUL,),
            ),
        ),
    ),
    Trouble(
        "service-unusable",
        "The Service has no selector, or is an ExternalName",
        (
            Row(
                has_a_service_without_a_selector,
                (
                    Message(
                        "Stalled ServiceWithoutSelector",
                        "Service <namespace>/shop has no selector, so its endpoints are written by somebody else: "
                        + LEFT_ALONE,
                    ),
                ),
                ("give the Service a selector",),
                why=(
                    theirs("edit service shop", "correct its selector"),
                    theirs("edit rollout shop", "or name another Service in the Rollout"),
                ),
                played=FORMS,
                often=(PACED,),
            ),
            Row(
                has_a_service_of_type_external_name,
                (
                    Message(
                        "Stalled ServiceWithoutSelector",
                        "Service <namespace>/shop is of type ExternalName, which has no endpoints: "
                        + LEFT_ALONE,
                    ),
                ),
                ("name another Service in the Rollout and in its route",),
                why=(theirs("edit rollout shop", "or name another Service in the Rollout"),),
                played=FORMS,
            ),
        ),
    ),
    Trouble(
        "gateway-right",
        "The controller may not read the gateway kind",
        (
            Row(
                lacks_the_right_to_the_gateway_kind,
                (
                    Message(
                        "Stalled Forbidden",
                        "UpstreamGroup <namespace>/shop: <the missing right>; give it get, list, watch, patch and "
                        'update by a ClusterRole labelled moonshift.dev/aggregate-to-controller: "true" (examples: '
                        "deploy/kustomize/gateways)",
                    ),
                ),
                ("kubectl apply -k deploy/kustomize/gateways",),
                why=(
                    "kubectl apply -k deploy/kustomize/gateways  # the missing right, from Moonshift's repository",
                    theirs(
                        "auth can-i <verb> upstreamgroups.gloo.solo.io --as <account>",
                        "whether the controller has it",
                    ),
                ),
                played=(PACED,),
                often=(PACED,),
                derived={(CANARY, BLUE_GREEN, STATEFUL, DAEMON, *KRUISE): SAME},
            ),
        ),
    ),
    Trouble(
        "gateway-crd",
        "The CRD of the gateway kind is missing, or removed during a release",
        (
            Row(
                lacks_the_crd_of_the_gateway_kind,
                (
                    Message(
                        "Stalled KindNotServed",
                        "RouteGroup <namespace>/shop: RouteGroup (zalando.org/v1) is not served by this cluster: "
                        "install its CRD, or correct apiVersion and kind",
                    ),
                ),
                ("install the CRD",),
                why=(
                    "kubectl apply -f FILE  # FILE: the CRD of this kind",
                    "kubectl api-resources --api-group=zalando.org  # which kinds and versions are served",
                ),
                played=(CANARY,),
                often=(CANARY,),
                derived={(PACED, BLUE_GREEN, STATEFUL, DAEMON, *KRUISE): SAME},
            ),
        ),
    ),
)
