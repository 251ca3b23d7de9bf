"""The pin of a Service: who owns its fields afterwards."""

from collections.abc import Mapping

import msgspec
import pytest
from msgspec import structs

from controller.api import names
from controller.api.meta import Key
from controller.api.names import FIELD_MANAGER, POD_TEMPLATE_HASH
from controller.domain.decision import (
    Done,
    EnsureCanaryService,
    PinService,
    Refusal,
    UnpinService,
)
from controller.effects import services
from controller.effects.kept_answers import KEPT, KeptAnswers
from controller.effects.writes import Writes
from controller.errors import Conflict, ServerFault
from controller.kube.resources import SERVICES, Resource
from tests.component.effects.api_double import ApiDouble, LedgerDouble, Object

KEY = Key("shop", "web")
PIN = PinService(KEY, "1", POD_TEMPLATE_HASH, "abc")
UNPIN = UnpinService(KEY, "1", POD_TEMPLATE_HASH)


class Owned(ApiDouble):
    """Records field managers as the API server does: the writer of each patch in addition to earlier managers."""

    down = False
    """Every JSON patch fails."""
    read = 0
    """How often the stable Service was read."""

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        self.read += name == "web"
        return await super().get(resource, namespace, name)

    def on_json_patch(self, subresource: str) -> None:
        if self.down:
            raise ServerFault("down", status=500)

    async def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, object],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes:
        metadata = _part(patch, "metadata")
        metadata.pop("resourceVersion", None)
        changes = {**patch, "metadata": metadata}
        answer = await super().merge_patch(resource, namespace, name, changes)
        found = self.one(resource, name)
        entries = [e for e in found["metadata"]["managedFields"] if e["manager"] != FIELD_MANAGER]
        entries.append({"manager": FIELD_MANAGER, "operation": "Update"})
        found["metadata"]["managedFields"] = entries
        stored: Object = msgspec.json.decode(answer)
        stored["metadata"]["managedFields"] = entries
        return msgspec.json.encode(stored)


def _part(patch: Mapping[str, object], name: str) -> Object:
    found = patch.get(name)
    return dict(found) if isinstance(found, dict) else {}


def service(*entries: Object) -> Owned:
    api = Owned()
    metadata = {"name": "web", "namespace": "shop", "managedFields": list(entries)}
    api.put(SERVICES, {"metadata": metadata, "spec": {"selector": {"app": "web"}}})
    return api


def managers(api: Owned) -> list[str]:
    return [entry["manager"] for entry in api.one(SERVICES, "web")["metadata"]["managedFields"]]


@pytest.mark.parametrize("operation", ["Apply", "Update"])
async def test_nothing_of_a_service_is_ours_once_the_pin_is_off(operation: str) -> None:
    api = service({"manager": "owner", "operation": operation})
    await services.pin(Writes(api, LedgerDouble()), PIN)
    await services.unpin(Writes(api, LedgerDouble()), UNPIN)
    assert managers(api) == ["owner"]
    assert api.one(SERVICES, "web")["spec"]["selector"] == {"app": "web"}


async def test_a_service_keeps_its_mark_until_no_part_of_the_service_is_ours() -> None:
    api = service({"manager": "owner", "operation": "Apply"})
    await services.pin(Writes(api, LedgerDouble()), PIN)
    api.down = True
    with pytest.raises(ServerFault):
        await services.unpin(Writes(api, LedgerDouble()), UNPIN)
    api.down = False
    assert names.PINNED in api.one(SERVICES, "web")["metadata"]["labels"]
    await services.unpin(Writes(api, LedgerDouble()), UNPIN)
    assert managers(api) == ["owner"]
    assert not api.one(SERVICES, "web")["metadata"].get("labels")


async def test_a_pin_causes_no_conflict_for_server_side_apply() -> None:
    api = service({"manager": "owner", "operation": "Apply"})
    await services.pin(Writes(api, LedgerDouble()), PIN)
    assert managers(api) == ["owner"]
    assert api.one(SERVICES, "web")["spec"]["selector"][POD_TEMPLATE_HASH] == "abc"


async def test_a_pin_costs_one_write_where_nobody_does() -> None:
    api = service({"manager": "owner", "operation": "Update"})
    await services.pin(Writes(api, LedgerDouble()), PIN)
    assert api.writes == []


COPY = EnsureCanaryService(KEY, "web-canary", POD_TEMPLATE_HASH, "def", "uid-of-the-rollout")


def version(api: Owned) -> str:
    return str(api.one(SERVICES, "web")["metadata"]["resourceVersion"])


