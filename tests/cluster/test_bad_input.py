"""Mistakes that admission cannot see: each leads to a condition and an Event with a remedy, and no object is half
written. When the person corrects the mistake, the release continues by itself.

The scenarios of a run go on at the same time; the first test waits for all of them.
"""

import re
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import pytest

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.record import Recorder
from tests.articles import ARTICLE_SCRIPT
from tests.cluster import invented, manifests
from tests.cluster.invariants import owned
from tests.cluster.kinds import (
    DEPLOYMENTS,
    DESTINATION_RULES,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
    collection,
    path_of,
)
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, Application, StepPlan
from tests.cluster.status_fields import condition
from tests.cluster.story import WORKLOAD_TYPE, Story, conclude
from tests.cluster.together import Together

AT_ONCE = 8
TEST = "test_bad_input_is_reported_clearly_when"

PLAN = (StepPlan(1, 20), StepPlan(2, 100))
ROUTED = Application("shop", "", True, PLAN, virtual_service=True, replicas=2, grace=0)
SHARED = replace(ROUTED, shared=True)

SYNTAX = "local t = {}\nt table.insert(spec.subsets, canary)\nreturn obj.data\n"
UNCLOSED = 'local s = "never closed\nreturn obj.data\n'
ERRING = 'local x = 1\nerror("no lane is free")\n'
WORKING = """
local share = 0
if obj.canaryWeight ~= nil and obj.canaryWeight > 0 then share = obj.canaryWeight end
obj.data.spec.backends = {
  {service = obj.stableService, share = 100 - share},
  {service = obj.canaryService, share = share},
}
return obj.data
"""
BAD_SCRIPTS: dict[str, tuple[str, str]] = {
    "Syntax": (SYNTAX, r"has a syntax error in line 2"),
    "Unclosed": (UNCLOSED, r"has a syntax error in line 1"),
    "Erring": (ERRING, r"failed in line 2: .*no lane is free"),
    "Nothing": ("local x = 1\n", r"script .*Nothing.*: expect table output .*, not nil"),
    "Specless": ("obj.data.spec = nil\nreturn obj.data\n", r"script .*Specless.*: .*spec"),
    "Endless": ("while true do end\n", r"took too long and was stopped"),
    "Hungry": (
        'local s = "eat more"\nwhile true do s = s .. s end\n',
        # On a busy machine it reaches its time limit before its memory limit.
        r"(used too much memory|took too long) and was stopped",
    ),
}
"""By invented kind: a script, and the expected message."""

NAMESPACED = (*BAD_SCRIPTS, "Working", "Scriptless", "Late", "Vanishing")

Scenario = Callable[[Story], Awaitable[None]]


def led_by(kind: str, app: Application) -> JsonObject:
    """A Rollout whose traffic an invented kind leads."""
    body = manifests.rollout(app)
    routing = body["spec"]["strategy"]["canary"]["trafficRoutings"][0]
    routing["customNetworkRefs"] = [
        {"apiVersion": invented.API_VERSION, "kind": kind, "name": app.name}
    ]
    return body


async def begun(story: Story, rollout: JsonObject, *without: str) -> None:
    """The application without objects of some kinds, under a Rollout, and a new image."""
    await story.create(*(o for o in manifests.objects(story.app) if o["kind"] not in without))
    await story.pods_ready()
    await story.govern(rollout)
    await story.release(NEW_IMAGE)


async def stalled(story: Story, reason: str) -> str:
    """The message of a stall, from the condition and from an Event with the same reason."""
    found = await story.rollout(
        lambda s: (
            condition(s, "Stalled").get("status") == "True"
            and condition(s, "Stalled")["reason"] == reason
        )
    )
    status = found.object["status"]
    message: str = condition(status, "Stalled")["message"]
    assert status["message"] == message
    assert condition(status, "Ready")["status"] == "False"
    event = await story.event(reason)
    assert (event["type"], event["message"]) == ("Warning", message)
    return message


