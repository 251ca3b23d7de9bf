"""EnsureRoutes against an object server with the API server's rules."""

import json
from typing import Any

import pytest

from controller.api import names
from controller.api.meta import Key
from controller.domain.decision import Done, NotYet, Refusal, RestoreRoutes
from controller.effects.gateways import GatewayRoutes
from controller.effects.gateways.failed_writes import UNWATCHED
from controller.effects.gateways.script_answers import Tried
from controller.scripts.script_outcome import Refused

from . import world
from .leading import BOTH, DR, ONE, VS, led, refused, rules, state, weights
from .world import ObjectServer, Scripts, plan, split, subset


async def test_one_write_sets_routes_original_and_record(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    before = server.content(*VS)
    assert await routes.ensure(plan(ONE)) == Done(wrote=True)
    assert server.writes == ["VirtualService/web"]
    assert weights(server) == [80, 20]
    stored = json.loads(server.annotations(*VS)[names.ORIGINAL_SPEC])
    assert stored == {"spec": before["spec"], "annotations": {"team": "a"}}
    seen = state(server)
    assert (seen.plan, seen.release, seen.touched, seen.in_use) == (
        plan(ONE).identity,
        "r1",
        False,
        True,
    )


async def test_an_object_that_follows_the_plan_is_not_written_and_no_script_runs(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    scripts.asked.clear()
    assert await routes.ensure(plan(ONE)) == Done(wrote=False)
    assert (len(server.writes), scripts.asked) == (1, [])


async def test_the_next_step_starts_from_the_original_not_from_the_step_before(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    await routes.ensure(plan(ONE, "50%"))
    assert weights(server) == [50, 50]
    assert all(asked["data"]["spec"] == rules() for asked in scripts.asked)


async def test_a_script_is_run_twice_for_an_object_once_in_a_process_and_once_in_a_pass_after_that(
    server: ObjectServer, scripts: Scripts
) -> None:
    tried = Tried().of(Key("shop", "web"))
    asked: list[int] = []
    for weight in ("20%", "50%", "60%"):
        before = len(scripts.asked)
        await GatewayRoutes(server, scripts, scripts, tried=tried).ensure(plan(ONE, weight))
        asked.append(len(scripts.asked) - before)
    assert asked == [2, 1, 1]
    again = await GatewayRoutes(server, scripts, scripts, tried=Tried().of(tried.owner)).ensure(
        plan(ONE, "70%")
    )
    assert again == Done(wrote=True)
    assert len(scripts.asked) == sum(asked) + 2, "nothing is taken over from another process"


async def test_objects_are_written_after_their_references_in_any_order_of_the_list(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, plan(BOTH, labels={"version": "canary"}))
    assert server.writes == ["DestinationRule/web", "VirtualService/web"]
    assert server.spec(*DR)["subsets"][-1] == {"name": "canary", "labels": {"version": "canary"}}
    assert server.spec(*VS)["http"][-1]["route"][-1]["destination"]["subset"] == "canary"


async def test_a_script_that_fails_leaves_every_object_as_it_is(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("VirtualService", Refused("SYNTAX_ERROR", "unexpected symbol near 'x'", line=7))
    refusal = await refused(routes, plan(BOTH))
    assert (refusal.reason, refusal.script, refusal.line) == (
        "ScriptFailed",
        "VirtualService.lua",
        7,
    )
    assert "has a syntax error in line 7" in refusal.message
    assert refusal.object == "VirtualService demo/web"
    assert server.writes == []


@pytest.mark.parametrize(
    ("code", "words", "again"),
    [
        ("TIMEOUT", "took too long", True),
        ("MEMORY_LIMIT", "too much memory", False),
        ("BAD_RESULT", "cannot be written as JSON at $.spec", False),
        ("SOMETHING_NEW", "failed (SOMETHING_NEW)", False),
    ],
)
async def test_the_limit_that_stopped_a_script_is_reported_in_words(
    scripts: Scripts, routes: GatewayRoutes, code: str, words: str, again: bool
) -> None:
    scripts.add("VirtualService", Refused(code, "details", json_path="$.spec"))
    refusal = await refused(routes)
    assert words in refusal.message
    assert (refusal.retry_after is not None) == again


async def test_a_missing_script_names_both_places(scripts: Scripts, routes: GatewayRoutes) -> None:
    del scripts.functions["VirtualService"]
    refusal = await refused(routes)
    assert refusal.reason == "ScriptNotFound"
    assert "neither packaged as X nor in key Y of ConfigMap Z" in refusal.message


async def test_an_absent_worker_is_reported_and_tried_again_soon(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.available = False
    refusal = await refused(routes)
    assert (refusal.reason, refusal.retry_after, server.writes) == ("WorkerUnavailable", 1.0, [])


async def test_scripts_that_want_to_come_after_each_other_are_refused(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("DestinationRule", subset, "--@after networking.istio.io/VirtualService")
    assert (await refused(routes, plan(BOTH))).reason == "ScriptOrder"
    assert server.writes == []


async def test_a_script_that_answers_differently_each_time_is_refused(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    count = iter(range(100))

    def fickle(obj: dict[str, Any]) -> object:
        obj["data"]["labels"] = {"n": str(next(count))}
        return obj["data"]

    scripts.add("VirtualService", fickle)
    assert (await refused(routes)).reason == "ScriptNotDeterministic"
    assert server.writes == []


async def test_a_script_that_fails_the_second_time_is_refused(
    scripts: Scripts, routes: GatewayRoutes
) -> None:
    def once(obj: dict[str, Any]) -> object:
        scripts.add("VirtualService", Refused("RUNTIME_ERROR", "boom"), world.AFTER_RULE)
        return split(obj)

    scripts.add("VirtualService", once, world.AFTER_RULE)
    assert (await refused(routes)).reason == "ScriptFailed"


async def test_only_the_first_run_of_a_script_is_doubled(
    scripts: Scripts, routes: GatewayRoutes, monkeypatch: pytest.MonkeyPatch
) -> None:
    await routes.ensure(plan(ONE))
    assert len(scripts.asked) == 2
    await routes.ensure(plan(ONE, "30%"))
    assert len(scripts.asked) == 3
    monkeypatch.setattr("controller.effects.gateways.script_answers.MAX_REMEMBERED", 1)
    scripts.headers["VirtualService"] = "--@name changed"
    await routes.ensure(plan(ONE, "40%"))
    assert len(scripts.asked) == 5


async def test_an_unsound_answer_is_not_written(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    def drop_admin(obj: dict[str, Any]) -> object:
        del obj["data"]["spec"]["http"][0]
        return obj["data"]

    scripts.add("VirtualService", drop_admin)
    refusal = await refused(routes)
    assert refusal.reason == "ScriptAnswerRefused"
    assert "spec.http" in refusal.message
    assert server.writes == []


async def test_a_missing_object_is_named(server: ObjectServer, routes: GatewayRoutes) -> None:
    del server.objects[VS]
    refusal = await refused(routes, plan(BOTH))
    assert (refusal.reason, refusal.object) == ("GatewayObjectNotFound", "VirtualService demo/web")
    assert server.writes == []


async def test_a_kind_that_is_not_served_differs_from_a_missing_object(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    server.unserved.add("VirtualService")
    refusal = await refused(routes)
    assert refusal.reason == "KindNotServed"
    assert "networking.istio.io/v1" in refusal.message


@pytest.mark.parametrize("verb", ["get", "update"])
async def test_a_missing_right_is_reported_in_the_servers_words(
    server: ObjectServer, routes: GatewayRoutes, verb: str
) -> None:
    server.forbidden.add((verb, "VirtualService"))
    refusal = await refused(routes)
    assert refusal.reason == "Forbidden"
    for word in (f"cannot {verb}", "virtualservices", 'namespace "demo"', 'User "moonshift"'):
        assert word in refusal.message


async def test_a_write_that_the_server_rejects_is_reported(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    server.invalid.add("VirtualService")
    refusal = await refused(routes)
    assert (refusal.reason, refusal.retry_after) == ("GatewayObjectRejected", UNWATCHED)


async def test_an_edit_in_between_writes_nothing_and_comes_back(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    server.before_write = lambda edited: edited["metadata"].update(labels={"by": "someone"})
    assert isinstance(await routes.ensure(plan(ONE)), NotYet)
    assert server.writes == []
    assert await routes.ensure(plan(ONE)) == Done(wrote=True)
    assert server.objects[VS]["metadata"]["labels"] == {"by": "someone"}


async def test_a_conflict_on_the_second_object_keeps_the_first_write_and_is_retried(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    wanted = plan(BOTH)
    server.forbidden.add(("update", "VirtualService"))
    assert isinstance(await routes.ensure(wanted), NotYet)
    await refused(routes, wanted)
    assert server.writes == ["DestinationRule/web"]
    server.forbidden.clear()
    assert await routes.ensure(wanted) == Done(wrote=True)
    assert server.writes == ["DestinationRule/web", "VirtualService/web"]


async def test_a_cluster_scoped_kind_needs_the_administrators_leave(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    server.cluster_scoped.add("VirtualService")
    assert (await refused(routes)).reason == "ClusterScopedKind"
    allowed = GatewayRoutes(server, scripts, scripts, allow_cluster_scoped=True)
    assert await allowed.ensure(plan(ONE)) == Done(wrote=True)


async def test_an_object_of_another_rollout_is_left_alone(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE, rollout="other"))
    refusal = await refused(routes)
    assert refusal.reason == "GatewayObjectInUse"
    assert "Rollout other" in refusal.message


async def test_a_plan_that_says_nothing_is_refused(routes: GatewayRoutes) -> None:
    assert (await refused(routes, plan(ONE, "a lot"))).reason == "TrafficUnreadable"


async def test_an_ingress_that_does_not_lead_to_the_service_is_refused(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    from controller.api.rollout import IngressRef, TrafficRoutingRef
    from controller.domain.traffic.plan.traffic_plan import references_of

    server.put("Ingress", "web", {"rules": []})
    scripts.add("Ingress", split)
    refs = references_of((TrafficRoutingRef(service="web", ingress=IngressRef(name="web")),), False)
    assert (await refused(routes, plan(refs))).reason == "NothingToDivide"


async def test_two_services_behind_one_object_are_led_by_one_write(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    from controller.domain.traffic.plan.traffic_plan import references_of

    refs = references_of(
        (world.routing(VS, service="web"), world.routing(VS, service="admin")), False
    )
    assert await routes.ensure(plan(refs)) == Done(wrote=True)
    assert server.writes == ["VirtualService/web"]
    hosts = [
        [entry["destination"]["host"] for entry in rule["route"]]
        for rule in server.spec(*VS)["http"]
    ]
    assert hosts == [["admin", "admin-canary"], ["web", "web-canary"]]
    assert await routes.restore(RestoreRoutes("demo", refs, "r1", "web")) == Done(wrote=True)
    assert server.spec(*VS) == rules()


async def test_siblings_follow_the_header_of_the_script(
    scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.headers["VirtualService"] += "\n--@siblings networking.istio.io/DestinationRule"
    await routes.ensure(plan(BOTH))
    asked = {obj["object"]["kind"]: obj["siblings"] for obj in scripts.asked}
    assert asked["DestinationRule"] == []
    (sibling,) = asked["VirtualService"]
    assert (sibling["kind"], sibling["namespace"], sibling["spec"]["host"]) == (
        "DestinationRule",
        "demo",
        "web",
    )


async def test_a_rehearsal_runs_the_scripts_and_writes_nothing(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    assert await routes.rehearse(plan(BOTH, labels={"version": "canary"})) == Done()
    assert len(scripts.asked) > 0
    assert server.writes == []


async def test_a_rehearsal_refuses_for_the_reasons_of_the_step(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("VirtualService", Refused("RUNTIME_ERROR", "nothing leads to web", line=3))
    wanted = plan(BOTH, labels={"version": "canary"})
    refusal = await refused(routes, wanted)
    assert await routes.rehearse(wanted) == refusal
    assert server.writes == []


@pytest.mark.parametrize("rehearsed", [True, False])
async def test_an_object_without_room_for_its_copy_is_refused_before_any_write(
    server: ObjectServer, routes: GatewayRoutes, rehearsed: bool
) -> None:
    large = server.spec(*VS)
    large["hosts"] = [f"{number:06}.{'h' * 100}.example.com" for number in range(2_500)]
    outcome = await (routes.rehearse(plan(BOTH)) if rehearsed else routes.ensure(plan(BOTH)))
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, outcome.object) == (
        "GatewayObjectTooLarge",
        "VirtualService demo/web",
    )
    assert server.writes == []


async def test_the_record_of_tried_scripts_goes_with_its_rollout(
    server: ObjectServer, scripts: Scripts
) -> None:
    tried = Tried()
    for number in range(5):
        owner = Key("shop", f"web-{number}")
        routes = GatewayRoutes(server, scripts, scripts, tried=tried.of(owner))
        await routes.ensure(plan(BOTH, f"{10 + number}%"))
        assert set(tried._known) == {owner}
        tried.forget(owner)
    assert not tried._known
