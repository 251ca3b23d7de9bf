"""Subsets of a Service are found in the shapes of Istio, Consul and Kuma."""

import pytest

from controller.domain.traffic.subsets import subsets_of
from controller.domain.traffic.tree import Json

ISTIO: Json = {
    "http": [
        {"route": [{"destination": {"host": "web.shop.svc", "subset": "v2"}}]},
        {
            "route": [
                {"destination": {"host": "web", "subset": "v1"}, "weight": 80},
                {"destination": {"host": "web", "subset": "v2"}, "weight": 20},
                {"destination": {"host": "cart", "subset": "v9"}},
            ]
        },
    ]
}
CONSUL: Json = {
    "splits": [
        {"weight": 90, "service": "web", "serviceSubset": "v1"},
        {"weight": 10, "serviceSubset": "v2", "service": "web"},
        {"weight": 0, "service": "web"},
    ]
}
KUMA: Json = {
    "to": [
        {"backendRefs": [{"kind": "MeshServiceSubset", "name": "web", "tags": {"version": "v1"}}]}
    ],
    "conf": {"split": [{"destination": {"kuma.io/service": "web_shop_svc_80", "version": "v2"}}]},
}


@pytest.mark.parametrize(
    ("tree", "subsets"),
    [
        (ISTIO, ("v2", "v1")),
        (CONSUL, ("v1", "v2")),
        (KUMA, ("version=v1", "version=v2")),
        ({"host": "web"}, ()),
        ({"name": "web", "tags": {}}, ()),
        ({"host": "web", "subset": None}, ()),
        ("web", ()),
    ],
)
def test_each_subset_of_the_service_is_named_once(tree: Json, subsets: tuple[str, ...]) -> None:
    assert subsets_of(tree, "web", "shop") == subsets