async def untouched(story: Story, kind: str) -> None:
    """The route was not written after its owner created it."""
    path = collection(invented.kind_of(kind), story.app.namespace)
    found = await story.client.get(f"{path}/{story.app.name}")
    wanted = invented.route(kind, story.app.name, story.app.namespace)
    assert found["spec"] == wanted["spec"]
    assert found["metadata"]["annotations"] == wanted["metadata"]["annotations"]


# --- what is missing ------------------------------------------------------------------------------


async def the_service_is_missing(story: Story) -> None:
    await begun(story, manifests.rollout(story.app), "Service")
    message = await stalled(story, "ServiceNotFound")
    assert f"Service {story.app.namespace}/shop does not exist" in message
    await story.create(manifests.service(story.app))
    await story.paused_at(1)


async def the_gateway_object_is_missing(story: Story) -> None:
    await begun(story, manifests.rollout(story.app), "VirtualService")
    message = await stalled(story, "GatewayObjectNotFound")
    assert f"VirtualService {story.app.namespace}/shop does not exist" in message
    await story.create(manifests.virtual_service(story.app))
    await story.paused_at(1)


async def the_workload_is_missing(story: Story) -> None:
    await story.create(manifests.rollout(story.app))
    found = await story.rollout(lambda s: s.get("phase") == "Initial")
    assert found.object["status"]["message"] == "Workload Not Found: Deployment shop"


async def no_script_is_there_for_the_kind(story: Story) -> None:
    await lane(story, "Scriptless")
    message = await stalled(story, "ScriptNotFound")
    assert "Scriptless" in message
    assert f"lua.traffic.routing.Scriptless.{invented.GROUP}" in message
    await untouched(story, "Scriptless")


async def lane(story: Story, kind: str) -> None:
    """A release led by an invented kind."""
    body = invented.route(kind, story.app.name, story.app.namespace)
    await story.client.create(collection(invented.kind_of(kind), story.app.namespace), body)
    await begun(story, led_by(kind, story.app))


async def the_kind_comes_later(story: Story) -> None:
    await begun(story, led_by("Late", story.app))
    message = await stalled(story, "KindNotServed")
    assert f"Late ({invented.API_VERSION}) is not served by this cluster" in message
    await invented.install(story.plane, invented.crd("Late"))
    body = invented.route("Late", story.app.name, story.app.namespace)
    await story.client.create(collection(invented.kind_of("Late"), story.app.namespace), body)
    await story.paused_at(1)


async def the_kind_vanishes(story: Story) -> None:
    await lane(story, "Vanishing")
    await story.paused_at(1)
    await story.plane.kubectl("delete", "crd", f"vanishings.{invented.GROUP}")
    found = await story.rollout(lambda s: condition(s, "Stalled").get("status") == "True")
    assert "Vanishing" in condition(found.object["status"], "Stalled")["message"]
    await story.release(STABLE_IMAGE)
    await story.completed()


async def the_controller_may_not_read_the_kind(story: Story) -> None:
    body = manifests.rollout(story.app)
    routing = body["spec"]["strategy"]["canary"]["trafficRoutings"][0]
    routing["customNetworkRefs"][0]["kind"] = "Gateway"
    await begun(story, body)
    message = await stalled(story, "Forbidden")
    account = "system:serviceaccount:kruise-rollout:kruise-rollout-controller-manager"
    for part in (
        f"Gateway {story.app.namespace}/shop: ",
        "list",
        "gateways",
        "networking.istio.io",
        account,
        "moonshift.dev/aggregate-to-controller",
    ):
        assert part in message


async def the_kind_is_cluster_scoped(story: Story) -> None:
    await begun(story, led_by("Wide", story.app))
    message = await stalled(story, "ClusterScopedKind")
    assert "Wide is cluster-scoped" in message
    assert "--allow-cluster-scoped-gateways" in message


# --- what does not fit ----------------------------------------------------------------------------


