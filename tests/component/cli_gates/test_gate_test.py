"""`gate test` as a person runs it: a file in, readings of a metric source over real HTTP and an exit code out."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.component.cli.double import cluster, make_rollout
from tests.component.cli_gates.metrics import Value, gate_test, source
from tests.component.kube.faulty_server import status

QUERY = 'rate(errors{service="{{ service }}"}[{{ window }}])'
SENT = 'rate(errors{service="web-canary"}[5m])'
OF_STABLE = 'rate(errors{service="web"}[5m])'


def metric(**fields: Any) -> dict[str, Any]:
    return {
        "name": "errors",
        "success": {"max": 0.01},
        "prometheus": {"query": QUERY, "address": "http://prometheus.nowhere:9090"},
        **fields,
    }


def gate(*metrics: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"metrics": list(metrics), **fields}


def rollout(step: dict[str, Any], background: dict[str, Any] | None = None) -> dict[str, Any]:
    canary: dict[str, Any] = {
        "steps": [{"replicas": "20%", "traffic": "20%", "analysis": step}, {"replicas": "100%"}],
        "trafficRoutings": [
            {"service": "web", "gateway": {"httpRouteName": "web"}},
        ],
    }
    if background is not None:
        canary["analysis"] = background
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "strategy": {"canary": canary},
        },
    }


def written(directory: Path, *objects: dict[str, Any]) -> str:
    path = directory / "gate.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def always(value: Value) -> Any:
    return lambda query, at: value


async def test_a_good_gate_shows_query_value_reason_and_series(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric())))
    async with source(lambda query, at: at // 60 % 7 / 1000) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address)
    assert result.exit_code == 0, result.output
    assert asked.queries == {SENT}
    lines = result.output.splitlines()
    assert lines[0] == "Gate: step 1"
    assert lines[1] == "  errors  Good  0 is within its bounds"
    assert lines[2] == f"    query    {SENT}"
    assert lines[3] == "    now      value 0"
    assert "▁" in lines[4]
    assert "█" in lines[4]
    assert lines[4].endswith("0 to 0.006 in the last hour")


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.5, 3, "Bad  0.5 is above 0.01"),
        (None, 4, "NoData  the query answered no value for the new revision; noData: hold"),
        (float("nan"), 4, "NoData"),
        (float("inf"), 1, "Error  the query answered +Inf for the new revision"),
        (float("-inf"), 1, "Error  the query answered -Inf for the new revision"),
    ],
)
async def test_the_exit_code_agrees_with_the_value(
    tmp_path: Path, value: Value, code: int, text: str
) -> None:
    file = written(tmp_path, gate(metric()))
    async with source(always(value)) as asked:
        result = await gate_test(
            *("-f", file, "--prometheus", asked.address, "--arg", "canary.service=web-canary")
        )
    assert (result.exit_code, text in result.output) == (code, True), result.output


async def test_a_source_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric())))
    async with source(always(1.0)) as gone:
        pass
    result = await gate_test("-f", file, "--prometheus", gone.address)
    assert result.exit_code == 1
    assert "errors  Error  no connection to http://127.0.0.1" in result.output
    assert "no series: no connection" in result.output


async def test_a_dry_run_decides_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, rollout(gate(metric(dryRun=True))))
    async with source(always(0.5)) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address)
    assert result.exit_code == 0
    assert "Bad  0.5 is above 0.01  (dry run: decides nothing)" in result.output


async def test_both_revisions_are_asked_where_they_are_compared(tmp_path: Path) -> None:
    compared = metric(compare={"ratio": {"max": 2}}, minSamples=100)
    compared["prometheus"]["samples"] = 'requests{service="{{ service }}"}'
    del compared["success"]
    values = {
        SENT: 0.3,
        OF_STABLE: 0.1,
        'requests{service="web-canary"}': 150.0,
        'requests{service="web"}': 900.0,
    }
    file = written(tmp_path, rollout(gate(compared)))
    async with source(lambda query, at: values[query]) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address, "-o", "json")
    assert result.exit_code == 3
    (tried,) = json.loads(result.output)["gates"]
    (found,) = tried["metrics"]
    assert (found["value"], found["stable"], found["samples"]) == (0.3, 0.1, 150.0)
    assert found["reading"] == "Bad"
    assert "the ratio 3 is above 2" in found["reason"]
    assert [(one["side"], len(one["values"])) for one in found["series"]] == [
        ("new", 61),
        ("stable", 61),
    ]


async def test_a_page_of_json_is_asked_as_well(tmp_path: Path) -> None:
    async with source(always(None)) as asked:
        web = {
            "name": "page",
            "success": {"max": 0.5},
            "web": {"url": f"{asked.address}/page.json", "valuePath": "rate"},
        }
        result = await gate_test("-f", written(tmp_path, gate(web)), "--header", "X-Who: me")
    assert result.exit_code == 0, result.output
    assert "page  Good  0.25 is within its bounds" in result.output
    assert [(path, headers["X-Who"]) for path, _, headers in asked.asked] == [("/page.json", "me")]


async def test_a_page_of_text_is_shown_with_its_text(tmp_path: Path) -> None:
    async with source(always(None)) as asked:
        health = {
            "name": "health",
            "success": {"equals": "ok"},
            "failure": {"matches": "^down"},
            "web": {
                "url": f"{asked.address}/health",
                "format": "text",
                "method": "POST",
                "body": '{"of": "{{ service }}"}',
            },
        }
        file = written(tmp_path, gate(health))
        result = await gate_test("-f", file, "--arg", "canary.service=shop")
    assert result.exit_code == 4, result.output
    assert 'health  Unclear  a text of 8 characters is not "ok"' in result.output
    assert f'query    POST {asked.address}/health {{"of": "shop"}}' in result.output
    assert "now      value degraded" in result.output


async def test_an_expression_that_cannot_be_used_is_not_asked(tmp_path: Path) -> None:
    web = {"url": "http://127.0.0.1:1", "valuePath": "a"}
    bad = {"name": "health", "success": {"matches": "(?=a)"}, "web": web}
    result = await gate_test("-f", written(tmp_path, gate(bad)))
    assert result.exit_code == 1
    assert "success.matches: (?=a) cannot be used: (?=: look-around" in result.output


async def test_a_token_of_a_file_takes_the_place_of_the_secret(tmp_path: Path) -> None:
    secret = metric()
    secret["prometheus"]["auth"] = {"name": "prometheus"}
    token = tmp_path / "token"
    token.write_text("t0ken\n")
    file = written(tmp_path, rollout(gate(secret)))
    async with source(always(0.0)) as asked:
        result = await gate_test(
            *("-f", file, "--prometheus", asked.address, "--bearer-token-file", str(token))
        )
    assert result.exit_code == 0
    assert {headers["Authorization"] for _, _, headers in asked.asked} == {"Bearer t0ken"}


async def test_a_template_is_tried_by_itself_with_its_arguments(tmp_path: Path) -> None:
    template = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "AnalysisTemplate",
        "metadata": {"name": "errors"},
        "spec": {
            "args": [{"name": "limit"}],
            "metrics": [metric(prometheus={"query": "errors / {{ args.limit }}"})],
        },
    }
    file = written(tmp_path, template)
    async with source(always(0.0)) as asked:
        missing = await gate_test("-f", file, "--prometheus", asked.address)
        result = await gate_test("-f", file, "--prometheus", asked.address, "--arg", "limit=2")
    assert missing.exit_code == 1
    assert "the argument limit has no value" in missing.output
    assert "say it with --arg" in " ".join(missing.output.split())
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Gate: AnalysisTemplate errors\n")
    assert asked.queries == {"errors / 2"}


async def test_one_step_is_chosen_and_0_is_the_background(tmp_path: Path) -> None:
    background = gate(metric(prometheus={"query": "background"}), startingStep=1)
    file = written(tmp_path, rollout(gate(metric()), background))
    async with source(always(0.0)) as asked:
        both = await gate_test("-f", file, "--prometheus", asked.address)
        one = await gate_test("-f", file, "--prometheus", asked.address, "--step", "0")
        none = await gate_test("-f", file, "--prometheus", asked.address, "--step", "2")
    assert [line for line in both.output.splitlines() if line.startswith("Gate")] == [
        "Gate: in the background",
        "Gate: step 1",
    ]
    assert "background" in one.output
    assert SENT not in one.output
    assert none.output == (
        "error: there is no gate at step 2: a step or the strategy needs an analysis\n"
    )


async def test_a_word_without_a_value_is_reported_with_the_way_to_say_it(tmp_path: Path) -> None:
    file = written(tmp_path, gate(metric(prometheus={"query": "{{ canary.revision }}"})))
    async with source(always(0.0)) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address)
    assert result.exit_code == 1
    assert "{{ canary.revision }} has no value here" in result.output
    assert "--arg NAME=VALUE" in result.output
    assert asked.asked == []


async def test_a_job_is_reported_as_not_tried(tmp_path: Path) -> None:
    file = written(tmp_path, gate({"name": "smoke", "job": {"spec": {"template": {}}}}))
    result = await gate_test("-f", file)
    assert result.exit_code == 1
    assert "a Job is run by the controller only" in result.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "-f FILE is needed, or --from-rollout NAME"),
        (("--arg", "limit"), "--arg limit: write it as NAME=VALUE"),
        (("--header", "token"), "write it as 'NAME: VALUE'"),
    ],
)
async def test_a_wrong_command_line_is_reported(
    tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    file = () if not arguments else ("-f", written(tmp_path, gate(metric())))
    result = await gate_test(*file, *arguments)
    assert result.exit_code != 0
    assert text in result.output


async def test_a_metric_without_an_address_asks_for_one(tmp_path: Path) -> None:
    file = written(tmp_path, gate(metric(prometheus={"query": "up"})))
    result = await gate_test("-f", file)
    assert "metric errors names no address: give --prometheus" in result.output


async def test_several_rollouts_among_the_files_are_reported(tmp_path: Path) -> None:
    one = rollout(gate(metric()))
    twice = await gate_test("-f", written(tmp_path, one, one))
    assert "there are several Rollouts among the files" in twice.output


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        ({"name": 3}, "metrics[0].name: Invalid value"),
        (metric(succeeds={"min": 2}), 'unknown field "metrics[0].succeeds"'),
        (metric(success={"min": 2, "max": 1}), "metrics[0].success: min is greater than max"),
        (metric(web={"url": "http://x", "valuePath": "a"}), "give exactly one of prometheus"),
        (metric(count=0), "metrics[0].count: Invalid value: 0 should be at least 1"),
    ],
)
async def test_a_gate_that_no_api_server_takes_is_not_measured(
    tmp_path: Path, refused: dict[str, Any], why: str
) -> None:
    async with source(always(0.0)) as asked:
        result = await gate_test(
            "-f", written(tmp_path, gate(refused)), "--prometheus", asked.address
        )
        whole = await gate_test("-f", written(tmp_path, rollout(gate(refused))))
    assert (result.exit_code, whole.exit_code) == (1, 1)
    assert "error: the analysis would be refused: " in result.output
    assert why in result.output
    assert "error: Rollout web would be refused: " in whole.output
    assert asked.asked == []


async def test_a_past_without_length_is_no_past(tmp_path: Path) -> None:
    async with source(always(0.0)) as asked:
        result = await gate_test(
            *("-f", written(tmp_path, gate(metric()))),
            *("--prometheus", asked.address, "--replay", "0s"),
        )
    assert result.exit_code == 2
    assert "--replay: give a duration, for example 7d" in result.output


# --- the live Rollout ---------------------------------------------------------------------------

TEMPLATES = "/apis/rollouts.kruise.io/v1alpha1/namespaces/default/analysistemplates"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
APPS = {
    "kind": "APIResourceList",
    "groupVersion": "apps/v1",
    "resources": [{"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": []}],
}


def live_rollout() -> dict[str, Any]:
    live = make_rollout()
    canary = live["spec"]["strategy"]["canary"]
    canary["trafficRoutings"] = [{"service": "web", "ingress": {"name": "web"}}]
    canary["steps"][0]["analysis"] = {"templates": [{"name": "errors"}]}
    live["status"]["canaryStatus"]["podTemplateHash"] = "new7"
    return live


async def test_from_rollout_fills_words_templates_and_arguments(tmp_path: Path) -> None:
    template = {
        "metadata": {"name": "errors"},
        "spec": {
            "args": [{"name": "team", "valueFrom": {"label": "team"}}],
            "metrics": [
                metric(
                    prometheus={
                        "query": '{hash="{{ revision }}",not="{{ stable.revision }}",team="{{ args.team }}"}'
                    }
                )
            ],
        },
    }
    workload = {"metadata": {"name": "app", "labels": {"team": "blue"}}, "spec": {}}
    async with cluster(tmp_path, live_rollout()) as api, source(always(0.0)) as asked:
        api.collections[TEMPLATES] = [template]
        api.collections[DEPLOYMENTS] = [workload]
        api.overrides["GET", "/apis/apps/v1"] = (200, APPS)
        result = await api.run(
            *("gate", "test", "--from-rollout", "web", "--prometheus", asked.address)
        )
    assert result.exit_code == 0, result.output
    assert asked.queries == {'{hash="new7",not="old1",team="blue"}'}


async def test_from_rollout_reads_the_templates_that_templates_name(tmp_path: Path) -> None:
    outer = {"metadata": {"name": "errors"}, "spec": {"templates": [{"name": "inner"}]}}
    queried = metric(prometheus={"query": "up"})
    inner = {
        "metadata": {"name": "inner"},
        "spec": {"templates": [{"name": "errors"}], "metrics": [queried]},
    }
    fine = {"metadata": {"name": "inner"}, "spec": {"metrics": [queried]}}
    async with cluster(tmp_path, live_rollout()) as api, source(always(0.0)) as asked:
        api.collections[TEMPLATES] = [outer, inner]
        arguments = ("gate", "test", "--from-rollout", "web", "--prometheus", asked.address)
        circle = await api.run(*arguments)
        api.collections[TEMPLATES] = [outer, fine]
        result = await api.run(*arguments)
    assert circle.exit_code == 1
    assert "templates name each other in a circle" in circle.output
    assert result.exit_code == 0, result.output
    assert asked.queries == {"up"}


async def test_a_file_is_tried_with_the_words_of_the_live_release(tmp_path: Path) -> None:
    file = written(tmp_path, gate(metric(prometheus={"query": "{{ canary.revision }}"})))
    async with cluster(tmp_path, live_rollout()) as api, source(always(0.0)) as asked:
        result = await api.run(
            *("gate", "test", "-f", file, "--from-rollout", "web", "--prometheus", asked.address)
        )
    assert result.exit_code == 0, result.output
    assert asked.queries == {"new7"}


async def test_a_template_that_is_missing_is_named(tmp_path: Path) -> None:
    async with cluster(tmp_path, live_rollout()) as api:
        result = await api.run(
            *("gate", "test", "--from-rollout", "web", "--prometheus", "http://nowhere:1")
        )
    assert result.exit_code == 1
    assert "AnalysisTemplate errors does not exist" in result.output


SECRETS = "/api/v1/namespaces/default/secrets"
GUARDED = {"query": "up", "address": "http://prometheus.nowhere:9090", "auth": {"name": "metrics"}}


def secret(token: str, send_to: str = "prometheus.nowhere") -> dict[str, Any]:
    data = {"token": base64.b64encode(token.encode()).decode()}
    annotations = {"moonshift.dev/send-to": send_to} if send_to else {}
    return {"metadata": {"name": "metrics", "annotations": annotations}, "data": data}


async def test_the_secret_of_a_metric_is_read_where_a_cluster_is_at_hand(tmp_path: Path) -> None:
    file = written(tmp_path, gate(metric(prometheus=GUARDED)))
    live = ("-f", file, "--from-rollout", "web")
    token = tmp_path / "token"
    token.write_text("mine")
    async with cluster(tmp_path, live_rollout()) as api, source(always(0.0)) as asked:
        api.collections[SECRETS] = [secret("theirs")]
        result = await api.run("gate", "test", *live, "--prometheus", asked.address)
        assert result.exit_code == 0, result.output
        assert "theirs" not in result.output
        assert {sent["Authorization"] for *_, sent in asked.asked} == {"Bearer theirs"}
        asked.asked.clear()
        given = ("--prometheus", asked.address, "--bearer-token-file", str(token))
        await api.run("gate", "test", *live, *given)
        assert {sent["Authorization"] for *_, sent in asked.asked} == {"Bearer mine"}


async def test_a_secret_that_is_not_meant_for_gates_is_not_sent(tmp_path: Path) -> None:
    file = written(tmp_path, gate(metric(prometheus=GUARDED)))
    live = ("-f", file, "--from-rollout", "web")
    async with cluster(tmp_path, live_rollout()) as api, source(always(0.0)) as asked:
        api.collections[SECRETS] = [secret("theirs", send_to="")]
        result = await api.run("gate", "test", *live, "--prometheus", asked.address)
    assert result.exit_code == 1
    assert "Secret default/metrics has no annotation moonshift.dev/send-to" in result.output
    assert asked.asked == []


async def test_the_author_of_a_rollout_does_not_choose_where_a_secret_is_sent(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path, live_rollout()) as api, source(always(0.0)) as asked:
        file = written(tmp_path, gate(metric(prometheus={**GUARDED, "address": asked.address})))
        api.collections[SECRETS] = [secret("theirs")]
        result = await api.run("gate", "test", "-f", file, "--from-rollout", "web")
    assert result.exit_code == 1
    assert "Secret default/metrics names other hosts than 127.0.0.1" in result.output
    assert asked.asked == []


async def test_a_user_without_the_right_to_the_secret_learns_which_right_to_grant(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, gate(metric(prometheus=GUARDED)))
    async with cluster(tmp_path, live_rollout()) as api, source(always(0.0)) as asked:
        refusal = 'secrets "metrics" is forbidden: User "ann" cannot get resource "secrets" in API group ""'
        api.overrides["GET", f"{SECRETS}/metrics"] = (403, status(403, "Forbidden", refusal))
        result = await api.run(
            *("gate", "test", "-f", file, "--from-rollout", "web", "--prometheus", asked.address)
        )
    assert result.exit_code == 1
    assert "grant get on secrets to user ann; or give --bearer-token-file" in result.output


async def test_without_a_cluster_the_secret_is_not_read(tmp_path: Path) -> None:
    file = written(tmp_path, gate(metric(prometheus=GUARDED)))
    async with source(always(0.0)) as asked:
        result = await gate_test("-f", file, "--prometheus", asked.address)
    assert result.exit_code == 0, result.output
    assert all("Authorization" not in sent for *_, sent in asked.asked)


async def test_a_problem_that_no_argument_solves_gets_no_hint_at_arguments(tmp_path: Path) -> None:
    file = written(tmp_path, gate(metric(), metric()))
    result = await gate_test("-f", file, "--prometheus", "http://127.0.0.1:9")
    assert "two metrics are named" in " ".join(result.output.split())
    assert "--arg" not in result.output
