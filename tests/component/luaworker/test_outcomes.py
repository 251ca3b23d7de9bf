"""Every way a script can end, through the real process boundary."""

import pytest

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker

ARTICLE = """\
local spec = obj.data.spec -- Get the spec of the resource, and obj.data is the state information of the resource.
local canary = {} -- Initialize a canary routing rule that points to the new version.
canary.labels = {} -- Initialize labels of canary routing rules.
canary.name = "canary" -- Define the canary routing rule name.
-- Loop over the pod label of the new version of the rollout configuration.
for k, v in pairs(obj.patchPodMetadata.labels) do 
  canary.labels[k] = v -- Add pod labels to the canary rule.
end
t table.insert(spec.subsets, canary) -- Insert the canary rule into the spec.subsets of the resource.
return obj.data -- Return resource status.
"""  # noqa: W291
UNCLOSED = """\
local spec = obj.data.spec
local canary = {}
canary.labels = {}
canary.name = "canary"
local podLabelKey = "istio.service.tag"
canary.labels[podLabelKey] = "gray
table.insert(spec.subsets, canary)
return obj.data
"""


async def test_the_articles_script_as_printed_is_refused_with_its_line(
    shared_worker: Worker,
) -> None:
    answer = await shared_worker.run(ARTICLE, name="lua.traffic.routing.DestinationRule")
    assert answer.code == pb.SYNTAX_ERROR
    assert answer.line == 9
    assert answer.message.startswith("lua.traffic.routing.DestinationRule:9: ")


async def test_the_articles_script_repaired_uses_the_pods_labels(shared_worker: Worker) -> None:
    answer = await shared_worker.run(
        ARTICLE.replace("t table.insert", "table.insert"),
        '{"data":{"spec":{"host":"mocka","subsets":[]}},'
        '"patchPodMetadata":{"labels":{"version":"canary"},"annotations":{}}}',
    )
    assert answer.result_json == (
        b'{"spec":{"host":"mocka","subsets":[{"labels":{"version":"canary"},"name":"canary"}]}}'
    )


async def test_an_unclosed_string_is_a_syntax_error_with_its_line(shared_worker: Worker) -> None:
    answer = await shared_worker.run(UNCLOSED)
    assert (answer.code, answer.line) == (pb.SYNTAX_ERROR, 6)


async def test_a_runtime_error_names_line_and_traceback(shared_worker: Worker) -> None:
    script = "local function f()\n  local x\n  return x.y\nend\nf()\nreturn {}"
    answer = await shared_worker.run(script, name="VirtualService.networking.istio.io")
    assert (answer.code, answer.line) == (pb.RUNTIME_ERROR, 3)
    assert "attempt to index local 'x'" in answer.message
    assert answer.traceback.splitlines() == [
        "VirtualService.networking.istio.io:3: in function f",
        "VirtualService.networking.istio.io:5: in main chunk",
    ]


@pytest.mark.parametrize(
    ("script", "kind"),
    [("", "nil"), ("return", "nil"), ("return 1", "number"), ("return 'x'", "string")],
)
async def test_a_result_that_is_no_table_is_refused_in_the_originals_words(
    shared_worker: Worker, script: str, kind: str
) -> None:
    answer = await shared_worker.run(script)
    assert answer.code == pb.BAD_RESULT
    assert answer.message == f"expect table output from Lua script, not {kind}"


async def test_the_last_of_several_results_is_taken(shared_worker: Worker) -> None:
    assert (await shared_worker.run("return 1, {a = 2}")).result_json == b'{"a":2}'


@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("return {spec = {run = print}}", "$.spec.run"),
        ("return {list = {1, nil, 3}}", "$.list"),
        ("return {a = {1, b = 2}}", "$.a"),
        ("return {w = {0/0}}", "$.w[0]"),
        ("return {['x y'] = 1/0}", '$["x y"]'),
        ("local t = {} t.t = {t} return t", "$.t[0]"),
        ("return {text = '\\255'}", "$.text"),
    ],
)
async def test_values_without_a_json_form_are_refused_with_their_path(
    shared_worker: Worker, script: str, path: str
) -> None:
    answer = await shared_worker.run(script)
    assert (answer.code, answer.json_path) == (pb.BAD_RESULT, path)


async def test_an_output_beyond_the_limit_is_refused(shared_worker: Worker) -> None:
    # In two goes: five million repetitions of one letter take a busy machine longer than the CPU limit allows.
    answer = await shared_worker.run("return {x = ('y'):rep(1024):rep(5 * 1024)}")
    assert (answer.code, answer.json_path) == (pb.BAD_RESULT, "$.x")


async def test_one_table_in_two_places_is_no_cycle(shared_worker: Worker) -> None:
    answer = await shared_worker.run("local t = {k = 1} return {a = t, b = t}")
    assert answer.result_json == b'{"a":{"k":1},"b":{"k":1}}'


async def test_an_object_that_is_not_json_is_bad_input(shared_worker: Worker) -> None:
    answer = await shared_worker.run("return {}", '{"a":')
    assert answer.code == pb.BAD_INPUT


async def test_an_object_of_two_hundred_kilobytes_goes_through_unchanged(
    shared_worker: Worker,
) -> None:
    body = b"[" + b",".join([b'{"a":{},"b":[],"c":1e2,"d":"x"}'] * 8000) + b"]"
    answer = await shared_worker.run(
        "return obj", body, limits=pb.Limits(cpu_ms=2000, wall_ms=5000)
    )
    assert answer.result_json == body


async def test_a_scripts_output_comes_back(shared_worker: Worker) -> None:
    answer = await shared_worker.run("print('a', 1, nil) print(2^53) return {}")
    assert list(answer.log) == ["a\t1\tnil", "9007199254740992"]


async def test_printing_is_bounded(shared_worker: Worker) -> None:
    answer = await shared_worker.run("for i = 1, 10000 do print(('x'):rep(100)) end return {}")
    assert answer.code == pb.OK
    assert 0 < sum(map(len, answer.log)) <= 8192


async def test_validation_compiles_and_runs_nothing(shared_worker: Worker) -> None:
    good = await shared_worker.stub.Validate(pb.ValidateRequest(script=b"error('run')"))
    bad = await shared_worker.stub.Validate(pb.ValidateRequest(script=b"x =", script_name="s"))
    assert good.code == pb.OK
    assert (bad.code, bad.line) == (pb.SYNTAX_ERROR, 1)
