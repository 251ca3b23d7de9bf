"""The look-up of scripts: the original's order, explicit choices, and the reason if there is no script."""

import hashlib

import msgspec
import pytest

from controller.domain.decision import OwnScript
from controller.scripts.lookup import Choice, MissingScript, Script, ScriptLibrary

VS = "networking.istio.io/VirtualService/trafficRouting.lua"
VS_KEY = "lua.traffic.routing.VirtualService.networking.istio.io"
NGINX = "trafficrouting_ingress/nginx.lua"
NGINX_KEY = "lua.traffic.routing.ingress.nginx"

LIBRARY = ScriptLibrary(
    {VS: b"packaged vs", NGINX: b"packaged nginx", "v1/Thing/trafficRouting.lua": b"x"}
)
CONFIG = {VS_KEY: "own vs", NGINX_KEY: "own nginx", "other": "x"}


def custom(choice: Choice, config: dict[str, str] | None) -> Script | MissingScript:
    return LIBRARY.resolve_custom("networking.istio.io", "VirtualService", choice, config)


def ingress(choice: Choice, config: dict[str, str] | None) -> Script | MissingScript:
    return LIBRARY.resolve_ingress("nginx", choice, config)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param(custom("auto", CONFIG), b"packaged vs", id="custom-packaged-first"),
        pytest.param(custom("auto", None), b"packaged vs", id="custom-without-config-map"),
        pytest.param(custom("configMap", CONFIG), b"own vs", id="custom-chosen-from-config-map"),
        pytest.param(custom("packaged", CONFIG), b"packaged vs", id="custom-chosen-packaged"),
        pytest.param(ingress("auto", CONFIG), b"own nginx", id="ingress-config-map-first"),
        pytest.param(ingress("auto", {NGINX_KEY: " "}), b"packaged nginx", id="ingress-empty-key"),
        pytest.param(ingress("auto", None), b"packaged nginx", id="ingress-without-config-map"),
        pytest.param(ingress("packaged", CONFIG), b"packaged nginx", id="ingress-chosen-packaged"),
        pytest.param(
            LIBRARY.resolve_ingress("", "auto", None), b"packaged nginx", id="no-class-is-nginx"
        ),
        pytest.param(LIBRARY.resolve_custom("v1", "Thing", "auto", None), b"x", id="core-group"),
    ],
)
def test_the_nearest_script_takes_precedence(found: Script | MissingScript, text: bytes) -> None:
    assert isinstance(found, Script)
    assert found.text == text
    assert found.sha256 == hashlib.sha256(text).hexdigest()


def test_a_script_says_where_it_comes_from() -> None:
    packaged, own = custom("auto", None), custom("configMap", CONFIG)
    assert isinstance(packaged, Script)
    assert (packaged.name, packaged.source) == (VS, "packaged")
    assert isinstance(own, Script)
    assert (own.name, own.source) == (VS_KEY, "configMap")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (
            LIBRARY.resolve_custom("g.io", "K", "auto", {}),
            (
                "no script for K of g.io: neither packaged as g.io/K/trafficRouting.lua nor in "
                "key lua.traffic.routing.K.g.io of ConfigMap kruise-rollout-configuration"
            ),
        ),
        (
            LIBRARY.resolve_ingress("istio", "auto", None),
            (
                "no script for the Ingress class istio: neither packaged as trafficrouting_ingress/istio.lua nor in "
                "key lua.traffic.routing.ingress.istio of ConfigMap kruise-rollout-configuration, which does not exist"
            ),
        ),
        (
            custom("configMap", {}),
            (
                "no script for VirtualService of networking.istio.io in "
                f"key {VS_KEY} of ConfigMap kruise-rollout-configuration"
            ),
        ),
        (
            LIBRARY.resolve_custom("g.io", "K", "packaged", CONFIG),
            "no packaged script for K of g.io: there is no g.io/K/trafficRouting.lua",
        ),
    ],
)
def test_a_missing_script_is_explained(found: Script | MissingScript, reason: str) -> None:
    assert found == MissingScript(reason)


def test_keys_that_packaged_scripts_hide_are_known() -> None:
    assert LIBRARY.shadowed({**CONFIG, "lua.traffic.routing.K.g.io": "x"}) == (VS_KEY,)
    assert LIBRARY.shadowed(None) == ()


def test_the_packaged_folder_is_found() -> None:
    names = {script.name for script in ScriptLibrary.read().packaged}
    assert {VS, "networking.istio.io/DestinationRule/trafficRouting.lua"} <= names


OWN = OwnScript("shop", "scripts", "router")


def own(script: OwnScript, data: dict[str, str] | None) -> Script | MissingScript:
    return LIBRARY.resolve_own(script, "networking.istio.io", "VirtualService", data)


def test_a_namespaces_script_is_that_of_its_key_though_one_is_packaged() -> None:
    for script, key in ((OWN, VS_KEY), (msgspec.structs.replace(OWN, key="mine"), "mine")):
        found = own(script, {key: "tenant's"})
        assert isinstance(found, Script)
        assert (found.text, found.source) == (b"tenant's", "configMap")
        assert found.name == f"{key} of ConfigMap shop/scripts"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, "ConfigMap shop/scripts, which scriptRef names, does not exist"),
        ({}, f"in key {VS_KEY} of ConfigMap shop/scripts: add the key"),
        ({VS_KEY: " "}, f"in key {VS_KEY} of ConfigMap shop/scripts: add the key"),
    ],
)
def test_a_namespaces_script_that_is_not_there_is_replaced_by_no_other(
    data: dict[str, str] | None, expected: str
) -> None:
    found = own(OWN, data)
    assert isinstance(found, MissingScript)
    assert expected in found.reason
