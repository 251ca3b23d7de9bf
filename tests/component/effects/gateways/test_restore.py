"""RestoreRoutes: everything as it was, in reverse order, without scripts."""

import json
from typing import Any

import msgspec
import pytest

from controller.api import names
from controller.domain.decision import Done, NotYet, Refusal, RestoreRoutes
from controller.domain.traffic.plan.traffic_plan import announcement
from controller.effects.gateways import GatewayRoutes
from controller.errors import ServerFault

from . import world
from .leading import BOTH, DR, ONE, VS, led, rules, state
from .world import ObjectServer, Scripts, plan

ALL = RestoreRoutes("demo", BOTH, "r1", "web")


async def test_objects_come_back_byte_for_byte_in_reverse_order(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    before = {key: server.content(*key) for key in (VS, DR)}
    for traffic in ("20%", "50%", "100%"):
        await led(routes, plan(BOTH, traffic))
    server.writes.clear()
    assert await routes.restore(ALL) == Done(wrote=True)
    assert server.writes == ["VirtualService/web", "DestinationRule/web"]
    assert {key: server.content(*key) for key in (VS, DR)} == before


async def test_each_record_says_how_deep_its_object_is(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, plan(BOTH))
    assert [state(server, reference).depth for reference in BOTH] == [0, 1]


async def test_an_object_that_another_one_names_is_restored_on_request(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, plan(BOTH))
    server.writes.clear()
    pointing, pointed_at = (
        msgspec.structs.replace(ALL, references=(reference,)) for reference in BOTH
    )
    assert await routes.restore(pointing) == Done(wrote=True)
    assert state(server, BOTH[1]).in_use
    assert await routes.restore(pointed_at) == Done(wrote=True)
    assert server.writes == ["VirtualService/web", "DestinationRule/web"]


async def test_an_announcement_knows_how_deep_an_object_is_among_all(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("DestinationRule", scripts.functions["DestinationRule"], "--@announce")
    await routes.ensure(announcement(plan(BOTH)))
    assert server.writes == ["DestinationRule/web"]
    assert state(server, BOTH[1]).depth == 1


async def test_restoring_twice_writes_once(server: ObjectServer, routes: GatewayRoutes) -> None:
    await led(routes, plan(BOTH))
    await routes.restore(ALL)
    server.writes.clear()
    assert await routes.restore(ALL) == Done(wrote=False)
    assert server.writes == []


async def test_a_restore_that_was_cut_off_before_the_marks_went_goes_on(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    before = server.content(*VS)
    await routes.ensure(plan(ONE))
    server.cut_off = True
    assert isinstance(await routes.restore(ALL), NotYet)
    assert {k: v for k, v in server.content(*VS).items() if k == "spec"} == {"spec": before["spec"]}
    assert state(server, ONE[0]).in_use
    server.cut_off = False
    server.writes.clear()
    assert await routes.restore(ALL) == Done(wrote=True)
    assert server.content(*VS) == before
    assert server.writes == [], "the content is there already: only the marks go"


async def test_no_script_and_no_worker_is_needed(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    await led(routes, plan(BOTH))
    scripts.functions.clear()
    scripts.available = False
    assert await routes.restore(ALL) == Done(wrote=True)
    assert server.spec(*VS) == rules()


async def test_the_changes_of_others_survive_restoring(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))

    def meddle(edited: dict[str, Any]) -> None:
        edited["metadata"]["labels"] = {"new": "label"}
        edited["spec"]["hosts"].append("two.example.com")
        edited["spec"]["http"][1]["timeout"] = "3s"

    server.edit(*VS, meddle)
    await routes.restore(RestoreRoutes("demo", ONE, "r1"))
    wanted = rules()
    wanted["hosts"].append("two.example.com")
    wanted["http"][1]["timeout"] = "3s"
    assert server.spec(*VS) == wanted
    assert server.objects[VS]["metadata"]["labels"] == {"new": "label"}
    assert not world.ours(server.annotations(*VS))


async def test_missing_objects_are_skipped(server: ObjectServer, routes: GatewayRoutes) -> None:
    await led(routes, plan(BOTH))
    del server.objects[VS]
    assert await routes.restore(ALL) == Done(wrote=True)
    assert not world.ours(server.annotations(*DR))


async def test_an_object_deleted_meanwhile_counts_as_restored(
    server: ObjectServer, routes: GatewayRoutes, monkeypatch: pytest.MonkeyPatch
) -> None:
    await routes.ensure(plan(ONE))
    read = server.read

    async def read_then_delete(*args: Any) -> bytes:
        raw = await read(*args)
        del server.objects[VS]
        return raw

    monkeypatch.setattr(server, "read", read_then_delete)
    assert isinstance(await routes.restore(RestoreRoutes("demo", ONE, "r1")), Done)


@pytest.mark.parametrize("key", [names.ORIGINAL_SPEC, names.ROUTE_STATE])
async def test_a_damaged_original_is_never_written(
    server: ObjectServer, routes: GatewayRoutes, key: str
) -> None:
    await routes.ensure(plan(ONE))
    server.edit(*VS, lambda edited: edited["metadata"]["annotations"].update({key: '{"spec":{}}'}))
    server.writes.clear()
    for outcome in (await routes.restore(ALL), await routes.ensure(plan(ONE, "30%"))):
        assert isinstance(outcome, Refusal)
        assert outcome.reason == "OriginalCorrupt"
        assert outcome.object == "VirtualService demo/web"
        assert names.ORIGINAL_SPEC in outcome.message
        assert names.ROUTE_STATE in outcome.message
    assert server.writes == []


async def test_removing_both_annotations_by_hand_is_the_way_out(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE))
    server.edit(*VS, lambda edited: edited["metadata"].pop("annotations"))
    assert await routes.restore(RestoreRoutes("demo", ONE, "r1")) == Done(wrote=False)


async def test_nothing_below_an_object_that_could_not_be_restored_is_restored(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, plan(BOTH))
    server.writes.clear()
    server.before_write = lambda edited: edited["metadata"].update(labels={"by": "x"})
    assert isinstance(await routes.restore(ALL), NotYet)
    assert server.writes == []
    assert await routes.restore(ALL) == Done(wrote=True)
    assert server.writes == ["VirtualService/web", "DestinationRule/web"]
    assert server.objects[VS]["metadata"]["labels"] == {"by": "x"}


async def test_a_missing_right_is_reported(server: ObjectServer, routes: GatewayRoutes) -> None:
    await routes.ensure(plan(ONE))
    server.forbidden.add(("get", "VirtualService"))
    outcome = await routes.restore(ALL)
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "Forbidden"


async def test_an_object_of_another_rollout_is_not_restored(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(plan(ONE, rollout="other"))
    server.writes.clear()
    assert await routes.restore(ALL) == Done(wrote=False)
    assert json.dumps(server.annotations(*VS)).count(names.ORIGINAL_SPEC) == 1


async def test_a_fault_of_the_server_is_raised_not_judged(
    server: ObjectServer, routes: GatewayRoutes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> bytes:
        raise ServerFault("etcd is away", status=503)

    monkeypatch.setattr(server, "read", fail)
    with pytest.raises(ServerFault):
        await routes.restore(ALL)