@pytest.mark.parametrize("changed", [False, True], ids=["as it was pinned", "changed since"])
async def test_a_service_is_read_for_its_copy_only_if_it_changed_since_its_pin(
    changed: bool,
) -> None:
    api = service({"manager": "owner", "operation": "Update"})
    answers = KeptAnswers().of(KEY)
    await services.pin(Writes(api, LedgerDouble(), answers), PIN)
    if changed:
        found = {**api.one(SERVICES, "web"), "spec": {"selector": {"app": "other"}}}
        api.put(SERVICES, found)
    copy = structs.replace(COPY, stable_version=version(api))
    await services.ensure_canary(Writes(api, LedgerDouble(), answers), copy)
    app = api.one(SERVICES, "web-canary")["spec"]["selector"]["app"]
    assert (api.read, app) == ((1, "other") if changed else (0, "web"))


def test_the_memory_of_answers_is_bounded() -> None:
    answers = KeptAnswers().of(KEY)
    for number in range(KEPT + 1):
        answers.keep(SERVICES, Key("shop", f"web-{number}"), "1", b"{}")
    assert answers.take(SERVICES, Key("shop", "web-0"), "1") is None
    last = Key("shop", f"web-{KEPT}")
    assert answers.take(SERVICES, last, "1") == b"{}"
    assert answers.take(SERVICES, last, "1") is None, "an answer is used once"


def test_an_answer_takes_the_place_of_an_older_one_about_its_object() -> None:
    answers = KeptAnswers().of(KEY)
    answers.keep(SERVICES, KEY, "1", b"{}")
    answers.keep(SERVICES, KEY, "2", b"{}")
    assert answers.take(SERVICES, KEY, "1") is None
    assert answers.take(SERVICES, KEY, "2") == b"{}"


def test_the_answers_of_a_rollout_that_is_gone_are_forgotten() -> None:
    answers, other = KeptAnswers(), Key("shop", "other")
    for owner in (KEY, other):
        answers.of(owner).keep(SERVICES, KEY, "1", b"{}")
    answers.forget(KEY)
    assert answers.of(KEY).take(SERVICES, KEY, "1") is None
    assert answers.of(other).take(SERVICES, KEY, "1") == b"{}"


async def test_a_pin_is_not_written_over_a_service_that_changed_since() -> None:
    api = ApiDouble()
    stored = api.put(SERVICES, {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}})
    seen = structs.replace(PIN, resource_version=stored["metadata"]["resourceVersion"])
    api.put(SERVICES, {**stored, "spec": {"selector": {"app": "other"}}})
    with pytest.raises(Conflict):
        await services.pin(Writes(api, LedgerDouble()), seen)
    assert api.one(SERVICES, "web")["spec"]["selector"] == {"app": "other"}


async def test_a_namesake_of_the_canary_service_is_left_and_named() -> None:
    api = service()
    api.put(SERVICES, {"metadata": {"name": "web-canary"}, "spec": {"selector": {"app": "theirs"}}})
    outcome = await services.ensure_canary(Writes(api, LedgerDouble()), COPY)
    assert isinstance(outcome, Refusal)
    assert outcome.object == "Service shop/web-canary"
    assert api.one(SERVICES, "web-canary")["spec"]["selector"] == {"app": "theirs"}


async def test_the_canary_service_of_another_release_is_not_reported_as_an_obstacle() -> None:
    api = service()
    metadata = {"name": "web-canary", "annotations": {names.ROLLOUT_UID: "another"}}
    api.put(SERVICES, {"metadata": metadata, "spec": {"selector": {"app": "theirs"}}})
    outcome = await services.ensure_canary(Writes(api, LedgerDouble()), COPY)
    assert isinstance(outcome, Refusal)
    assert "remove" not in outcome.message, "that release needs it"
    assert "wait until that release ends" in outcome.message


async def test_the_canary_service_follows_the_ports_of_the_stable_one() -> None:
    api = service()
    stable = api.one(SERVICES, "web")
    old, new = [{"port": 80}], [{"port": 80, "targetPort": 8080, "nodePort": 30080}]
    api.put(SERVICES, {**stable, "spec": {**stable["spec"], "ports": new}})
    metadata = {"name": COPY.name, "annotations": {names.ROLLOUT_UID: COPY.rollout_uid}}
    selector = {"app": "web", COPY.label: COPY.revision}
    api.put(SERVICES, {"metadata": metadata, "spec": {"selector": selector, "ports": old}})
    writes = Writes(api, LedgerDouble())
    assert await services.ensure_canary(writes, COPY) == Done(wrote=True)
    assert api.one(SERVICES, COPY.name)["spec"] == {
        "selector": selector,
        "ports": [{"port": 80, "targetPort": 8080}],
    }
    assert await services.ensure_canary(writes, COPY) == Done()
