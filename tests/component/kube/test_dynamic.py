"""Kinds appear, disappear, change their version or may not be read. An unknown state never counts as an empty list."""

import asyncio
from random import Random

import msgspec
import pytest

from controller.api import names
from controller.api.meta import Key
from controller.domain.availability import Failing, Forbidden, Loading, NotServed, Synced
from controller.kube.crds import CustomResources
from controller.kube.dynamic import BOUNDS, DynamicKinds
from controller.kube.kind_watch import LATEST, RawObject
from controller.kube.reflector import PROBE, STALE
from tests.component.kube.faulty_server import answering, connected, status, thing
from tests.component.kube.reflecting import settled
from tests.component.kube.serving_kinds import CRD, CRDS, DEEP, GROUP, LANE, Kinds, watching
from tests.component.runtime.virtual_time import virtual_time

WEB = Key("shop", "web")
API = Key("shop", "api")
OBJECT = Key("shop", "a")


def api_version_of(kinds: DynamicKinds) -> str:
    found = kinds.find(LANE, OBJECT)
    assert isinstance(found, RawObject)
    return bytes(found.raw).decode().partition('"apiVersion": "')[2].partition('"')[0]


@virtual_time
async def test_a_kind_is_looked_up_and_listed_when_somebody_holds_it() -> None:
    served = Kinds("v1")
    async with watching(served) as (kinds, notified):
        await settled(3600)
        assert served.paths == []
        kinds.keep_watched(WEB, [LANE])
        assert isinstance(kinds.availability(LANE), Loading)
        assert isinstance(kinds.find(LANE, OBJECT), Loading)
        assert isinstance(kinds.every(LANE, "shop"), Loading)
        assert isinstance(kinds.made_for(LANE, "shop", "uid"), Loading)
        await settled(1)
        assert notified.owners == [WEB]
        assert isinstance(kinds.availability(LANE), Synced)
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)
        assert kinds.find(LANE, Key("shop", "b")) is None


@virtual_time
async def test_an_item_of_a_list_has_its_kind_although_the_server_leaves_it_out() -> None:
    served = Kinds("v1")
    served.names_kinds_in_lists = False
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        found = kinds.find(LANE, OBJECT)
        assert isinstance(found, RawObject)
        whole = msgspec.json.decode(found.raw)
        assert (whole["apiVersion"], whole["kind"]) == LANE
        assert whole["metadata"]["name"] == "a"


@virtual_time
async def test_no_request_is_sent_at_rest() -> None:
    served = Kinds("v1")
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        mark = len(served.paths)
        await settled(280)
        assert served.paths[mark:] == []


@virtual_time
async def test_a_forbidden_kind_is_never_empty_and_wakes_all_when_granted() -> None:
    served = Kinds("v1")
    served.may_list = False
    async with watching(served) as (kinds, notified):
        for owner in (WEB, API):
            kinds.keep_watched(owner, [LANE])
        await settled(60)
        for answer in (kinds.find(LANE, OBJECT), kinds.every(LANE, "shop")):
            assert isinstance(answer, Forbidden)
            assert "you cannot list them" in answer.message
        mark = len(served.lists)
        await settled(10 * PROBE)
        assert 9 <= len(served.lists) - mark <= 15, "one probe for all, every eight seconds"
        notified.owners.clear()
        served.may_list = True
        await settled(PROBE)
        assert sorted(notified.owners) == [API, WEB]
        assert isinstance(kinds.every(LANE, "shop"), tuple)


@virtual_time
async def test_a_kind_that_is_not_served_costs_nothing_while_crds_are_watched_and_is_found_at_once() -> (
    None
):
    served = Kinds(declared=False)
    async with watching(served) as (kinds, notified):
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        assert isinstance(kinds.find(LANE, OBJECT), NotServed)
        await settled(600)
        mark = len(served.paths)
        await settled(600)
        assert len(served.paths) - mark <= 3 * 600 / (0.75 * LATEST)
        notified.owners.clear()
        served.serve("v1")
        await settled(1)
        assert notified.owners == [WEB]
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)


