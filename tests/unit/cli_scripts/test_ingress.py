from controller.cli.scripts.ingress import ingress_input, judge_annotations
from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.answer import Flaw
from controller.domain.traffic.tree import decode_tree

REFERENCE = Reference("networking.k8s.io/v1", "Ingress", "n", "web", "web-canary", "nginx")
PLAN = RoutePlan("", "ns", "r", "1", (REFERENCE,))


def test_no_share_and_no_annotations_are_as_scripts_of_classes_know_them() -> None:
    given = decode_tree(ingress_input(REFERENCE, PLAN, {"spec": {}}))
    assert given["weight"] == "-1"
    assert "annotations" not in given
    assert "data" not in given


def test_an_answer_is_a_map_of_strings() -> None:
    assert judge_annotations(b'{"a":"1"}') == {"annotations": {"a": "1"}}
    assert judge_annotations(b"{}") == {}
    assert isinstance(judge_annotations(b'{"a":1}'), Flaw)
    assert isinstance(judge_annotations(b"[]"), Flaw)
