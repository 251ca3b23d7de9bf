"""F5 CIS: a pool's Service and its alternate backends, by weight.

docs/config_examples/customResource/CustomResource.md of F5Networks/k8s-bigip-ctlr (2.x): the `weight` of a pool is that
of its own Service "in AB deployment", an alternate backend needs one; requests that fit no pool go to the default one.
A TransportServer has one pool (TransportServer/ts-with-weight-alternate-backend there). Weights end at 256 (schema of
the definitions). Of pools the one with the longest path is asked: the document does not say so, but as no step
changes a path, nothing that is claimed here depends on that.
"""

from fractions import Fraction

from tests.routing.model import Request, Shares, Tree, below, divided


def virtual_server(spec: Tree, request: Request) -> Shares:
    """VirtualServer of CIS; requests that fit no pool go to the default one."""
    if spec.get("host", request.host) != request.host:
        return {}
    fitting = [pool for pool in spec["pools"] if below(pool["path"], request.path)]
    if not fitting:
        default = spec.get("defaultPool")
        return {default["service"]: Fraction(1)} if default else {}
    return _pool(max(fitting, key=lambda pool: len(pool["path"])))


def transport_server(spec: Tree, _: Request) -> Shares:
    """TransportServer: one pool."""
    return _pool(spec["pool"])


def _pool(pool: Tree) -> Shares:
    others = pool.get("alternateBackends", ())
    if not others:
        return {pool["service"]: Fraction(1)}
    entries = [pool, *others]
    assert all(0 <= entry["weight"] <= 256 for entry in entries)
    return divided((entry["service"], entry["weight"]) for entry in entries)