@virtual_time
async def test_without_the_right_to_read_crds_a_kind_is_found_by_discovery_within_ten_seconds() -> (
    None
):
    served = Kinds(declared=False)
    served.may_read_crds = False
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(600)
        assert isinstance(kinds.find(LANE, OBJECT), NotServed)
        served.versions = ["v1"]
        await settled(PROBE)
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)
        mark = len(served.paths)
        await settled(280)
        assert served.paths[mark:] == []


@virtual_time
async def test_a_kind_that_changes_its_version_is_listed_in_the_one_that_is_left() -> None:
    served = Kinds("v1", "v1beta1")
    async with watching(served) as (kinds, notified):
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        assert api_version_of(kinds) == f"{GROUP}/v1"
        served.serve("v1beta1")
        await settled(2)
        assert api_version_of(kinds) == f"{GROUP}/v1beta1"
        resource = kinds.resource(LANE)
        assert resource is not None
        assert resource.version == "v1beta1"
        assert notified.followed == [CRD], (
            "the store of the version that went is followed no longer"
        )


@virtual_time
async def test_a_crd_that_serves_no_version_for_a_while_is_failing_and_not_gone() -> None:
    served = Kinds("v1")
    async with watching(served) as (kinds, notified):
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        served.serve()
        await settled(STALE)
        found = kinds.find(LANE, OBJECT)
        assert isinstance(found, Failing)
        assert f"CRD {CRD} declares it" in found.message
        notified.owners.clear()
        served.serve("v1")
        await settled(1)
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)
        assert notified.owners[-1] == WEB


@virtual_time
async def test_a_crd_that_may_be_read_from_now_on_is_known_to_declare_its_kind() -> None:
    served = Kinds(declared=True)
    served.may_get_crds = False
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(10)
        assert isinstance(kinds.find(LANE, OBJECT), NotServed)
        served.may_get_crds = True
        await settled(2 * LATEST)
        found = kinds.find(LANE, OBJECT)
        assert isinstance(found, Failing)
        assert f"CRD {CRD} declares it" in found.message


@virtual_time
async def test_a_watch_of_crds_that_fails_is_not_missed() -> None:
    served = Kinds("v1")

    def broken(group: str) -> None:
        raise ZeroDivisionError(group)

    async with served.server.running(), connected(served.server) as client:
        crds = CustomResources(client, broken, Random(1))
        crds.ask()
        with pytest.raises(ExceptionGroup) as caught:
            await asyncio.wait_for(crds.run(), 60)
        assert caught.value.subgroup(ZeroDivisionError)
        assert not crds.watching


@virtual_time
async def test_an_object_that_is_nested_too_deeply_is_unknown_and_hides_no_other() -> None:
    served = Kinds("v1")
    served.objects.append(thing("deep", "6") | {"spec": DEEP})
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        assert isinstance(kinds.availability(LANE), Synced)
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)
        found = kinds.find(LANE, Key("shop", "deep"))
        assert found == Failing("Lane shop/deep cannot be read: it is nested too deeply")
        assert kinds.every(LANE, "shop") == found, "it may be the one that matters"
        assert kinds.every(LANE, "elsewhere") == ()
        assert kinds.made_for(LANE, "shop", "uid-of-web") == (), "it was not made for web"


@virtual_time
async def test_a_companion_that_is_nested_too_deeply_is_not_missing() -> None:
    served = Kinds("v1")
    made = thing("deep", "6") | {"spec": DEEP}
    made["metadata"]["labels"] = {names.ROLLOUT_UID: "uid-of-web"}
    served.objects.append(made)
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        assert isinstance(kinds.made_for(LANE, "shop", "uid-of-web"), Failing)
        assert kinds.made_for(LANE, "shop", "uid-of-api") == ()


