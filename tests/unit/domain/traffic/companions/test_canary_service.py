import json
from typing import Any

import msgspec
import pytest
from msgspec import structs

from controller.api import names
from controller.api.meta import Key
from controller.domain.decision import EnsureCanaryService, Refusal
from controller.domain.traffic.companions.canary_service import (
    canary_selector,
    canary_service_body,
)

WISH = EnsureCanaryService(
    stable=Key("demo", "web"),
    name="web-canary",
    label="pod-template-hash",
    revision="new",
    rollout_uid="uid",
    selector_patch={"version": "canary", "not-selected": "x"},
)


def stable(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "web",
            "namespace": "demo",
            "uid": "u",
            "resourceVersion": "7",
            "labels": {"app": "web", names.PINNED: "true", "app.kubernetes.io/instance": "argo"},
            "annotations": {
                "konghq.com/path": "/",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "external-dns.alpha.kubernetes.io/hostname": "x",
                "cert-manager.io/issuer": "y",
                "argocd.argoproj.io/tracking-id": "z",
                "kustomize.toolkit.fluxcd.io/checksum": "w",
            },
        },
        "spec": {
            "selector": {"app": "web", "version": "base"},
            "ports": [{"name": "http", "port": 80, "nodePort": 30000, "appProtocol": "h2c"}],
            **spec,
        },
    }


def body(source: Any, wish: EnsureCanaryService = WISH) -> Any:
    made = canary_service_body(wish, json.dumps(source).encode())
    assert isinstance(made, bytes), made
    return json.loads(made)


def refusal(source: Any, wish: EnsureCanaryService = WISH) -> str:
    raw = source if isinstance(source, bytes) else json.dumps(source).encode()
    made = canary_service_body(wish, raw)
    assert isinstance(made, Refusal)
    assert made.object == "Service demo/web"
    return made.reason


def test_the_copy_takes_nothing_that_is_the_stable_services_own() -> None:
    source = stable(
        type="LoadBalancer",
        clusterIP="10.0.0.1",
        clusterIPs=["10.0.0.1"],
        externalIPs=["1.2.3.4"],
        loadBalancerIP="1.2.3.4",
        loadBalancerClass="c",
        loadBalancerSourceRanges=["0.0.0.0/0"],
        allocateLoadBalancerNodePorts=True,
        externalTrafficPolicy="Local",
        healthCheckNodePort=31000,
        internalTrafficPolicy="Cluster",
        sessionAffinity="ClientIP",
    )
    assert body(source) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "web-canary",
            "namespace": "demo",
            "labels": {"app": "web"},
            "annotations": {"konghq.com/path": "/", names.ROLLOUT_UID: "uid"},
        },
        "spec": {
            "type": "ClusterIP",
            "selector": {"app": "web", "version": "canary", "pod-template-hash": "new"},
            "ports": [{"name": "http", "port": 80, "appProtocol": "h2c"}],
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "ClientIP",
        },
    }


def test_the_copy_has_the_addresses_of_the_same_families() -> None:
    families = {"ipFamilies": ["IPv6", "IPv4"], "ipFamilyPolicy": "RequireDualStack"}
    spec = body(stable(clusterIP="fd00::1", clusterIPs=["fd00::1", "10.0.0.1"], **families))["spec"]
    assert {key: spec[key] for key in families} == families
    assert not spec.keys() & {"clusterIP", "clusterIPs"}


@pytest.mark.parametrize("key", ["tailscale.com/expose", "getambassador.io/config"])
def test_marks_that_would_publish_the_copy_are_left_out(key: str) -> None:
    source = stable()
    source["metadata"] = {"annotations": {key: "x", "konghq.com/path": "/"}}
    assert body(source)["metadata"]["annotations"].keys() == {"konghq.com/path", names.ROLLOUT_UID}


def test_a_headless_service_stays_headless() -> None:
    made = body(stable(clusterIP="None", clusterIPs=["None"]))
    assert made["spec"]["clusterIP"] == "None"
    assert "clusterIPs" not in made["spec"]


def test_a_pin_of_the_stable_service_is_replaced_and_odd_parts_do_not_matter() -> None:
    source = stable(selector={"app": "web", "pod-template-hash": "old"}, ports=None)
    source["metadata"] = None
    made = body(source)
    assert made["spec"]["selector"] == {"app": "web", "pod-template-hash": "new"}
    assert made["spec"]["ports"] == []
    assert made["metadata"]["annotations"] == {names.ROLLOUT_UID: "uid"}


def test_a_selector_patch_counts_for_keys_that_are_selected_by() -> None:
    wish = structs.replace(WISH, label="h", selector_patch={"a": "2", "b": "3"})
    assert canary_selector({"a": "1"}, wish) == {"a": "2", "h": "new"}


def test_append_pod_selector_applies_the_patch_to_every_key() -> None:
    wish = structs.replace(WISH, label="h", selector_patch={"a": "2", "b": "3"}, appends=True)
    assert canary_selector({"a": "1"}, wish) == {"a": "2", "b": "3", "h": "new"}
    assert body(stable(), wish)["spec"]["selector"]["b"] == "3"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (stable(selector={}), "ServiceWithoutSelector"),
        (stable(type="ExternalName"), "ServiceWithoutSelector"),
        ({"spec": None}, "ServiceWithoutSelector"),
        (b"[]", "ServiceUnreadable"),
    ],
)
def test_a_service_that_cannot_be_copied_is_refused(source: Any, reason: str) -> None:
    assert refusal(source) == reason


def test_a_name_that_gets_too_long_is_refused() -> None:
    assert refusal(stable(), msgspec.structs.replace(WISH, name="x" * 64)) == "NameTooLong"
    assert body(stable(), msgspec.structs.replace(WISH, name="x" * 63))
