"""EnsureRoutes against an object server with the API server's rules."""

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.api import names
from controller.domain.decision import Done, NotYet, Refusal, RestoreRoutes
from controller.domain.observation import RoutePresent, RouteUnreadable
from controller.domain.traffic.drift import see_route
from controller.domain.traffic.plan import announcement
from controller.effects.gateways import GatewayRoutes
from controller.scripts.answer import Refused

from . import world
from .world import ObjectServer, Scripts, plan, references, split, subset

VS, DR = ("VirtualService", "web"), ("DestinationRule", "web")
ONE = references(VS)
BOTH = references(VS, DR, shared=True)


def rules() -> dict[str, Any]:
    return {
        "hosts": ["web.example.com"],
        "http": [
            {
                "match": [{"uri": {"prefix": "/admin"}}],
                "route": [{"destination": {"host": "admin"}}],
            },
            {"route": [{"destination": {"host": "web"}}]},
        ],
    }


@pytest.fixture
def server() -> ObjectServer:
    made = ObjectServer()
    made.put(*VS, rules(), annotations={"team": "a"})
    made.put(*DR, {"host": "web", "subsets": [{"name": "base", "labels": {"version": "base"}}]})
    return made


@pytest.fixture
def scripts() -> Scripts:
    made = Scripts()
    made.add("VirtualService", split, world.AFTER_RULE)
    made.add("DestinationRule", subset)
    return made


@pytest.fixture
def routes(server: ObjectServer, scripts: Scripts) -> GatewayRoutes:
    return GatewayRoutes(server, scripts, scripts)


def state(server: ObjectServer, reference: Any = ONE[0]) -> RoutePresent:
    seen = see_route(reference, json.dumps(server.objects[reference.kind, reference.name]).encode())
    assert isinstance(seen, RoutePresent)
    return seen


def weights(server: ObjectServer) -> list[int]:
    return [entry["weight"] for entry in server.spec(*VS)["http"][-1]["route"]]


async def refused(routes: GatewayRoutes, wanted: Any = None) -> Refusal:
    outcome = await routes.ensure(wanted or plan(ONE))
    assert isinstance(outcome, Refusal)
    return outcome


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


