"""One release through gateway objects of five sorts at once, while another client changes them."""

import copy
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import yaml

from controller.api import names
from demo.stage import ROOT, Product
from localcluster.api import JsonObject
from localcluster.errors import CommandFailed, RequestRefused
from localcluster.history import Key, Kind
from localcluster.record import Recorder
from tests.cluster import gateways, manifests
from tests.cluster.gateways import (
    APISIX_ROUTES,
    HTTP_ROUTES,
    INGRESSES,
    LANES,
    routings,
    share_of,
)
from tests.cluster.invented import install, right
from tests.cluster.killed import kill_controller
from tests.cluster.kinds import (
    DEPLOYMENTS,
    RECORDED,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
    collection,
    path_of,
)
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan
from tests.cluster.status_fields import condition
from tests.cluster.story import Story
from tests.cluster.test_cli import run

LED = (INGRESSES, HTTP_ROUTES, APISIX_ROUTES, LANES, VIRTUAL_SERVICES)
RIGHTS = ROOT / "deploy" / "kustomize" / "gateways"
STEPS = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4, 100))
SHOP = Application("shop", "", True, STEPS, virtual_service=True)
BLUE_GREEN = Application(
    "shop", "", False, (StepPlan(4, 0), StepPlan(4, 50)), virtual_service=True, blue_green=True
)


@pytest.fixture(scope="module")
async def world(product: Product) -> AsyncIterator[Recorder]:
    """Give a recording that knows the gateway kinds as well."""
    plane = product.plane
    await install(plane, *gateways.DEFINITIONS, right("FairLane"), gateways.script_map())
    await plane.kubectl("apply", "-k", str(RIGHTS))
    # kubectl asks again while the storage of new kinds is being made.
    every = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in (*RECORDED, *LED))
    await plane.kubectl("get", every, "--all-namespaces")
    async with plane.recorder(*RECORDED, *LED[:-1]) as started:
        yield started


async def spec_of(story: Story, kind: Kind) -> JsonObject:
    """The present spec, labels and annotations of an object of the owner."""
    found = await story.client.get(path_of(story.key(kind)))
    return {
        "spec": found["spec"],
        "labels": found["metadata"].get("labels"),
        "annotations": found["metadata"].get("annotations"),
    }


async def shares(story: Story, wanted: object, *kinds: Kind) -> None:
    """Wait until all of these show this share."""
    for kind in kinds or LED:
        await story.recorder.until_state(
            lambda state, kind=kind: share_of(state, kind, story.app.namespace) == wanted  # type: ignore[misc]
        )


async def unmarked(story: Story) -> None:
    """Wait until no gateway object has our annotations: they are removed by the write after the content."""
    places = [story.key(kind) for kind in LED]
    ours = {names.ORIGINAL_SPEC, names.ROUTE_STATE}
    await story.recorder.until_state(
        lambda state: (
            not any(
                ours & {*(state[place]["metadata"].get("annotations") or {})} for place in places
            )
        )
    )


async def begin(
    product: Product, world: Recorder, namespace: str, app: Application = SHOP
) -> Story:
    """The application with all its gateway objects, under a Rollout that leads every one of them."""
    app = replace(app, namespace=namespace)
    story = Story(product.plane, world, app)
    for body in gateways.owners(namespace).values():
        await product.plane.apply(yaml.safe_dump(body), user="developer")
    public = manifests.service(app, "shop-public")
    await story.client.create(collection(SERVICES, namespace), public)
    await story.install()
    rollout = manifests.rollout(app)
    strategy = rollout["spec"]["strategy"]["blueGreen" if app.blue_green else "canary"]
    strategy["trafficRoutings"] = routings()
    await story.govern(rollout)
    return story


Specs = dict[Kind, JsonObject]
"""The spec and the owner's annotations of each gateway object."""


async def led_at_step_1(product: Product, world: Recorder, namespace: str) -> tuple[Story, Specs]:
    """A release at its first step, and its gateway objects as they were before it."""
    story = await begin(product, world, namespace)
    before = {kind: await spec_of(story, kind) for kind in LED}
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await shares(story, 20)
    return story, before


