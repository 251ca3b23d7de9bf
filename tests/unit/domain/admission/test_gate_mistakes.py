"""An author hears at admission which gate cannot work as it is written."""

from typing import Any

import pytest

from controller.api.jsontree import JsonObject
from controller.api.names import V1BETA1
from controller.domain.admission.gate_mistakes import gate_mistakes
from controller.domain.admission.rollout import admit_rollout
from controller.domain.gates.wording import WORDS_OF_A_RELEASE
from controller.domain.rollout.approvals.analysing import words_of
from controller.domain.rollout.words.release_value import as_stored
from tests.unit.builders import KEY
from tests.unit.domain.rollout.scenes import started
from tests.unit.growth import calls

ERRORS: JsonObject = {"name": "errors", "success": {"max": 1}}


def rollout(metric: JsonObject, style: str = "canary", **analysis: Any) -> JsonObject:
    gate = {"metrics": [{**ERRORS, **metric}], **analysis}
    plan = {"steps": [{"replicas": "20%", "traffic": "20%", "analysis": gate}]}
    return {
        "apiVersion": V1BETA1,
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "strategy": {style: plan},
        },
    }


def asked(query: str = "vector(0)", **more: str) -> JsonObject:
    return {"prometheus": {"query": query, **more}}


PLACE = "steps[0].analysis.metrics[0]"


@pytest.mark.parametrize("style", ["canary", "blueGreen"])
@pytest.mark.parametrize(
    ("metric", "path", "words"),
    [
        ({**asked(), "interval": "0s"}, "interval", "0s is less than a second"),
        ({**asked(), "interval": "20ms"}, "interval", "20ms is less than a second"),
        ({**asked("up[{{ window }}]"), "window": "0s"}, "window", "0s is no length of time"),
        (asked(address="ftp://metrics"), "prometheus.address", "ftp://metrics"),
        (asked(address="metrics:9090"), "prometheus.address", "http:// or https://"),
        ({"web": {"url": "unix:///run/x", "valuePath": "a"}}, "web.url", "unix:///run/x"),
        ({"golden": {"name": "x", "source": "istio", "address": "tcp://m"}}, "golden.address", ""),
        (
            {"web": {"url": "http://m", "valuePath": "a"}, "success": {"matches": "("}},
            "success.matches",
            "( cannot be used: a group is not closed",
        ),
        (asked("{{ nope }}"), "prometheus", "{{ nope }} has no value"),
        (asked("{{ args.nope }}"), "prometheus", "{{ args.nope }} has no value"),
        (
            {"web": {"url": "http://m/{{ nope }}", "valuePath": "a"}},
            "web",
            "{{ nope }} has no value",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(
    style: str, metric: JsonObject, path: str, words: str
) -> None:
    (found,) = gate_mistakes(rollout(metric, style))
    assert found.startswith(f"spec.strategy.{style}.{PLACE}.{path}: ")
    assert words in found


@pytest.mark.parametrize(
    "obj",
    [
        rollout({**asked("{{ service }}{{revision}}"), "interval": "1s"}),
        rollout(asked("up[{{ window }}]", address="https://metrics:9090")),
        rollout(
            asked("{{ canary.revision }}", address="{{ args.where }}"), templates=[{"name": "t"}]
        ),
        rollout(asked("{{ args.own }}"), args=[{"name": "own"}]),
        rollout(asked("{{ args.of-template }}"), templates=[{"name": "errors"}]),
        rollout({"job": {"spec": {}}}),
        rollout({"prometheus": 7}),
        {},
        {"apiVersion": "other/v1"},
    ],
)
def test_a_gate_that_can_work_is_not_warned_about(obj: JsonObject) -> None:
    assert gate_mistakes(obj) == ()


def test_texts_that_the_rollouts_own_arguments_make_too_long_are_named() -> None:
    long = [{"name": "a", "value": "x" * 1024}]
    (found,) = gate_mistakes(rollout(asked("{{ args.a }}" * 17), args=long))
    assert found.startswith(f"spec.strategy.canary.{PLACE}.prometheus.query: with its words it has")
    many: JsonObject = {"template": {"spec": {"containers": [{}] * 200}}}
    (found,) = gate_mistakes(rollout({"job": {"spec": many}}, args=long))
    assert "job.spec: with its words, and with every argument in each container" in found


def test_many_unknown_words_are_counted() -> None:
    query = " ".join(f"{{{{ word{number} }}}}" for number in range(300))
    found = gate_mistakes(rollout(asked(query)))
    assert len(found) == 9
    assert "{{ word7 }} has no value" in found[7]
    assert found[8].endswith("prometheus: and 292 more words that have no value")


def test_the_arguments_of_a_gate_are_not_walked_through_for_each_metric() -> None:
    def work(number: int) -> int:
        args = [{"name": f"a{index}", "value": "x"} for index in range(number)]
        job: JsonObject = {"job": {"spec": {"template": {"spec": {"containers": [{}]}}}}}
        obj = rollout({}, metrics=[asked("{{ nope }}"), job] * number, args=args)
        return calls(lambda: gate_mistakes(obj))

    assert work(200) < 2.3 * work(100)


def test_the_author_is_told() -> None:
    verdict = admit_rollout(None, rollout({**asked("{{ nope }}"), "interval": "0s"}), ())
    assert [text for text in verdict.warnings if "analysis.metrics[0]" in text].__len__() == 2


def test_every_word_that_a_release_gives_is_known() -> None:
    world = started()
    seen = world.observe(KEY)
    assert seen is not None
    context = as_stored(seen, world.cluster.now)
    own = {"service", "revision", "window"}
    assert words_of(context).keys() | own == WORDS_OF_A_RELEASE
