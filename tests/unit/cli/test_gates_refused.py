"""The rules for gates that exist twice: in CEL, which the API server runs, and in Python."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controller.api.jsontree import JsonObject
from controller.cli.gates import refused
from controller.cli.gates.refused import analysis_problems
from controller.domain.traffic.tree import Tree

CRDS = Path(__file__).parents[3] / "deploy" / "crds"
RULES = (
    *(
        refused.OF_ANALYSES,
        refused.OF_METRICS,
        refused.OF_BOUNDS,
        refused.OF_PAGES,
        refused.OF_VALUES,
    ),
    *(refused.OF_COMPARISONS, refused.OF_ARGUMENT_SOURCES),
)


def messages(schema: object) -> Iterator[str]:
    """The words of all rules in a part of a schema."""
    if isinstance(schema, dict):
        yield from (rule["message"] for rule in schema.get("x-kubernetes-validations", ()))
        for inner in schema.values():
            yield from messages(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from messages(inner)


def of_gates(schema: object) -> Iterator[str]:
    """The words of all rules below a field `analysis`."""
    if isinstance(schema, dict):
        for name, inner in schema.items():
            yield from messages(inner) if name == "analysis" else of_gates(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from of_gates(inner)


def test_the_rules_are_those_of_the_crds() -> None:
    reported = {message for rules in RULES for message in rules}
    rollouts = yaml.safe_load((CRDS / "rollouts.yaml").read_text())
    assert set(of_gates(rollouts)) == reported
    for name in ("analysistemplates", "clusteranalysistemplates"):
        found = set(messages(yaml.safe_load((CRDS / f"{name}.yaml").read_text())))
        assert found == reported | set(refused.OF_TEMPLATES)


GOOD: JsonObject = {"name": "m", "success": {"max": 1}, "prometheus": {"query": "up"}}
PAGE: JsonObject = {"name": "m", "success": {"max": 1}}
TEXT: JsonObject = {
    "name": "m",
    "success": {"equals": "ok"},
    "web": {"url": "http://x", "format": "text"},
}
JOB: JsonObject = {"name": "m", "job": {"spec": {"template": {}}}}


@pytest.mark.parametrize(
    ("analysis", "why"),
    [
        ({}, "give metrics, templates or both"),
        ({"metrics": []}, "give metrics, templates or both"),
        ({"metrics": [{**GOOD, **JOB}]}, "give exactly one of prometheus"),
        ({"metrics": [{**JOB, "compare": {"ratio": {"max": 1}}}]}, "cannot be compared"),
        ({"metrics": [{**GOOD, "success": None}]}, "say what a good value is"),
        ({"metrics": [{**GOOD, "minSamples": 5}]}, "minSamples needs a query"),
        ({"metrics": [{**GOOD, "failure": {}}]}, "metrics[0].failure: give min, max or both"),
        (
            {"metrics": [{**GOOD, "compare": {"ratio": {"min": 2, "max": 1}}}]},
            "metrics[0].compare.ratio: min is greater than max",
        ),
        (
            {"metrics": [{**PAGE, "web": {"url": "http://x", "valuePath": "a", "body": "{}"}}]},
            "metrics[0].web: a body is sent with a POST",
        ),
        (
            {"metrics": [{**PAGE, "web": {"url": "http://x", "format": "text", "valuePath": "a"}}]},
            "metrics[0].web: give valuePath for a page of JSON, and none for a page of text",
        ),
        ({"metrics": [{**PAGE, "web": {"url": "http://x"}}]}, "give valuePath"),
        (
            {"metrics": [{**PAGE, "web": {"url": "u", "format": "text", "samplesPath": "n"}}]},
            "a page of text has no samplesPath",
        ),
        (
            {"metrics": [{**TEXT, "success": {"equals": "ok", "matches": "o"}}]},
            "metrics[0].success: give min, max or both; or equals; or matches",
        ),
        ({"metrics": [{**GOOD, "failure": {"max": 1, "equals": "1"}}]}, "or equals; or matches"),
        (
            {"metrics": [{**TEXT, "compare": {"ratio": {"max": 1}}}]},
            "compare is for numbers: equals and matches cannot stand beside it",
        ),
        (
            {"metrics": [{**GOOD, "compare": {"ratio": {"max": 1}}, "failure": {"equals": "1"}}]},
            "compare is for numbers",
        ),
        (
            {"metrics": [{**GOOD, "count": 2, "consecutiveSuccess": 3}]},
            "metrics[0]: consecutiveSuccess is greater than count",
        ),
        ({"metrics": [{**GOOD, "failure": {"matches": "x"}}]}, "matches is for the text of a web"),
        ({"metrics": [{**GOOD, "compare": {"ratio": {"equals": "1"}}}]}, "compare.ratio: give min"),
        ({"metrics": [{**GOOD, "compare": {}}]}, "give ratio, difference or both"),
        (
            {
                "metrics": [GOOD],
                "args": [{"name": "a", "valueFrom": {"label": "x", "annotation": "y"}}],
            },
            "args[0].valueFrom: give exactly one of label, annotation and secret",
        ),
    ],
)
def test_a_gate_that_the_api_server_refuses_is_refused(analysis: Tree, why: str) -> None:
    assert any(why in problem for problem in analysis_problems(analysis))


@pytest.mark.parametrize(
    "analysis",
    [
        {"metrics": [GOOD]},
        {"templates": [{"name": "errors"}]},
        {"metrics": [JOB]},
        {"metrics": [TEXT]},
        {"metrics": [{**GOOD, "consecutiveSuccess": 3}]},
        {"metrics": [{**GOOD, "count": 3, "consecutiveSuccess": 3}]},
        {"metrics": [{**TEXT, "failure": {"matches": "^bad"}}]},
        {"metrics": [{**GOOD, "success": {"equals": "3"}}]},
        {
            "metrics": [
                {
                    **PAGE,
                    "web": {"url": "http://x", "valuePath": "a", "method": "POST", "body": "{}"},
                }
            ]
        },
        {"metrics": [{**GOOD, "minSamples": 5, "prometheus": {"query": "a", "samples": "b"}}]},
        {"metrics": [{**GOOD, "failure": None, "compare": {"ratio": {"min": 1, "max": 1}}}]},
        {
            "metrics": [GOOD],
            "args": [{"name": "a", "valueFrom": {"secret": {"name": "s", "key": "k"}}}],
        },
    ],
)
def test_a_gate_that_the_api_server_accepts_is_accepted(analysis: Tree) -> None:
    assert analysis_problems(analysis) == ()


def test_a_template_names_no_script_of_a_namespace() -> None:
    script: Tree = {"name": "scripts", "serviceAccountName": "asker"}
    source: Tree = {"script": "datadog", "scriptRef": script}
    metric: Tree = {"name": "m", "success": {"max": 1}, "source": source}
    head: Tree = {"apiVersion": "rollouts.kruise.io/v1alpha1", "kind": "AnalysisTemplate"}
    template: Tree = {**head, "metadata": {"name": "t"}, "spec": {"metrics": [metric]}}
    assert any("may stand only in a Rollout" in one for one in refused.object_problems(template))
