"""NetworkPolicies as rules of nftables.

Why it exists: a policy that nobody enforces proves nothing, and no enforcer exists as a Go module. Invariants:
 * the same objects give the same text;
 * a pod is isolated in a direction if a policy of that direction selects it; it then gets only the traffic that one
   of these policies allows;
 * the node always reaches its pods, and answers always come back.
IPv4 only. It must do no I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TABLE = "inet network_policies"
REFUSE = "reject with icmpx type admin-prohibited"
"""A refused connection fails at once; a dropped one would keep tests waiting."""
INGRESS, EGRESS = "Ingress", "Egress"
CHAINS: Mapping[str, str] = {EGRESS: "out", INGRESS: "in"}
OVER = frozenset({"Succeeded", "Failed"})

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Objects:
    """The input of the rules: all objects of three kinds."""

    policies: Sequence[Json] = ()
    pods: Sequence[Json] = ()
    namespaces: Sequence[Json] = ()


@dataclass(frozen=True, slots=True)
class _Pod:
    namespace: str
    address: str
    labels: Mapping[str, str]
    ports: Mapping[tuple[str, str], int] = field(hash=False)
    """(name, protocol) → number."""


def ruleset(objects: Objects) -> str:
    """Return the whole table, as one text that `nft -f` puts in the place of the one before."""
    pods = [_pod(one) for one in objects.pods if _has_network(one)]
    labels = {one["metadata"]["name"]: _labels(one) for one in objects.namespaces}
    isolated = {
        direction: {
            pod.address: rules
            for pod in sorted(pods, key=lambda p: p.address)
            if (rules := _rules_of(pod, direction, objects.policies, pods, labels)) is not None
        }
        for direction in (EGRESS, INGRESS)
    }
    chains = [
        _chain(_name(direction, address), [*rules, f"counter {REFUSE}"])
        for direction, rules_by_address in isolated.items()
        for address, rules in rules_by_address.items()
    ]
    out, into = (_jumps(direction, isolated[direction]) for direction in (EGRESS, INGRESS))
    # Packets to the node itself are input, all others are forwarded; what the node sends is output, which is free.
    hooks = [_hook("forward", [*out, *into]), _hook("input", out)]
    text = "".join(f"{one}\n" for one in (*chains, *hooks))
    return f"table {TABLE}\ndelete table {TABLE}\ntable {TABLE} {{\n{text}}}\n"


def _has_network(pod: Json) -> bool:
    status = pod.get("status", {})
    alive = status.get("phase") not in OVER
    return alive and bool(status.get("podIP")) and not pod["spec"].get("hostNetwork", False)


def _pod(pod: Json) -> _Pod:
    ports = {
        (port["name"], port.get("protocol", "TCP")): port["containerPort"]
        for container in pod["spec"].get("containers", ())
        for port in container.get("ports", ())
        if port.get("name")
    }
    return _Pod(pod["metadata"]["namespace"], pod["status"]["podIP"], _labels(pod), ports)


def _labels(one: Json) -> Mapping[str, str]:
    return one["metadata"].get("labels") or {}


def _rules_of(
    pod: _Pod,
    direction: str,
    policies: Iterable[Json],
    pods: Sequence[_Pod],
    namespaces: Mapping[str, Mapping[str, str]],
) -> list[str] | None:
    """Return the allowed traffic; None if no policy selects the pod for this direction."""
    selecting = [
        policy
        for policy in policies
        if policy["metadata"]["namespace"] == pod.namespace
        and direction in _types(policy["spec"])
        and matches(policy["spec"].get("podSelector") or {}, pod.labels)
    ]
    if not selecting:
        return None
    rules: list[str] = []
    for policy in selecting:
        for rule in policy["spec"].get(direction.lower()) or ():
            peers = rule.get("from" if direction == INGRESS else "to")
            found = _peers(peers, pod.namespace, pods, namespaces)
            rules += _allowed(pod, direction, found, rule.get("ports"), pods)
    return list(dict.fromkeys(rules))


def _types(spec: Json) -> Sequence[str]:
    implied = [INGRESS, *([EGRESS] if "egress" in spec else [])]
    return spec.get("policyTypes") or implied


def matches(selector: Json, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects; an empty one selects everything."""
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_expression(one, labels) for one in selector.get("matchExpressions") or ())


