"""An account that a script acts with is asked about when a reference that names it is new, or says something else."""

import copy

import pytest

from controller.api.conversion import to_v1alpha1
from controller.api.jsontree import JsonObject
from controller.domain.admission.accounts import (
    NamedAccount,
    accounts_of_rollout,
    accounts_of_routing,
)
from tests.unit.domain.admission.test_rollout import edited, raw

PLACE = "customNetworkRefs[0].scriptRef.serviceAccountName"
ROUTER = NamedAccount(f"spec.strategy.canary.trafficRoutings[0].{PLACE}", "router")


def entry(account: str = "router", **reference: object) -> JsonObject:
    """An entry of trafficRoutings whose reference has a script of the namespace."""
    script = {"name": "scripts", "serviceAccountName": account}
    named = {"apiVersion": "a.io/v1", "kind": "Lane", "name": "web", "scriptRef": script}
    return {"service": "web", "customNetworkRefs": [{**named, **reference}]}


def routing(*entries: JsonObject) -> JsonObject:
    """A TrafficRouting."""
    return {"metadata": {"name": "lane"}, "spec": {"objectRef": list(entries)}}


@pytest.mark.parametrize("version", [copy.deepcopy, to_v1alpha1])
def test_a_new_rollout_puts_its_account_to_work_in_either_version(version: object) -> None:
    assert callable(version)
    assert accounts_of_rollout(None, version(raw(trafficRoutings=[entry()]))) == (ROUTER,)


@pytest.mark.parametrize("version", [copy.deepcopy, to_v1alpha1])
def test_a_script_that_a_metric_asks_puts_its_account_to_work(version: object) -> None:
    assert callable(version)
    script = {"name": "scripts", "serviceAccountName": "asker"}
    source = {"script": "datadog", "scriptRef": script}
    without = {"name": "a", "source": {"script": "datadog"}}
    analysis = {"metrics": [without, {"name": "b", "source": source}]}
    place = "spec.strategy.canary.analysis.metrics[1].source.scriptRef.serviceAccountName"
    made = version(raw(analysis=analysis))
    assert accounts_of_rollout(None, made) == (NamedAccount(place, "asker"),)
    assert accounts_of_rollout(made, made) == ()


def test_a_script_that_a_check_asks_puts_its_account_to_work() -> None:
    script = {"name": "scripts", "serviceAccountName": "asker"}
    own = {"name": "b", "script": "http", "scriptRef": script}
    made = raw(checks=[{"name": "a", "script": "http"}, own])
    (found,) = accounts_of_rollout(None, made)
    assert found.account == "asker"
    assert found.path.endswith("checks[1].scriptRef.serviceAccountName")
    assert accounts_of_rollout(made, made) == ()


def test_an_account_is_asked_about_once() -> None:
    several = raw(trafficRoutings=[entry(), entry(name="api"), entry("other", name="else")])
    assert [one.account for one in accounts_of_rollout(None, several)] == ["router", "other"]


def test_an_unchanged_account_is_not_checked_again() -> None:
    before = raw(trafficRoutings=[entry(), {"service": "api", "ingress": {"name": "api"}}])
    assert accounts_of_rollout(before, edited(before, "spec", "strategy", "paused", to=True)) == ()


@pytest.mark.parametrize(
    "after",
    [
        entry("admin"),
        entry(scriptRef={"name": "other", "serviceAccountName": "router"}),
        entry(scriptRef={"name": "scripts", "key": "k", "serviceAccountName": "router"}),
        entry(name="other"),
        entry(kind="Road"),
        entry(params={"a": 1}),
        {**entry(), "service": "other"},
    ],
)
def test_a_reference_that_says_something_else_is_asked_about(after: JsonObject) -> None:
    before = raw(trafficRoutings=[entry()])
    assert len(accounts_of_rollout(before, raw(trafficRoutings=[after]))) == 1
    assert len(accounts_of_routing(routing(entry()), routing(after))) == 1


def test_the_account_of_an_object_under_deletion_is_checked() -> None:
    going = edited(raw(trafficRoutings=[entry()]), "metadata", "deletionTimestamp", to="now")
    assert accounts_of_rollout(raw(), going) == (ROUTER,)


def test_both_strategies_count_though_one_alone_is_valid() -> None:
    both = raw(trafficRoutings=[entry()])
    blue = edited(both, "spec", "strategy", "blueGreen", to={"trafficRoutings": [entry("b")]})
    assert [one.account for one in accounts_of_rollout(None, blue)] == ["router", "b"]


def test_an_unreadable_object_names_no_account() -> None:
    assert accounts_of_rollout(None, edited(raw(), "spec", "strategy", to={"paused": 1})) == ()
    assert accounts_of_rollout(None, {"apiVersion": "rollouts.kruise.io/v9"}) == ()
    assert accounts_of_routing(None, {"spec": {"objectRef": 1}}) == ()


def test_a_reference_to_a_script_of_all_namespaces_uses_no_account() -> None:
    assert accounts_of_rollout(None, raw(trafficRoutings=[entry(scriptRef=None)])) == ()


def test_a_traffic_routing_puts_its_account_to_work() -> None:
    found = accounts_of_routing(None, routing(entry()))
    assert found == (NamedAccount(f"spec.objectRef[0].{PLACE}", "router"),)
    assert accounts_of_routing(routing(entry()), routing(entry())) == ()
