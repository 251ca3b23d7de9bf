"""The node enforces NetworkPolicies, so that ours can be tested.

Each claim has its counter-example: the same connection without the policy.
"""

from typing import Any

import yaml

from localcluster.node.plane import NodePlane
from tests.node import apps
from tests.node.connections import reached, settles

WAIT = ("wait", "--timeout=120s", "--for=condition=Available")
WEB = "http://web/"


def policy(name: str, pods: dict[str, str], **spec: Any) -> dict[str, Any]:
    """A NetworkPolicy that selects pods by their labels."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name},
        "spec": {"podSelector": {"matchLabels": pods}, **spec},
    }


async def _apply(node: NodePlane, namespace: str, *objects: dict[str, Any]) -> None:
    await node.kubectl("apply", "-n", namespace, "-f", "-", input=yaml.safe_dump_all(objects))


async def _three(node: NodePlane, namespace: str) -> None:
    """A server and two clients, each behind a Service; both clients reach the server."""
    names = ("web", "friend", "stranger")
    objects = [make(name) for name in names for make in (apps.deployment, apps.service)]
    await _apply(node, namespace, *objects)
    await node.kubectl(*WAIT, "-n", namespace, *(f"deployment/{name}" for name in names))
    for client in ("friend", "stranger"):
        assert await apps.fetch(node, namespace, client, WEB)


async def test_a_pod_is_reached_by_those_whom_a_policy_names_and_by_no_others(
    node: NodePlane, namespace: str
) -> None:
    await _three(node, namespace)

    async def who() -> list[bool]:
        return [await reached(node, namespace, client, WEB) for client in ("friend", "stranger")]

    assert await who() == [True, True]
    await _apply(node, namespace, policy("closed", {"app": "web"}, policyTypes=["Ingress"]))
    await settles(who, [False, False])
    friends = [{"from": [{"podSelector": {"matchLabels": {"app": "friend"}}}]}]
    await _apply(node, namespace, policy("friends", {"app": "web"}, ingress=friends))
    await settles(who, [True, False])
    await node.kubectl("delete", "-n", namespace, "networkpolicy", "closed", "friends")
    await settles(who, [True, True])


async def test_a_pod_reaches_only_the_targets_that_a_policy_names(
    node: NodePlane, namespace: str
) -> None:
    await _three(node, namespace)
    # A name needs DNS, an address does not.
    listed = await node.client().get(f"/api/v1/namespaces/{namespace}/services/web")
    address = f"http://{listed['spec']['clusterIP']}/"

    async def what() -> list[bool]:
        return [await reached(node, namespace, "stranger", url) for url in (WEB, address)]

    assert await what() == [True, True]
    chosen = {"app": "stranger"}
    port = [{"ports": [{"port": apps.PORT}]}]
    await _apply(node, namespace, policy("out", chosen, policyTypes=["Egress"], egress=port))
    await settles(what, [False, True])
    dns = [*port, {"ports": [{"port": 53, "protocol": "UDP"}]}]
    await _apply(node, namespace, policy("out", chosen, policyTypes=["Egress"], egress=dns))
    await settles(what, [True, True])
    await _apply(node, namespace, policy("out", chosen, policyTypes=["Egress"]))
    await settles(what, [False, False])
    # A client that no policy selects is free.
    assert await reached(node, namespace, "friend", WEB)
