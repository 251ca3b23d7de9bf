"""Classes of Ingress: the copy, the input of scripts, and the answers that they may give."""

import json
from typing import Any

import msgspec

from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.tree import decode_tree
from controller.domain.traffic.validation.answer import Answer
from controller.domain.traffic.validation.ingress import (
    canary_ingress,
    class_input,
    validate_class_answer,
)
from controller.domain.traffic.validation.violation import Violation
from tests.unit.growth import calls

REF = Reference("networking.k8s.io/v1", "Ingress", "web", "web", "web-canary", "nginx")
PLAN = RoutePlan("", "demo", "r", "1", (REF,), 20.0)


def path(service: str, at: str = "/") -> Any:
    return {"path": at, "backend": {"service": {"name": service, "port": {"number": 80}}}}


CONTENT: Any = {
    "spec": {
        "ingressClassName": "nginx",
        "tls": [{"hosts": ["h"]}, {"hosts": ["other"]}, {"secretName": "all"}],
        "defaultBackend": {"service": {"name": "fallback"}},
        "rules": [
            {"host": "h", "http": {"paths": [path("admin", "/admin"), path("web")]}},
            {"host": "other", "http": {"paths": [path("admin")]}},
            {"host": "none"},
            {"http": {"paths": [{"backend": {"resource": {"kind": "Bucket"}}}]}},
        ],
    },
    "labels": {"team": "a", "app.kubernetes.io/instance": "argo"},
    "annotations": {
        "nginx.ingress.kubernetes.io/proxy-read-timeout": "30",
        "cert-manager.io/cluster-issuer": "x",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "rollouts.kruise.io/original-spec-configuration": "{}",
    },
}


def copy(content: Any = CONTENT, ref: Reference = REF) -> Any:
    found = canary_ingress(content, ref, "demo")
    assert not isinstance(found, Violation), found
    return found


def judged(answer: Any, plan: RoutePlan = PLAN) -> Any:
    raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return validate_class_answer(raw, CONTENT, REF, plan)


def test_the_copy_has_the_paths_of_the_stable_service_alone() -> None:
    found = copy()
    assert found["metadata"]["name"] == "web-canary"
    assert found["spec"] == {
        "ingressClassName": "nginx",
        "tls": [{"hosts": ["h"]}, {"secretName": "all"}],
        "rules": [{"host": "h", "http": {"paths": [path("web-canary")]}}],
    }


def test_the_copy_leaves_out_fields_that_only_one_object_can_have() -> None:
    metadata = copy()["metadata"]
    assert metadata["labels"] == {"team": "a"}
    assert metadata["annotations"] == {"nginx.ingress.kubernetes.io/proxy-read-timeout": "30"}


def test_a_default_backend_is_copied_where_it_is_the_stable_service() -> None:
    found = copy({"spec": {"defaultBackend": {"service": {"name": "web"}}}})
    assert found["spec"] == {"defaultBackend": {"service": {"name": "web-canary"}}}
    assert "annotations" not in found["metadata"]


def test_a_certificate_for_all_names_of_a_domain_is_copied_for_a_host_of_it() -> None:
    names = (["*.example.com"], ["*.b.example.com"], ["*.com"], ["a.example.org"])
    content = {
        "spec": {
            "tls": [{"hosts": each} for each in names],
            "rules": [{"host": "a.example.com", "http": {"paths": [path("web")]}}],
        }
    }
    assert copy(content)["spec"]["tls"] == [{"hosts": ["*.example.com"]}]
    content["spec"]["rules"] = [{"host": "*.example.org", "http": {"paths": [path("web")]}}]
    assert copy(content)["spec"]["tls"] == [{"hosts": ["a.example.org"]}]


def test_a_script_gets_no_copy_where_only_an_annotation_leads_to_the_service() -> None:
    def given(text: str, key: str = "class/action") -> bytes | Violation:
        return class_input(REF, PLAN, {"spec": {}, "annotations": {key: text}})

    obj = given('{"serviceName":"web"}')
    assert isinstance(obj, bytes)
    assert "canaryIngress" not in decode_tree(obj)
    assert isinstance(given("web.demo.svc.cluster.local:80"), bytes)
    for text in ("web-2", "my-web", "shop.web"):
        assert isinstance(given(text), Violation)
    applied = given('{"name":"web"}', "kubectl.kubernetes.io/last-applied-configuration")
    assert isinstance(applied, Violation)


def test_an_ingress_without_the_service_is_refused() -> None:
    found = canary_ingress({"spec": {"rules": "x"}}, REF, "demo")
    assert isinstance(found, Violation)
    assert isinstance(class_input(REF, PLAN, {}), Violation)
    elsewhere = validate_class_answer(b"{}", {}, REF, PLAN)
    assert isinstance(elsewhere, Violation)


def test_scripts_get_the_originals_contract_and_more() -> None:
    given = class_input(REF, PLAN, CONTENT)
    assert isinstance(given, bytes)
    obj = decode_tree(given)
    assert obj["weight"] == "20"
    assert obj["canaryWeight"] == 20
    assert obj["annotations"] == {"nginx.ingress.kubernetes.io/proxy-read-timeout": "30"}
    assert obj["canaryIngress"] == copy()
    bare = class_input(REF, msgspec.structs.replace(PLAN, weight=None), {"spec": CONTENT["spec"]})
    assert isinstance(bare, bytes)
    assert decode_tree(bare)["weight"] == "-1"
    assert "annotations" not in decode_tree(bare)


def test_annotations_become_one_ingress_beside() -> None:
    found = judged({"canary": "true"})
    assert isinstance(found, Answer)
    assert found.content == {k: v for k, v in found.content.items() if k in CONTENT}
    assert found.content["spec"] == CONTENT["spec"]
    (made,) = found.objects
    assert made["metadata"] == {
        "name": "web-canary",
        "namespace": "demo",
        "labels": {"team": "a"},
        "annotations": {"canary": "true"},
    }
    assert judged(b"[]").objects[0]["metadata"]["labels"] == {"team": "a"}


def test_a_share_of_nothing_keeps_the_ingress() -> None:
    (kept,) = judged({"canary": "true"}, msgspec.structs.replace(PLAN, weight=0.0)).objects
    assert kept["metadata"]["name"] == "web-canary"


def test_annotations_that_are_no_strings_are_refused() -> None:
    assert "no string" in judged({"canary-weight": 20}).message
    assert "cannot be read" in judged(b"nil").message


def test_a_class_may_answer_as_other_kinds_do() -> None:
    assert judged({"objects": []}).objects == ()
    assert judged({"objects": [copy()]}).objects == (copy(),)
    spec = {**CONTENT["spec"], "ingressClassName": "x"}
    assert judged({"spec": spec}).content["spec"]["ingressClassName"] == "x"


def test_the_hosts_of_an_ingress_are_not_walked_through_for_each_certificate() -> None:
    def work(number: int) -> int:
        rules = [
            {"host": f"h{index}.test", "http": {"paths": [path("web")]}} for index in range(number)
        ]
        tls = [{"hosts": [f"other{index}.test"]} for index in range(number)]
        return calls(lambda: copy({"spec": {"rules": rules, "tls": tls}}))

    assert work(400) < 2.3 * work(200)