@virtual_time
async def test_the_last_user_of_a_kind_ends_its_watch_and_the_watch_of_crds() -> None:
    served = Kinds("v1")
    async with watching(served) as (kinds, notified):
        kinds.keep_watched(WEB, [LANE])
        kinds.keep_watched(API, [LANE])
        await settled(1)
        kinds.keep_watched(WEB, ())
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)
        kinds.keep_watched(API, ())
        await settled(1)
        assert notified.followed == []
        mark = len(served.server.requests)
        await settled(3600)
        assert served.server.requests[mark:] == []
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)
        assert served.paths.count(CRDS) == 2


@virtual_time
async def test_an_unknown_kind_is_looked_up_no_longer_when_its_rollout_is_gone() -> None:
    served = Kinds(declared=False)
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(60)
        kinds.keep_watched(WEB, ())
        await settled(1)
        mark = len(served.server.requests)
        await settled(3600)
        assert served.server.requests[mark:] == []


@virtual_time
async def test_a_namespace_may_name_a_limited_number_of_kinds_and_more_are_refused_with_a_message() -> (
    None
):
    served = Kinds("v1")
    many = [(f"{GROUP}/v1", f"Kind{number:02}") for number in range(BOUNDS.of_a_namespace)]
    async with watching(served) as (kinds, notified):
        kinds.keep_watched(API, many)
        kinds.keep_watched(WEB, [LANE])
        kinds.keep_watched(Key("other", "web"), [("other.example.com/v1", "Lane")])
        await settled(1)
        refused = kinds.find(LANE, OBJECT)
        assert isinstance(refused, Failing)
        assert f"may name {BOUNDS.of_a_namespace} kinds" in refused.message
        assert served.lists == []
        elsewhere = kinds.availability(("other.example.com/v1", "Lane"))
        assert isinstance(elsewhere, NotServed)
        notified.owners.clear()
        kinds.keep_watched(API, many[1:])
        assert WEB in notified.owners
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)


@pytest.mark.parametrize(
    "written", ["../../api/v1", "..", "gates.example.com/../v1", "a/b/v1", "v1?x=y", "", "/v1"]
)
@virtual_time
async def test_a_malformed_group_and_version_becomes_no_address(written: str) -> None:
    served = Kinds("v1")
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [(written, "Secret")])
        await settled(30)
        assert isinstance(kinds.find((written, "Secret"), OBJECT), NotServed)
        assert set(served.paths) <= {CRDS}


@virtual_time
async def test_a_group_whose_server_talks_nonsense_stops_no_other_kind() -> None:
    served = Kinds("v1")
    respond = served._response

    def confused(path: str) -> tuple[int, object]:
        return (200, b"<html>") if path.startswith("/apis/odd.example.com") else respond(path)

    served._response = confused  # type: ignore[method-assign] # a server that is broken in one group
    odd = ("odd.example.com/v1", "Odd")
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [odd])
        kinds.keep_watched(API, [LANE])
        await settled(1)
        assert isinstance(kinds.availability(odd), Failing)
        assert isinstance(kinds.availability(LANE), Synced)


@virtual_time
async def test_a_record_that_is_nested_too_deeply_stops_nothing() -> None:
    served = Kinds("v1")
    hostile = '{"unknown": ' + "[" * 5000 + "]" * 5000 + "}"
    served.objects = [thing("a", "5", **{names.COMPANION: hostile}), thing("b", "6")]
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(1)
        assert isinstance(kinds.find(LANE, OBJECT), RawObject)
        assert isinstance(kinds.find(LANE, Key("shop", "b")), RawObject)


@virtual_time
async def test_a_kind_that_can_be_listed_and_not_watched_is_not_listed_all_the_time() -> None:
    served = Kinds("v1")
    missing = answering(404, status(404, "NotFound", "no watch"))
    served.server.watches = [missing]
    async with watching(served) as (kinds, _):
        kinds.keep_watched(WEB, [LANE])
        await settled(120)
        assert 5 <= len(served.lists) <= 30
