"""The canary Service: a copy of the stable Service that selects the new revision.

It does not copy fields that only one Service can have: addresses, node ports, a load balancer, DNS records,
certificates, or the tracking marks by which a GitOps tool would delete the copy. It keeps the families of addresses
(IPv4, IPv6), because a proxy reads the pods' addresses of these families. It has the stable Service's labels,
because objects that select Services by label (a ServiceMonitor) should find both. It carries the Rollout's UID as an
annotation and has no ownerReference, so that a foreground deletion of the Rollout does not delete the Service before
the routes are restored.
Invariant: pure; the same stable Service and the same request give the same body. A Service that cannot be copied is a
refusal.
"""

from controller.api import names
from controller.domain import reasons
from controller.domain.decision import EnsureCanaryService, Refusal
from controller.domain.traffic.companions.claims_of_tools import is_claim
from controller.domain.traffic.original.content import strings_of
from controller.domain.traffic.tree import Json, Tree, decode_tree, encode

HEADLESS = "None"

_OWN_FIELDS = frozenset(
    {
        "allocateLoadBalancerNodePorts",
        "clusterIP",
        "clusterIPs",
        "externalIPs",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "loadBalancerClass",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
    }
)
"""Fields of a Service's spec that belong to one Service only, or have no meaning in a ClusterIP Service."""
_OWN_MARKS = (
    "external-dns.alpha.kubernetes.io/",
    "cert-manager.io/",
    "acme.cert-manager.io/",
    "cloud.google.com/neg-status",
    "getambassador.io/config",
    "tailscale.com/",
    "moonshift.dev/",
)
"""Labels and annotations (by prefix) that belong to one Service only.

Fewer than `validation/objects.NOT_COPIED`: other labels of charts stay, because a ServiceMonitor may select by them.
"""


def _marks(value: Json) -> dict[str, str]:
    return {
        key: text
        for key, text in strings_of(value).items()
        if not key.startswith(_OWN_MARKS) and not is_claim(key)
    }


def canary_selector(stable: dict[str, str], wish: EnsureCanaryService) -> dict[str, str]:
    """The canary Service's selector. A patch changes keys that the stable Service selects by; other keys only if
    asked.
    """
    patch, label, revision = wish.selector_patch, wish.label, wish.revision
    kept = patch if wish.appends else patch.keys() & stable.keys()
    patched = {**stable, **{key: patch[key] for key in sorted(kept)}}
    return {**patched, label: revision}


def _ports(value: Json) -> Json:
    if not isinstance(value, list):
        return []
    return [
        {key: item for key, item in port.items() if key != "nodePort"}
        for port in value
        if isinstance(port, dict)
    ]


def _spec(stable: Tree, selector: dict[str, str]) -> Tree:
    spec: Tree = {key: item for key, item in stable.items() if key not in _OWN_FIELDS}
    spec["type"] = "ClusterIP"
    spec["selector"] = {**selector}
    spec["ports"] = _ports(stable.get("ports"))
    if stable.get("clusterIP") == HEADLESS:
        spec["clusterIP"] = HEADLESS
    return spec


def canary_service_body(wish: EnsureCanaryService, stable: bytes) -> bytes | Refusal:
    """The canary Service to create, from the stable Service as the API server sent it."""
    subject = f"Service {wish.stable}"
    if len(wish.name) > names.MAX_SERVICE_NAME:
        return Refusal(
            reason=reasons.NAME_TOO_LONG,
            message=f"the canary Service would be named {wish.name}, longer than {names.MAX_SERVICE_NAME} characters: "
            "use a stable Service with a shorter name, or disableGenerateCanaryService",
            object=subject,
        )
    try:
        source = decode_tree(stable)
    except ValueError as problem:
        return Refusal(reasons.SERVICE_UNREADABLE, f"{subject}: {problem}", object=subject)
    metadata, before = source.get("metadata"), source.get("spec")
    metadata = metadata if isinstance(metadata, dict) else {}
    before = before if isinstance(before, dict) else {}
    selector = strings_of(before.get("selector"))
    if not selector or before.get("type") == "ExternalName":
        return Refusal(
            reason=reasons.SERVICE_WITHOUT_SELECTOR,
            message=f"{subject} has no selector, so no copy of it can select the new revision",
            object=subject,
        )
    named: Tree = {
        "name": wish.name,
        "namespace": wish.stable.namespace,
        "labels": {**_marks(metadata.get("labels"))},
        "annotations": {
            **_marks(metadata.get("annotations")),
            names.ROLLOUT_UID: wish.rollout_uid,
        },
    }
    selected = canary_selector(selector, wish)
    return encode(
        {"apiVersion": "v1", "kind": "Service", "metadata": named, "spec": _spec(before, selected)}
    )