async def test_a_release_leads_through_every_sort_of_reference(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    story, before = await led_at_step_1(product, world, namespace_of_product)

    # Another client: a rule of its own, an annotation, our part overwritten, our object deleted.
    virtual = await story.client.get(path_of(story.key(VIRTUAL_SERVICES)))
    extra = {"match": [{"uri": {"prefix": "/new"}}], "route": [{"destination": {"host": "new"}}]}
    rules = [extra, *virtual["spec"]["http"]]
    await story.client.patch(path_of(story.key(VIRTUAL_SERVICES)), {"spec": {"http": rules}})
    timeout = {"nginx.ingress.kubernetes.io/proxy-read-timeout": "30"}
    await story.client.patch(path_of(story.key(INGRESSES)), {"metadata": {"annotations": timeout}})
    lanes = [{"service": "shop", "canary": "shop-canary", "share": 99}, {"service": "x"}]
    await story.client.patch(path_of(story.key(LANES)), {"spec": {"lanes": lanes}})
    await shares(story, 20, LANES)
    await story.client.delete(path_of(story.key(INGRESSES, "shop-canary")))
    canary = await story.until(
        INGRESSES,
        lambda o: o["metadata"]["annotations"].items() >= timeout.items(),
        name="shop-canary",
    )
    paths = canary.object["spec"]["rules"][0]["http"]["paths"]
    assert [path["backend"]["service"]["name"] for path in paths] == ["shop-public-canary"]

    await story.approve(1)
    await story.paused_at(2)
    await shares(story, 50)
    await story.approve(2)
    await story.completed()
    await story.recorder.caught_up()
    assert Key(INGRESSES, namespace_of_product, "shop-canary") not in story.recorder.state()
    wanted = copy.deepcopy(before)
    wanted[VIRTUAL_SERVICES]["spec"]["http"].insert(0, extra)
    wanted[INGRESSES]["annotations"] = {**(before[INGRESSES]["annotations"] or {}), **timeout}
    assert {kind: await spec_of(story, kind) for kind in LED} == wanted


async def test_a_recreated_rollout_takes_over_the_objects_of_its_predecessor(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    story, before = await led_at_step_1(product, world, namespace_of_product)
    former = await story.client.get(path_of(story.key(ROLLOUTS)))
    await kill_controller(product)
    await story.client.delete(path_of(story.key(ROLLOUTS)))
    await story.amend({"metadata": {"finalizers": None}})
    await story.gone(ROLLOUTS)
    await product.controller.start()
    metadata = {"name": story.app.name, "namespace": namespace_of_product}
    await story.create({**former, "metadata": metadata})
    present = await story.until(
        ROLLOUTS,
        lambda r: (
            r["metadata"]["uid"] != former["metadata"]["uid"]
            and r.get("status", {}).get("currentStepState") == "StepPaused"
        ),
    )
    assert present.object["status"]["currentStepIndex"] == 1
    await shares(story, 20)
    for step in (1, 2):
        await story.approve(step)
        await (story.paused_at(2) if step == 1 else story.completed())
    await story.recorder.caught_up()
    left = {
        (key.kind.plural, key.name)
        for key in story.recorder.state()
        if key.namespace == namespace_of_product and key.kind in (DEPLOYMENTS, SERVICES, INGRESSES)
    }
    assert left == {
        ("deployments", "shop"),
        ("services", "shop"),
        ("services", "shop-public"),
        ("ingresses", "shop"),
    }
    assert {kind: await spec_of(story, kind) for kind in LED} == before


async def test_a_jump_back_to_no_share_keeps_the_canary_ingress_at_weight_0(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    # Clients of the original look for the canary Ingress at every step of a blue-green release.
    story = await begin(product, world, namespace_of_product, BLUE_GREEN)
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await shares(story, 0, INGRESSES)
    await story.approve(1)
    await story.paused_at(2)
    await shares(story, 50)
    made = await story.client.get(path_of(story.key(INGRESSES, "shop-canary")))
    await story.jump(1)
    await story.paused_at(1)
    await shares(story, 0, INGRESSES)
    kept = await story.client.get(path_of(story.key(INGRESSES, "shop-canary")))
    assert kept["metadata"]["uid"] == made["metadata"]["uid"]


@pytest.mark.parametrize("command", ["get", "why", "describe"])
async def test_no_drift_is_claimed_where_every_route_is_as_written(
    product: Product, world: Recorder, namespace_of_product: str, command: str
) -> None:
    story = await begin(product, world, namespace_of_product)
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await shares(story, 20)
    result = await run(product.plane, command, "shop", "-n", namespace_of_product)
    assert "approve" in result.output
    assert "is gone" not in result.output
    assert "drift" not in result.output.lower()


async def test_a_release_is_simulated_from_the_objects_of_the_cluster(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    await begin(product, world, namespace_of_product)
    named = ("shop", "-n", namespace_of_product)
    result = await run(product.plane, "simulate", *named, "--from-cluster", "-o", "json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["restored"] is True
    changed = {(route["kind"], route["what"]) for route in report["steps"][0]["routes"]}
    assert changed == {
        ("HTTPRoute", "changed"),
        ("VirtualService", "changed"),
        ("ApisixRoute", "changed"),
        ("FairLane", "changed"),
        ("Ingress", "made"),
    }


async def test_deleting_the_rollout_gives_everything_back(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    story = await begin(product, world, namespace_of_product)
    before = {kind: await spec_of(story, kind) for kind in LED}
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await shares(story, 20)
    await story.delete()
    await story.gone(ROLLOUTS)
    await story.recorder.caught_up()
    assert Key(INGRESSES, namespace_of_product, "shop-canary") not in story.recorder.state()
    assert {kind: await spec_of(story, kind) for kind in LED} == before


async def test_a_foreign_ingress_stops_the_release_and_stays_unchanged(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    story = await begin(product, world, namespace_of_product)
    taken = gateways.owners(namespace_of_product)[INGRESSES]
    taken["metadata"]["name"] = "shop-canary"
    await product.plane.apply(yaml.safe_dump(taken), user="developer")
    await story.release(NEW_IMAGE)
    # On a busy machine, the release may have waited for another reason before.
    await story.rollout(
        lambda s: (
            "shop-canary exists and was not made for this Rollout"
            in condition(s, "Stalled").get("message", "")
        )
    )
    await story.delete()
    await story.gone(ROLLOUTS)
    found = await story.client.get(path_of(story.key(INGRESSES, "shop-canary")))
    assert found["spec"] == taken["spec"]


async def lanes_say(story: Story, share: int) -> None:
    """Another client's opinion of the new version's share."""
    lanes = [{"service": "shop", "canary": "shop-canary", "share": share}, {"service": "x"}]
    await story.client.patch(path_of(story.key(LANES)), {"spec": {"lanes": lanes}})


async def test_two_writers_do_not_fight_and_the_release_names_the_writer_and_the_place(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    story = await begin(product, world, namespace_of_product)
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await shares(story, 20)
    for share in (99, 98):
        await lanes_say(story, share)
        await story.recorder.caught_up()
        await shares(story, 20, LANES)
    await story.event("RoutePutBack")
    await lanes_say(story, 97)
    held = await story.rollout(lambda s: condition(s, "Stalled").get("reason") == "RouteHeld")
    message = condition(held.object["status"], "Stalled")["message"]
    assert "FairLane" in message
    assert "spec.lanes[0].share from 20 to 97" in message
    assert condition(held.object["status"], "Drifted")["status"] == "True"
    result = await run(product.plane, "describe", "shop", "-n", namespace_of_product)
    assert "FairLane/shop against the release's content" in result.output
    await story.recorder.caught_up()
    assert share_of(story.recorder.state(), LANES, namespace_of_product) == 97

    await lanes_say(story, 20)
    await story.rollout(lambda s: condition(s, "Drifted").get("reason") == "RoutesAsWritten")
    await story.approve(1)
    await story.reach(2, first=2)
    await story.approve(2)
    await story.completed()


def with_steps(app: Application, *steps: JsonObject) -> JsonObject:
    """A Rollout over an HTTPRoute and an Ingress."""
    body = manifests.rollout(app, steps)
    body["spec"]["strategy"]["canary"]["trafficRoutings"] = routings()
    return body


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"traffic": "0.5%"}, "steps[0].traffic: Unsupported value: Ingress class nginx"),
    ],
)
async def test_a_step_that_a_gateway_cannot_express_is_refused_at_admission(
    product: Product, world: Recorder, namespace_of_product: str, step: JsonObject, expected: str
) -> None:
    app = Application("shop", namespace_of_product, True, STEPS)
    body = with_steps(app, {"replicas": 1, **step})
    with pytest.raises(RequestRefused) as refused:
        await product.plane.client("developer").create(
            collection(ROLLOUTS, namespace_of_product), body
        )
    assert expected in str(refused.value)


async def test_parts_of_a_percent_go_through_an_http_route(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    app = Application("shop", namespace_of_product, True, STEPS)
    story = Story(product.plane, world, app)
    await product.plane.apply(
        yaml.safe_dump(gateways.owners(namespace_of_product)[HTTP_ROUTES]), user="developer"
    )
    await story.install()
    body = with_steps(app, {"replicas": 1, "traffic": "0.5%"})
    entry = body["spec"]["strategy"]["canary"]["trafficRoutings"][0]
    body["spec"]["strategy"]["canary"]["trafficRoutings"] = [
        {key: entry[key] for key in ("service", "gracePeriodSeconds", "gateway")}
    ]
    await story.govern(body)
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    found = await story.client.get(path_of(story.key(HTTP_ROUTES)))
    weights = [ref["weight"] for ref in found["spec"]["rules"][1]["backendRefs"]]
    assert weights == [9950, 50]


# --- what is given back when something is gone -----------------------------------------------------


async def test_a_damaged_original_stops_everything_and_wipes_nothing(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    story = await begin(product, world, namespace_of_product)
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await shares(story, 20)
    damage = {"metadata": {"annotations": {names.ORIGINAL_SPEC: '{"spec":{}}'}}}
    await story.client.patch(path_of(story.key(LANES)), damage)
    await story.approve(1)
    stalled = await story.rollout(
        lambda s: condition(s, "Stalled").get("reason") == "OriginalCorrupt"
    )
    message = condition(stalled.object["status"], "Stalled")["message"]
    assert "nothing is written, so that nothing is lost" in message
    assert share_of(story.recorder.state(), LANES, namespace_of_product) == 20
    assert share_of(story.recorder.state(), HTTP_ROUTES, namespace_of_product) == 20

    await story.delete()
    # The remedy in the message: restore the object by hand, and remove both annotations.
    keys = (names.ORIGINAL_SPEC, names.ROUTE_STATE)
    repaired = {
        "metadata": {"annotations": dict.fromkeys(keys)},
        "spec": {"lanes": [{"service": "shop"}, {"service": "x"}]},
    }
    await story.client.patch(path_of(story.key(LANES)), repaired)
    await story.gone(ROLLOUTS)
    await shares(story, None)


async def test_routes_come_back_when_workload_service_and_script_are_gone(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    story = await begin(product, world, namespace_of_product)
    before = {kind: await spec_of(story, kind) for kind in LED}
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await shares(story, 20)
    config = Key(Kind("", "v1", "configmaps"), "kruise-rollout", names.CONFIGURATION)
    kept = await product.plane.client().get(path_of(config))
    await product.plane.client().delete(path_of(config))
    try:
        await story.client.delete(path_of(story.key(SERVICES)))
        await story.client.delete(path_of(story.key(DEPLOYMENTS)), propagationPolicy="Background")
        await shares(story, None)
        await unmarked(story)
        assert {kind: await spec_of(story, kind) for kind in LED} == before
    finally:
        kept["metadata"] = {key: kept["metadata"][key] for key in ("name", "namespace")}
        await product.plane.client().create(collection(config.kind, config.namespace), kept)


def managed_by_us(found: JsonObject) -> list[JsonObject]:
    """The entries of our field manager in the object's `managedFields`."""
    entries = found["metadata"].get("managedFields") or []
    return [entry for entry in entries if entry["manager"] == names.FIELD_MANAGER]


OURS_NO_MORE = (DEPLOYMENTS, SERVICES, *LED)


async def test_server_side_appliers_conflict_only_on_routing_fields_and_only_during_the_release(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    story = await begin(product, world, namespace_of_product)
    service = yaml.safe_dump(manifests.service(story.app))
    applied = ("apply", "--server-side", "--field-manager=gitops", "-f", "-")
    await product.plane.kubectl(*applied, user="developer", input=service)
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await shares(story, 20)

    pinned = (await story.client.get(path_of(story.key(SERVICES))))["spec"]["selector"]
    assert len(pinned) == 2
    await product.plane.kubectl(*applied, user="developer", input=service)
    assert (await story.client.get(path_of(story.key(SERVICES))))["spec"]["selector"] == pinned

    owners = gateways.owners(namespace_of_product)
    for kind, place in ((VIRTUAL_SERVICES, ".spec.http"), (HTTP_ROUTES, ".spec.rules")):
        body = owners.get(kind) or manifests.virtual_service(story.app)
        with pytest.raises(CommandFailed, match=re.escape(place)):
            await product.plane.kubectl(*applied, user="developer", input=yaml.safe_dump(body))
    body = owners[INGRESSES]
    await product.plane.kubectl(*applied, user="developer", input=yaml.safe_dump(body))

    await story.approve(1)
    await story.paused_at(2)
    await story.approve(2)
    await story.completed()
    for kind in OURS_NO_MORE:
        found = await story.client.get(path_of(story.key(kind)))
        assert managed_by_us(found) == [], kind
    public = await story.client.get(path_of(story.key(SERVICES, "shop-public")))
    assert managed_by_us(public) == []
