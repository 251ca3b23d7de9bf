"""Kinds that know weights only."""

from tests.routing.model import Request, Shares, Tree, divided

OPENSHIFT_ABSENT = 100


def traffic_split(spec: Tree, _: Request) -> Shares:
    """SMI TrafficSplit."""
    return divided((b["service"], b.get("weight", 0)) for b in spec["backends"])


def openshift_route(spec: Tree, _: Request) -> Shares:
    """OpenShift Route: one target and alternatives; 0 to 256 each."""
    entries = [spec["to"], *spec.get("alternateBackends", ())]
    assert all(0 <= entry.get("weight", OPENSHIFT_ABSENT) <= 256 for entry in entries)
    return divided((e["name"], e.get("weight", OPENSHIFT_ABSENT)) for e in entries)


def service_splitter(spec: Tree, _: Request) -> Shares:
    """Consul ServiceSplitter: the sum is 100, in steps of a hundredth."""
    assert abs(sum(split["weight"] for split in spec["splits"]) - 100) < 1e-9
    return divided((s["service"], round(s["weight"] * 100)) for s in spec["splits"])


def upstream_group(spec: Tree, _: Request) -> Shares:
    """Gloo UpstreamGroup."""
    found = spec["destinations"]
    return divided((d["destination"]["kube"]["ref"]["name"], d.get("weight", 0)) for d in found)


def mesh_tcp_route(spec: Tree, _: Request) -> Shares:
    """Kuma MeshTCPRoute: one rule."""
    refs = spec["to"][0]["rules"][0]["default"]["backendRefs"]
    return divided((ref["name"], ref.get("weight", 1)) for ref in refs)