async def nothing_points_at_the_stable_service(story: Story) -> None:
    story_objects = manifests.objects(story.app)
    whole = story_objects[2]["spec"]["http"]
    story_objects[2]["spec"]["http"] = whole[:-1]
    await story.create(*story_objects)
    await story.pods_ready()
    await story.govern()
    await story.release(NEW_IMAGE)
    message = await stalled(story, "ScriptFailed")
    assert (
        f"VirtualService {story.app.namespace}/shop" in message or "VirtualService/shop" in message
    )
    assert "line" in message
    changes = [c for c in story.recorder.history() if c.key == story.key(VIRTUAL_SERVICES)]
    assert [change.type for change in changes] == ["ADDED"]
    assert not [p for p in story.pods() if p["spec"]["containers"][0]["image"] == NEW_IMAGE]
    await story.amend({"spec": {"http": whole}}, VIRTUAL_SERVICES)
    await story.paused_at(1)


async def a_shared_service_has_no_subset_that_tells_revisions_apart(story: Story) -> None:
    objects = manifests.objects(story.app)
    objects[3]["spec"]["subsets"][0]["labels"] = {"app": "shop"}
    await story.create(*objects)
    await story.pods_ready()
    await story.govern()
    await story.release(NEW_IMAGE)
    message = await stalled(story, "SharedServiceMixesRevisions")
    assert "subset" in message or "labels" in message
    assert not [p for p in story.pods() if p["spec"]["containers"][0]["image"] == NEW_IMAGE]
    await story.amend(
        {"spec": {"subsets": [{"name": "base", "labels": {"version": "base"}}]}}, DESTINATION_RULES
    )
    await story.paused_at(1)


async def a_service_of_the_canary_services_name_is_somebody_elses(story: Story) -> None:
    await story.create(manifests.service(story.app, "shop-canary"))
    await begun(story, manifests.rollout(story.app))
    message = await stalled(story, "ServiceNotOurs")
    assert f"Service {story.app.namespace}/shop-canary exists and was not made for this" in message
    await story.client.delete(path_of(story.key(SERVICES, "shop-canary")))
    await story.paused_at(1)


# --- scripts --------------------------------------------------------------------------------------


async def a_script_is_bad(story: Story, *, kind: str) -> None:
    text = BAD_SCRIPTS[kind][1]
    await lane(story, kind)
    # On a busy machine, the message may say that the worker does not answer, before the script's time is over.
    found = await story.rollout(
        lambda s: condition(s, "Stalled").get("reason") in ("ScriptFailed", "ScriptAnswerRefused")
    )
    reported = condition(found.object["status"], "Stalled")
    assert re.search(text, reported["message"]), reported["message"]
    assert f"{kind} {story.app.namespace}/shop" in reported["message"]
    assert f"lua.traffic.routing.{kind}.{invented.GROUP}" in reported["message"]
    assert (await story.event(reported["reason"]))["message"] == reported["message"]
    await untouched(story, kind)


async def an_invented_kind_has_a_good_script(story: Story) -> None:
    await lane(story, "Working")
    await story.paused_at(1)
    path = collection(invented.kind_of("Working"), story.app.namespace)
    routed = await story.client.get(f"{path}/shop")
    assert routed["spec"]["backends"] == [
        {"service": "shop", "share": 80},
        {"service": "shop-canary", "share": 20},
    ]
    await story.approve()
    await conclude(story)
    await untouched(story, "Working")


async def the_published_script_is_chosen_for_a_destination_rule(story: Story) -> None:
    body = manifests.rollout(story.app)
    routing = body["spec"]["strategy"]["canary"]["trafficRoutings"][0]
    routing["customNetworkRefs"][1]["script"] = "configMap"
    await begun(story, body)
    await story.paused_at(1)
    rule = await story.client.get(path_of(story.key(DESTINATION_RULES)))
    assert rule["spec"]["subsets"][1] == {"name": "canary", "labels": {"version": "canary"}}
    await story.approve()
    await conclude(story)


# --- the end --------------------------------------------------------------------------------------