async def test_objects_are_written_after_what_they_point_at_whatever_the_list_says(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(BOTH, labels={"version": "canary"}))
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
async def test_what_stopped_a_script_is_said_in_words(
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


async def test_an_absent_worker_is_said_and_tried_again_soon(
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
    monkeypatch.setattr("controller.effects.gateways.answers.MAX_REMEMBERED", 1)
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


async def test_a_kind_that_is_not_served_is_told_from_a_missing_object(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    server.unserved.add("VirtualService")
    refusal = await refused(routes)
    assert refusal.reason == "KindNotServed"
    assert "networking.istio.io/v1" in refusal.message


@pytest.mark.parametrize("verb", ["get", "update"])
async def test_a_missing_right_is_told_in_the_servers_words(
    server: ObjectServer, routes: GatewayRoutes, verb: str
) -> None:
    server.forbidden.add((verb, "VirtualService"))
    refusal = await refused(routes)
    assert refusal.reason == "Forbidden"
    for word in (f"cannot {verb}", "virtualservices", 'namespace "demo"', 'User "moonshift"'):
        assert word in refusal.message


async def test_what_the_server_does_not_accept_is_told(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    server.invalid.add("VirtualService")
    assert (await refused(routes)).reason == "GatewayObjectRejected"


async def test_an_edit_in_between_writes_nothing_and_comes_back(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    server.before_write = lambda edited: edited["metadata"].update(labels={"by": "someone"})
    assert isinstance(await routes.ensure(plan(ONE)), NotYet)
    assert server.writes == []
    assert await routes.ensure(plan(ONE)) == Done(wrote=True)
    assert server.objects[VS]["metadata"]["labels"] == {"by": "someone"}


async def test_a_conflict_on_the_second_object_leaves_the_first_written_and_goes_on_later(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    wanted = plan(BOTH)
    server.forbidden.add(("update", "VirtualService"))
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
    from controller.domain.traffic.plan import references_of

    server.put("Ingress", "web", {"rules": []})
    scripts.add("Ingress", split)
    refs = references_of((TrafficRoutingRef(service="web", ingress=IngressRef(name="web")),), False)
    assert (await refused(routes, plan(refs))).reason == "NothingToDivide"


async def test_two_services_behind_one_object_are_led_by_one_write(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    from controller.domain.traffic.plan import references_of

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


async def test_siblings_are_what_the_header_asks_for(
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


# --- drift ----------------------------------------------------------------------------------------


async def test_a_foreign_rule_added_mid_step_is_folded_in_and_led_too(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    added = {"match": [{"uri": {"prefix": "/new"}}], "route": [{"destination": {"host": "web"}}]}
    server.edit(*VS, lambda edited: edited["spec"]["http"].insert(1, copy.deepcopy(added)))
    seen = state(server)
    assert (seen.touched, seen.edited) == (False, True)
    assert await routes.ensure(plan(ONE)) == Done(wrote=True)
    assert [len(rule["route"]) for rule in server.spec(*VS)["http"]] == [1, 2, 2]
    assert added in json.loads(server.annotations(*VS)[names.ORIGINAL_SPEC])["spec"]["http"]
    assert not state(server).edited


async def test_what_was_written_over_our_part_is_put_back(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))

    def meddle(edited: dict[str, Any]) -> None:
        edited["spec"]["http"][1]["route"][0]["weight"] = 100
        edited["metadata"]["managedFields"] = [
            {"manager": "moonshift", "time": "2026-01-01T00:00:09Z"},
            {"manager": "argocd", "time": "2026-01-01T00:00:05Z"},
        ]

    server.edit(*VS, meddle)
    seen = state(server)
    assert (seen.touched, seen.editor) == (True, "argocd")
    assert await routes.ensure(plan(ONE)) == Done(wrote=True)
    assert weights(server) == [80, 20]
    assert not state(server).touched


async def test_a_manifest_applied_over_the_routes_is_put_back(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    server.edit(*VS, lambda edited: edited.update(spec=rules()))
    assert state(server).touched
    await routes.ensure(plan(ONE))
    assert weights(server) == [80, 20]


async def test_what_cannot_be_told_apart_holds_the_release(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))

    def meddle(edited: dict[str, Any]) -> None:
        edited["spec"]["http"][1]["route"][1:] = [
            {"destination": {"host": "x"}, "weight": 1},
            {"destination": {"host": "y"}, "weight": 2},
        ]
        edited["metadata"]["managedFields"] = [{"manager": "eve", "time": "2026-01-01T00:00:00Z"}]

    server.edit(*VS, meddle)
    refusal = await refused(routes)
    assert refusal.reason == "AmbiguousChange"
    assert "by eve" in refusal.message


async def test_defaults_of_the_server_in_what_we_wrote_need_no_second_write(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    def default(stored: dict[str, Any]) -> None:
        for rule in stored["spec"]["http"]:
            for entry in rule["route"]:
                if entry["destination"]["host"] == "web-canary":
                    entry["destination"]["port"] = {"number": 80}

    server.on_store = default
    await routes.ensure(plan(ONE))
    seen = state(server)
    assert (seen.touched, seen.edited, len(server.writes)) == (False, False, 1)
    assert await routes.ensure(plan(ONE)) == Done(wrote=False)
    server.on_store = None
    await routes.restore(RestoreRoutes("demo", ONE, "r1"))
    assert server.spec(*VS) == rules()


async def test_a_server_that_changes_what_it_is_given_is_recorded_and_settles(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    before = server.content(*VS)

    def normalise(stored: dict[str, Any]) -> None:
        if len(stored["spec"]["http"][1]["route"]) == 2:
            stored["spec"]["http"][1]["route"][1]["weight"] = 21
            stored["spec"]["http"][1]["timeout"] = "15s"

    server.on_store = normalise
    assert await routes.ensure(plan(ONE)) == Done(wrote=True)
    assert len(server.writes) == 2
    assert await routes.ensure(plan(ONE)) == Done(wrote=False)
    await routes.restore(RestoreRoutes("demo", ONE, "r1"))
    assert server.content(*VS) == before


async def test_a_server_that_keeps_nothing_of_the_change_is_reported(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    server.on_store = lambda stored: stored.update(spec=rules())
    assert (await refused(routes)).reason == "ChangeNotKept"


async def test_a_conflict_on_the_second_write_is_met_by_the_next_pass(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    def normalise(stored: dict[str, Any]) -> None:
        stored["spec"]["http"][1]["route"][-1]["weight"] = 21
        server.before_write = lambda edited: edited["metadata"].update(labels={"x": "y"})

    server.on_store = normalise
    assert isinstance(await routes.ensure(plan(ONE)), NotYet)
    server.before_write = None
    assert state(server).touched


async def test_a_release_of_the_original_controller_is_taken_over(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    stored = json.dumps({"spec": rules(), "annotations": {"team": "a"}}, separators=(",", ":"))

    def as_the_original(edited: dict[str, Any]) -> None:
        edited["metadata"]["annotations"][names.ORIGINAL_SPEC] = stored
        edited["spec"]["http"][1]["route"][0]["weight"] = 95

    before = server.content(*VS)
    server.edit(*VS, as_the_original)
    assert state(server).in_use
    assert await routes.ensure(plan(ONE)) == Done(wrote=True)
    assert weights(server) == [80, 20]
    await routes.restore(RestoreRoutes("demo", ONE, "r1"))
    assert server.content(*VS) == before


# --- drift ----------------------------------------------------------------------------------------


def to_99(obj: Any) -> None:
    obj["spec"]["http"][-1]["route"][1]["weight"] = 99


async def test_what_was_put_back_and_when_is_on_the_object(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    server.edit(*VS, to_99)
    seen = state(server)
    assert seen.changes == ("spec.http[1].route[1].weight from 20 to 99",)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert await routes.ensure(plan(ONE), at) == Done(wrote=True)
    assert weights(server) == [80, 20]
    after = state(server)
    assert (after.corrected, after.corrected_at) == (seen.places, at)
    assert await routes.ensure(plan(ONE, "40%")) == Done(wrote=True)
    assert state(server).corrected_at == at


async def test_a_change_that_its_owner_wants_left_is_left(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    server.edit(*VS, to_99)
    server.edit(*VS, lambda obj: obj["metadata"]["annotations"].update({names.DRIFT: "hold"}))
    refusal = await refused(routes)
    assert refusal.reason == "RouteHeld"
    assert "from 20 to 99" in refusal.message
    assert weights(server) == [80, 99]


# --- announcements --------------------------------------------------------------------------------


async def test_only_objects_whose_script_asks_for_it_name_a_service_without_a_share(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("VirtualService", split, "--@announce")
    assert await routes.ensure(announcement(plan(BOTH))) == Done(wrote=True)
    assert server.writes == ["VirtualService/web"]
    assert weights(server) == [100, 0]
    assert scripts.asked[-1]["announce"] is True
    assert state(server).announced
    assert await routes.ensure(announcement(plan(BOTH))) == Done()
    assert await routes.ensure(plan(BOTH)) == Done(wrote=True)
    assert "announce" not in scripts.asked[-1]
    assert state(server).announced


async def test_nothing_is_read_where_no_script_asks_for_an_announcement(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    assert await routes.ensure(announcement(plan(ONE))) == Done()
    assert server.writes == []


async def test_an_announcement_that_fails_keeps_nobody_waiting(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("VirtualService", Refused("RUNTIME_ERROR", "no"), "--@announce")
    assert await routes.ensure(announcement(plan(ONE))) == Done()
    assert server.writes == []


async def test_a_rollout_of_the_same_name_elsewhere_is_another_one(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    raw = json.dumps(server.objects[VS]).encode()
    seen = see_route(ONE[0], raw, rollout="web", namespace="other")
    assert isinstance(seen, RouteUnreadable)
    assert "in use by Rollout demo/web" in seen.message
    assert isinstance(see_route(ONE[0], raw, rollout="web", namespace="demo"), RoutePresent)
