"""Parameters of a script that asks: words of others are whole values or plain, and no Secret is a parameter."""

import msgspec
import pytest

from controller.api.analysis import (
    Analysis,
    AnalysisTemplate,
    AnalysisTemplateSpec,
    Argument,
    ArgumentSource,
    Metric,
    ScriptRef,
    SecretKey,
    SourceQuery,
    TemplateRef,
    ValueRule,
)
from controller.api.meta import ObjectMeta
from controller.api.rollout import Step
from controller.domain.decision import OwnScript, Refusal
from controller.domain.exchange.release import about_release
from controller.domain.gates.asking import asked_about
from controller.domain.gates.in_source import PLAIN, parameters
from controller.domain.gates.templates import own_script, own_scripts_of
from controller.domain.gates.watching import Asked
from tests.unit.builders import make_rollout, make_strategy

WORDS = {
    "namespace": "shop",
    "rollout": "web",
    "step": "2",
    "weight": "20",
    "canary.service": "web-canary",
    "stable.service": "web",
    "canary.revision": "abc",
    "stable.revision": "",
}
OWN = ScriptRef("scripts", "", "asker")


def source(script_ref: ScriptRef | None = None, **params: object) -> SourceQuery:
    raw = {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in params.items()}
    return SourceQuery("datadog", raw, {"apiKey": SecretKey("dd", "api")}, script_ref=script_ref)


def metric(query: SourceQuery, rule: ValueRule | None = None) -> Metric:
    return Metric("errors", source=query, success=rule or ValueRule(max=1))


def asked(one: Metric, text: str = "", *, secret: bool = False) -> tuple[Asked, ...] | Refusal:
    where = ArgumentSource(secret=SecretKey("s", "k")) if secret else ArgumentSource(annotation="a")
    args = (Argument("team", value_from=where),) if text or secret else ()
    workload = ObjectMeta(annotations={"a": text})
    return asked_about(Analysis(metrics=(one,), args=args), {}, workload, WORDS, {})


def filled(one: Metric, text: str = "") -> dict[str, bool | int | float | str]:
    found = asked(one, text)
    assert not isinstance(found, Refusal), found
    made = found[0].new.source
    assert made is not None
    return parameters(made)


def refused(one: Metric, text: str = "", *, secret: bool = False) -> str:
    found = asked(one, text, secret=secret)
    assert isinstance(found, Refusal)
    return found.message


def test_words_of_the_release_are_filled_in_and_numbers_stay() -> None:
    query = source(query="sum:errors{service:{{ canary.service }}}", period=60, all=True)
    assert filled(metric(query)) == {
        "query": "sum:errors{service:web-canary}",
        "period": 60,
        "all": True,
    }


@pytest.mark.parametrize("text", ["payments", 'any "text" {x} OR 1=1'])
def test_a_word_of_others_is_a_whole_parameter(text: str) -> None:
    assert filled(metric(source(team="{{ args.team }}")), text) == {"team": text}


def test_inside_of_a_text_a_word_of_others_is_plain() -> None:
    one = metric(source(query="team:{{ args.team }}"))
    assert filled(one, "pay-1.x") == {"query": "team:pay-1.x"}
    assert PLAIN in refused(one, "x OR 1=1")
    assert "may not hold a line break" in refused(metric(source(a="{{ args.team }}")), "a\nb")


def test_a_name_of_the_release_that_is_no_name_is_refused() -> None:
    words = WORDS | {"canary.revision": "a\nb"}
    one = metric(source(revision="{{ canary.revision }}"))
    found = asked_about(Analysis(metrics=(one,)), {}, ObjectMeta(), words, {})
    assert isinstance(found, Refusal)
    assert "may not hold a line break" in found.message


def test_the_scripts_of_the_namespace_that_gates_name_are_known() -> None:
    own, packaged = metric(source(OWN)), metric(source())
    analysis = Analysis(metrics=(packaged, own, Metric("other")))
    rollout = make_rollout(strategy=make_strategy(steps=(Step(replicas=1, analysis=analysis),)))
    namespace = rollout.metadata.namespace
    assert own_scripts_of(rollout) == (OwnScript(namespace, "scripts", "asker", ""),)


def test_a_secret_is_no_parameter() -> None:
    words = refused(metric(source(a="{{ args.team }}")), secret=True)
    assert "name the Secret under secrets of the source" in words


def test_a_script_may_answer_a_text() -> None:
    one = metric(source(), ValueRule(equals="ok"))
    assert not isinstance(asked(one), Refusal)
    assert not isinstance(asked(metric(source(), ValueRule(matches="^ok$"))), Refusal)


def test_a_parameter_is_a_text_a_number_or_a_truth() -> None:
    assert "source.params.query: a parameter is a text" in refused(metric(source(query=["a"])))


def test_a_secret_has_a_name_and_a_key() -> None:
    query = SourceQuery("datadog", secrets={"apiKey": SecretKey("", "api")})
    assert "source.secrets.apiKey: give the name and the key" in refused(metric(query))


def test_words_go_along_with_a_script_only() -> None:
    found = asked(metric(source()))
    assert not isinstance(found, Refusal)
    assert found[0].words == WORDS


def test_a_template_may_not_name_a_service_account() -> None:
    template = AnalysisTemplate(
        ObjectMeta(name="shared"), AnalysisTemplateSpec(metrics=(metric(source(OWN)),))
    )
    ref = TemplateRef("shared")
    found = asked_about(Analysis(templates=(ref,)), {ref: template}, ObjectMeta(), WORDS, {})
    assert isinstance(found, Refusal)
    assert "scriptRef may stand only in a Rollout" in found.message


def test_a_script_of_the_namespace_has_its_config_map_and_its_account() -> None:
    assert own_script(source(OWN), "shop") == OwnScript("shop", "scripts", "asker", "")
    assert own_script(source(), "shop") == OwnScript("shop", "", "", "")


def test_a_script_learns_the_facts_of_the_release_that_are_known() -> None:
    assert about_release(WORDS, "stable") == {
        "service": "web",
        "release": {
            "rollout": "web",
            "namespace": "shop",
            "revision": "abc",
            "step": 2,
            "weight": 20,
        },
    }
    assert about_release({"weight": "33.3", "canary.revision": "abc"}, "canary") == {
        "revision": "abc",
        "release": {"revision": "abc"},
    }