async def a_rollout_cannot_be_deleted_until_its_finalizer_is_taken_off(story: Story) -> None:
    await story.begin()
    await story.paused_at(1)
    path = path_of(story.key(VIRTUAL_SERVICES))
    spoilt = {"metadata": {"annotations": {"rollouts.kruise.io/original-spec-configuration": "{"}}}
    await story.client.patch(path, spoilt)
    await story.delete()
    found = await story.rollout(
        lambda s: (
            s.get("phase") == "Terminating" and condition(s, "Stalled").get("status") == "True"
        )
    )
    reported = condition(found.object["status"], "Stalled")
    assert "VirtualService" in reported["message"]
    for left in (story.key(SERVICES, "shop-canary"), story.key(SERVICES)):
        assert left in story.recorder.state()
    await story.amend({"metadata": {"finalizers": None}})
    await story.gone(ROLLOUTS)
    # The commands of docs/operations.md for this case, beginning with the workload.
    await story.amend({"metadata": {"labels": {WORKLOAD_TYPE: None}}}, DEPLOYMENTS)
    workload = await story.client.get(path_of(story.key(DEPLOYMENTS)))
    wanted = story.expected[story.key(DEPLOYMENTS)]
    assert owned(workload) == owned(wanted)


UNREADABLE = "lua.traffic.routing.Gateway.networking.istio.io"
"""A script for a kind that the controller may not read."""

SCENARIOS: dict[str, tuple[Application, Scenario]] = {
    **{
        scenario.__name__.replace("_", " "): (app, scenario)
        for app, scenario in (
            (ROUTED, the_service_is_missing),
            (ROUTED, the_gateway_object_is_missing),
            (ROUTED, the_workload_is_missing),
            (ROUTED, no_script_is_there_for_the_kind),
            (ROUTED, the_kind_comes_later),
            (ROUTED, the_kind_vanishes),
            (ROUTED, the_controller_may_not_read_the_kind),
            (ROUTED, the_kind_is_cluster_scoped),
            (ROUTED, nothing_points_at_the_stable_service),
            (SHARED, a_shared_service_has_no_subset_that_tells_revisions_apart),
            (ROUTED, a_service_of_the_canary_services_name_is_somebody_elses),
            (ROUTED, an_invented_kind_has_a_good_script),
            (SHARED, the_published_script_is_chosen_for_a_destination_rule),
            (ROUTED, a_rollout_cannot_be_deleted_until_its_finalizer_is_taken_off),
        )
    },
    **{
        f"a script is bad: {kind}": (ROUTED, partial(a_script_is_bad, kind=kind))
        for kind in BAD_SCRIPTS
    },
}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_bad_input_is_reported_clearly_when(name: str, mistakes: Together) -> None:
    await mistakes.result(name)


@pytest.fixture(scope="module")
async def mistakes(
    request: pytest.FixtureRequest, product: Product, recorder: Recorder
) -> Together:
    """Give the selected scenarios, running; the invented kinds and their scripts are there."""
    now = [kind for kind in NAMESPACED if kind != "Late"]
    texts = {kind: text for kind, (text, _) in BAD_SCRIPTS.items()}
    texts |= dict.fromkeys(("Working", "Late", "Vanishing", "Wide"), WORKING)
    key = "lua.traffic.routing.DestinationRule.networking.istio.io"
    await invented.install(
        product.plane,
        invented.right(*NAMESPACED, "Wide"),
        invented.scripts(texts, **{key: ARTICLE_SCRIPT, UNREADABLE: "return obj.data"}),
        invented.crd("Wide", "Cluster"),
        *map(invented.crd, now),
    )
    together = Together(AT_ONCE)

    async def tell(name: str) -> None:
        app, scenario = SCENARIOS[name]
        namespace = f"test-{uuid.uuid4().hex[:10]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        await scenario(Story(product.plane, recorder, replace(app, namespace=namespace)))

    selected = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == TEST
    }
    together.start((name, partial(tell, name)) for name in sorted(selected))
    return together
