"""Routes while others write the same objects, and while proxies learn of Services from them."""

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from controller.api import names
from controller.domain.decision import Done, NotYet, RestoreRoutes
from controller.domain.observation import RoutePresent, RouteUnreadable
from controller.domain.traffic.drift.object_state import see_route
from controller.domain.traffic.plan.traffic_plan import announcement
from controller.effects.gateways import GatewayRoutes
from controller.scripts.script_outcome import Refused

from .leading import BOTH, ONE, VS, refused, rules, state, weights
from .world import ObjectServer, Scripts, plan, split

# --- drift ----------------------------------------------------------------------------------------


async def test_a_foreign_rule_added_during_a_step_becomes_part_of_the_original_and_is_routed_too(
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


async def test_an_overwritten_part_of_ours_is_put_back(
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


async def test_a_change_that_cannot_be_separated_from_ours_holds_the_release(
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


async def test_defaults_that_the_server_adds_to_our_content_need_no_second_write(
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


async def test_a_server_that_changes_written_objects_is_recorded_and_settles(
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


def to_99(obj: Any) -> None:
    obj["spec"]["http"][-1]["route"][1]["weight"] = 99


async def test_the_object_records_each_put_back_with_its_time(
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
    server.edit(*VS, to_99)
    later = at + timedelta(seconds=20)
    assert await routes.ensure(plan(ONE, "40%"), later) == Done(wrote=True)
    after = state(server)
    assert (after.corrected_at, after.corrected_before) == (later, at)


async def test_a_change_is_kept_if_its_owner_asks_for_that(
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


async def test_only_objects_whose_script_announces_name_a_service_without_a_share(
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


async def test_a_failed_announcement_delays_nothing(
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


async def test_a_copy_of_an_object_in_another_namespace_follows_the_rollout_beside_it(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    server.edit(*VS, lambda obj: obj["metadata"].update({"namespace": "copied"}))
    raw = json.dumps(server.objects[VS]).encode()
    seen = see_route(ONE[0], raw, rollout="web", namespace="copied")
    assert isinstance(seen, RoutePresent)
    assert seen.in_use
    assert isinstance(see_route(ONE[0], raw, rollout="shop", namespace="copied"), RouteUnreadable)
