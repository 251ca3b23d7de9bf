"""The controller's own writes pass its own webhooks, under any user name; nobody else's do."""

from datetime import UTC, datetime

import pytest

from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import MUTATING_CONFIGURATION
from controller.certificates.identity import OVERLAP, Identity, expression, passing
from controller.certificates.publish import MUTATING, Address, Publisher
from controller.errors import Forbidden
from tests.component.certificates.doubles import SERVED, Configurations, configuration

START = datetime(2026, 1, 1, tzinfo=UTC)
PATH = "/mutate-apps-v1-deployment"
OLD = "request.userInfo.username != 'system:serviceaccount:kruise-rollout:manager'"
LABELLED: JsonObject = {"name": "still-labelled", "expression": "true"}


def named(user: str) -> Identity:
    async def ask() -> str:
        return user

    return Identity(ask)


def expression_of(entry: JsonObject) -> str:
    (found,) = [
        text(one, "expression")
        for one in items(entry, "matchConditions")
        if text(one, "name") == "not-by-moonshift"
    ]
    return found


class Installed(Configurations):
    """Configurations with one entry, whose match conditions are as installed."""

    def __init__(self, *conditions: JsonObject) -> None:
        super().__init__()
        found = configuration(MUTATING, MUTATING_CONFIGURATION, PATH)
        entry = {**child(items(found, "webhooks")[0]), "matchConditions": [*conditions]}
        self.kept[MUTATING, MUTATING_CONFIGURATION] = {**found, "webhooks": [entry]}

    @property
    def entry(self) -> JsonObject:
        return child(items(self.kept[MUTATING, MUTATING_CONFIGURATION], "webhooks")[0])


async def published(store: Installed, *users: str) -> str:
    """The published expression after one round of each replica with these identities, one after the other."""
    for user in users:
        await Publisher(store, Address(), SERVED, named(user)).publish(b"ca", START)
    return expression_of(store.entry)


async def test_the_name_that_the_api_server_knows_us_by_is_published() -> None:
    before: JsonObject = {"name": "not-by-moonshift", "expression": OLD}
    store = Installed(before, LABELLED)
    assert "in ['jane', 'system:serviceaccount:kruise-rollout:manager']" in await published(
        store, "jane"
    )
    assert items(store.entry, "matchConditions")[1] == LABELLED


async def test_a_condition_that_somebody_took_out_comes_back() -> None:
    store = Installed(LABELLED)
    assert await published(store, "jane") == expression(("jane",))


async def test_two_replicas_of_one_account_write_once() -> None:
    store = Installed()
    await published(store, "jane")
    writes = len(store.writes)
    await published(store, "jane", "jane")
    assert len(store.writes) == writes


async def test_replicas_of_two_accounts_do_not_undo_each_other() -> None:
    store = Installed()
    assert await published(store, "old", "new") == expression(("new", "old"))
    assert await published(store, "old", "new", "old") == expression(("new", "old"))
    assert await published(store, "third") == expression(("third", "new"))


async def test_the_account_before_is_dropped_by_a_later_round() -> None:
    store = Installed()
    await published(store, "old")
    publisher = Publisher(store, Address(), SERVED, named("new"))
    await publisher.publish(b"ca", START)
    assert expression_of(store.entry) == expression(("new", "old"))
    await publisher.publish(b"ca", START + OVERLAP)
    assert expression_of(store.entry) == expression(("new",))


@pytest.mark.parametrize("user", ["o'hara", "back\\slash", "a', 'b"])
def test_a_name_with_quotes_is_one_name(user: str) -> None:
    once = passing({}, user, alone=False)
    assert passing(once, user, alone=False) == once
    assert passing(once, "b", alone=False) != once


async def test_nothing_is_published_before_the_controller_knows_its_user_name() -> None:
    async def refused() -> str:
        raise Forbidden("no selfsubjectreviews for you", status=403)

    store = Installed()
    with pytest.raises(Forbidden):
        await Publisher(store, Address(), SERVED, Identity(refused)).publish(b"ca", START)
    assert store.writes == []


async def test_the_same_person_with_kubectl_is_not_the_controller() -> None:
    identity = named("jane")
    assert not identity.is_own("", "moonshift")
    await identity.known()
    assert identity.is_own("jane", "moonshift")
    assert not identity.is_own("jane", "kubectl-client-side-apply")
    assert not identity.is_own("joe", "moonshift")


async def test_a_manifest_that_is_applied_again_costs_our_name_for_a_moment_only() -> None:
    store = Installed()
    publisher = Publisher(store, Address(), SERVED, named("jane"))
    await publisher.publish(b"ca", START)
    published = store.entry
    stale = {**published, "matchConditions": [{"name": "not-by-moonshift", "expression": OLD}]}
    whole = store.kept[MUTATING, MUTATING_CONFIGURATION]
    theirs = {"name": "newer", "clientConfig": {"service": {"path": "/newer"}}}
    store.kept[MUTATING, MUTATING_CONFIGURATION] = {**whole, "webhooks": [stale, theirs]}
    writes = len(store.writes)
    await publisher.let_pass()
    assert "'jane'" in expression_of(store.entry)
    assert store.entry["clientConfig"] == published["clientConfig"]
    assert items(store.kept[MUTATING, MUTATING_CONFIGURATION], "webhooks")[1] == theirs
    await publisher.let_pass()
    assert len(store.writes) == writes + 1


async def test_another_address_is_no_reason_to_write() -> None:
    store = Installed()
    await Publisher(store, Address(url="https://here:1"), SERVED, named("jane")).publish(
        b"ca", START
    )
    writes = len(store.writes)
    await Publisher(store, Address(url="https://there:1"), SERVED, named("jane")).let_pass()
    assert len(store.writes) == writes