def _expression(one: Json, labels: Mapping[str, str]) -> bool:
    key, values = one["key"], one.get("values") or ()
    match one["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise ValueError(f"a selector with the operator {other!r}")


@dataclass(frozen=True, slots=True)
class _Peer:
    """One condition on the other side's address."""

    addresses: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    anybody: bool = False

    def match(self, side: str) -> str:
        if self.anybody:
            return ""
        text = f"ip {side} {_set(self.addresses)} "
        return text + (f"ip {side} != {_set(self.exceptions)} " if self.exceptions else "")


def _peers(
    peers: Sequence[Json] | None,
    own: str,
    pods: Sequence[_Pod],
    namespaces: Mapping[str, Mapping[str, str]],
) -> list[_Peer]:
    if not peers:
        return [_Peer(anybody=True)]
    found = []
    for peer in peers:
        if block := peer.get("ipBlock"):
            found.append(_Peer((block["cidr"],), tuple(block.get("except") or ())))
            continue
        chosen = [
            pod.address
            for pod in pods
            if _in_namespace(peer, pod.namespace, own, namespaces)
            and matches(peer.get("podSelector") or {}, pod.labels)
        ]
        if chosen:
            found.append(_Peer(tuple(sorted(chosen))))
    return found


def _in_namespace(
    peer: Json, namespace: str, own: str, namespaces: Mapping[str, Mapping[str, str]]
) -> bool:
    selector = peer.get("namespaceSelector")
    if selector is None:
        return namespace == own
    return matches(selector, namespaces.get(namespace, {}))


def _allowed(
    pod: _Pod,
    direction: str,
    peers: Iterable[_Peer],
    ports: Sequence[Json] | None,
    pods: Sequence[_Pod],
) -> list[str]:
    side = "saddr" if direction == INGRESS else "daddr"
    return [
        f"{peer.match(side)}{port}return"
        for peer in peers
        for port in _ports(pod, direction, ports, pods)
    ]


def _ports(
    pod: _Pod, direction: str, ports: Sequence[Json] | None, pods: Sequence[_Pod]
) -> list[str]:
    """Return conditions on the port; the names of ports are those of the pod that is called."""
    if not ports:
        return [""]
    return [text for one in ports for text in _port(pod, direction, one, pods)]


def _port(pod: _Pod, direction: str, one: Json, pods: Sequence[_Pod]) -> list[str]:
    protocol, port = one.get("protocol", "TCP"), one.get("port")
    low = protocol.lower()
    if port is None:
        return [f"meta l4proto {low} "]
    if isinstance(port, int):
        end = one.get("endPort")
        return [f"{low} dport {port}{f'-{end}' if end else ''} "]
    if direction == INGRESS:
        number = pod.ports.get((port, protocol))
        return [f"{low} dport {number} "] if number else []
    return [
        f"ip daddr {called.address} {low} dport {number} "
        for called in pods
        if (number := called.ports.get((port, protocol)))
    ]


def _name(direction: str, address: str) -> str:
    return f"{CHAINS[direction]}_{address.replace('.', '_')}"


def _jumps(direction: str, addresses: Iterable[str]) -> list[str]:
    """The rule that sends a packet of an isolated pod to the pod's chain; `return` there means: allowed."""
    side = "daddr" if direction == INGRESS else "saddr"
    verdicts = ", ".join(f"{address} : jump {_name(direction, address)}" for address in addresses)
    return [f"ip {side} vmap {{ {verdicts} }}"] if verdicts else []


def _hook(name: str, rules: Sequence[str]) -> str:
    first = [f"type filter hook {name} priority 10", "ct state established,related accept"]
    return _chain(name, [*first, *rules])


def _chain(name: str, rules: Iterable[str]) -> str:
    return f"chain {name} {{\n" + "".join(f"{rule}\n" for rule in rules) + "}"


def _set(values: Iterable[str]) -> str:
    return f"{{ {', '.join(values)} }}"
