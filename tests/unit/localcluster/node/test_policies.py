"""The nftables rules for NetworkPolicies. A test on the node shows that the kernel obeys them."""

from typing import Any

import pytest

from localcluster.node.policies import REFUSE, Objects, matches, ruleset

LABELS = {"app": "web"}
WEB = "10.88.0.2"
FRIEND = "10.88.0.3"


def pod(address: str, namespace: str = "shop", **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"namespace": namespace, "name": address, "labels": labels},
        "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8080}]}]},
        "status": {"podIP": address, "phase": "Running"},
    }


def policy(**spec: Any) -> dict[str, Any]:
    chosen = {"podSelector": {"matchLabels": LABELS}}
    return {"metadata": {"namespace": "shop", "name": "p"}, "spec": {**chosen, **spec}}


def chain(name: str, *policies: dict[str, Any], pods: tuple[dict[str, Any], ...] = ()) -> list[str]:
    """The rules of one chain for the pod `WEB` and further ones."""
    namespaces = [{"metadata": {"name": n, "labels": {"name": n}}} for n in ("shop", "other")]
    text = ruleset(Objects(policies, (pod(WEB, app="web"), *pods), namespaces))
    _, found, rest = text.partition(f"chain {name} {{\n")
    assert found, text
    return rest.partition("}\nchain")[0].splitlines()


def test_a_pod_that_no_policy_selects_has_no_chain() -> None:
    text = ruleset(Objects([policy()], [pod(WEB, app="other")], []))
    assert "jump" not in text
    assert REFUSE not in text


@pytest.mark.parametrize(
    ("spec", "isolated"),
    [
        ({}, {"in"}),
        ({"egress": []}, {"in", "out"}),
        ({"policyTypes": ["Egress"]}, {"out"}),
        ({"policyTypes": ["Ingress", "Egress"]}, {"in", "out"}),
    ],
)
def test_a_policy_isolates_in_its_directions(spec: dict[str, Any], isolated: set[str]) -> None:
    text = ruleset(Objects([policy(**spec)], [pod(WEB, app="web")], []))
    for direction in ("in", "out"):
        there = f"chain {direction}_10_88_0_2 {{\ncounter {REFUSE}\n}}" in text
        assert there == (direction in isolated)


def test_one_allowing_policy_of_several_is_enough() -> None:
    closed = policy()
    by_name = policy(ingress=[{"ports": [{"port": "http"}]}])
    assert chain("in_10_88_0_2", closed, by_name) == [
        "tcp dport 8080 return",
        f"counter {REFUSE}",
    ]


def test_a_peer_is_of_the_own_namespace_unless_a_selector_says_another() -> None:
    both = (pod(FRIEND, app="friend"), pod("10.88.0.4", "other", app="friend"))
    friend = {"podSelector": {"matchLabels": {"app": "friend"}}}
    elsewhere = {**friend, "namespaceSelector": {"matchLabels": {"name": "other"}}}
    own, other = (
        chain("in_10_88_0_2", policy(ingress=[{"from": [peer]}]), pods=both)[0]
        for peer in (friend, elsewhere)
    )
    assert own == f"ip saddr {{ {FRIEND} }} return"
    assert other == "ip saddr { 10.88.0.4 } return"


def test_a_peer_that_matches_no_pod_allows_no_pod() -> None:
    nobody = {"podSelector": {"matchLabels": {"app": "nobody"}}}
    assert chain("in_10_88_0_2", policy(ingress=[{"from": [nobody]}])) == [f"counter {REFUSE}"]


def test_blocks_exceptions_ranges_and_protocols() -> None:
    block = {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}
    ports = [{"port": 1, "endPort": 9, "protocol": "UDP"}, {"protocol": "SCTP"}]
    spec = {"policyTypes": ["Egress"], "egress": [{"to": [block], "ports": ports}]}
    where = "ip daddr { 10.0.0.0/8 } ip daddr != { 10.1.0.0/16 }"
    assert chain("out_10_88_0_2", policy(**spec))[:2] == [
        f"{where} udp dport 1-9 return",
        f"{where} meta l4proto sctp return",
    ]


def test_the_name_of_a_port_is_that_of_the_called_pod() -> None:
    spec = {"policyTypes": ["Egress"], "egress": [{"ports": [{"port": "http"}]}]}
    rules = chain("out_10_88_0_2", policy(**spec), pods=(pod(FRIEND),))
    assert f"ip daddr {FRIEND} tcp dport 8080 return" in rules


def test_pods_that_are_over_or_have_the_nodes_network_have_no_rules() -> None:
    over, on_the_node = pod(WEB, app="web"), pod(WEB, app="web")
    over["status"]["phase"] = "Succeeded"
    on_the_node["spec"]["hostNetwork"] = True
    assert "jump" not in ruleset(Objects([policy()], [over, on_the_node], []))


@pytest.mark.parametrize(
    ("operator", "values", "selected"),
    [
        ("In", ["web"], True),
        ("In", ["other"], False),
        ("NotIn", ["web"], False),
        ("NotIn", ["other"], True),
        ("Exists", None, True),
        ("DoesNotExist", None, False),
    ],
)
def test_the_operators_of_a_selector(
    operator: str, values: list[str] | None, selected: bool
) -> None:
    expression = {"key": "app", "operator": operator, "values": values}
    assert matches({"matchExpressions": [expression]}, LABELS) == selected


def test_an_operator_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="Gt"):
        matches({"matchExpressions": [{"key": "app", "operator": "Gt"}]}, LABELS)
