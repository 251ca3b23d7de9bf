"""Scripts that ask, with the real worker and real HTTP servers: what is sent, and what they see."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web

from controller.domain.exchange.answer import Does, Held, Passed, SourceValue
from tests.component.luaworker.process import worker
from tests.component.outbound.asking import VALUE, asking, echo, page, slow
from tests.component.outbound.pages import Secrets

pytestmark = pytest.mark.asyncio(loop_scope="module")

DATADOG = """
if not obj.answers then
    return {ask = {{
        url = obj.params.address .. "/api/v1/query",
        query = {query = "sum:errors{*}", from = obj.now - 300, to = obj.now},
        headers = {["DD-API-KEY"] = obj.secrets.key},
    }}}
end
local answer = obj.answers[1]
if answer.status ~= 200 then error("Datadog answered " .. answer.status) end
local points = json.decode(answer.body).series[1].pointlist
return {value = points[#points - 1][2], samples = #points}
"""
SPLUNK = """
local jobs, headers = obj.params.address .. "/jobs", {Authorization = "Bearer " .. obj.secrets.key}
if not obj.answers then
    return {ask = {{url = jobs, headers = headers, form = {search = "q", sid = obj.id}}}}
end
local found = json.decode(obj.answers[1].body)
if found.sid or found.done == false then
    local sid = found.sid or obj.state.sid
    return {ask = {{url = jobs .. "/" .. sid, headers = headers}}, again = 0.01, state = {sid = sid}}
end
return {value = found.count}
"""
SEEN = """
if not obj.answers then
    return {ask = {{url = obj.params.address .. "/" .. obj.secrets.key, headers = {["X-Key"] = obj.secrets.key},
        json = {key = obj.secrets.key}}}}
end
error(obj.answers[1].status .. obj.answers[1].body .. obj.answers[1].headers["x-echo"])
"""


def asks(request: str) -> str:
    """A script that sends one request and answers its status."""
    return f"if obj.answers then return {{value = obj.answers[1].status}} end return {{ask = {{ {request} }}}}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """One worker for all of these tests."""
    address = f"unix://{tmp_path_factory.mktemp('asking')}/w"
    async with worker(address, "--cpu-ms", "1000"):
        yield address


async def test_a_source_asks_and_reads_its_answer(running: str) -> None:
    body = json.dumps({"series": [{"pointlist": [[1, 2.0], [2, 0.25], [3, 9.0]]}]})
    async with asking(running, DATADOG, page(body)) as script:
        found = await script.outcome()
    assert found.ended == SourceValue(0.25, 3)
    assert found.asked == f"GET {script.pages.address}/api/v1/query"
    ((method, path, _, headers),) = script.pages.asked
    assert (method, path, headers["DD-API-KEY"]) == ("GET", "/api/v1/query", VALUE)


async def test_a_status_is_an_answer_and_an_error_of_the_script_says_so(running: str) -> None:
    async with asking(running, DATADOG, page("no", 403)) as script:
        assert await script.failure() == "source test: Datadog answered 403 (source/test.lua:14)"


async def test_a_search_is_polled_and_its_state_goes_along(running: str) -> None:
    answers = [page('{"sid": "s1"}'), page('{"done": false}'), page('{"count": 42}')]
    async with asking(running, SPLUNK, *answers) as script:
        found = await script.outcome()
    assert found.ended == SourceValue(42.0)
    assert [(method, path) for method, path, *_ in script.pages.asked] == [
        ("POST", "/jobs"),
        ("GET", "/jobs/s1"),
        ("GET", "/jobs/s1"),
    ]
    assert script.pages.asked[0][2] == {"search": "q", "sid": "id-1"}


@pytest.mark.parametrize("status", [200, 418])
async def test_a_server_that_repeats_a_request_shows_the_script_no_value(
    running: str, status: int
) -> None:
    async with asking(running, SEEN, echo(status)) as script:
        words = await script.failure()
    seen = b"\n".join(script.runner.sent)
    for text in (VALUE, VALUE[:8], "S3cr3t%2F", json.dumps(VALUE)[1:-1], 'Value\\"'):
        assert text not in words
        assert text.encode() not in seen
    assert str(status) in words
    (asked,) = script.pages.asked
    assert asked[3]["X-Key"] == VALUE


async def test_every_part_of_a_request_arrives_as_the_script_wrote_it(running: str) -> None:
    seen: list[tuple[str, str, bytes, str]] = []

    async def noted(request: web.Request) -> web.Response:
        kind = request.headers.get("Content-Type", "")
        seen.append((request.method, request.raw_path, await request.read(), kind))
        return web.Response(status=201)

    requests = """
        {method = "PUT", url = obj.params.address .. "/a?x=1", query = {y = {1, "b c"}},
            body = "text " .. obj.secrets.key},
        {method = "PATCH", url = obj.params.address .. "/b", json = {list = {1, json.null}, key = obj.secrets.key}},
        {method = "DELETE", url = obj.params.address .. "/c"},
        {url = obj.params.address .. "/d", form = {a = obj.secrets.key}}
    """
    async with asking(running, asks(requests), noted) as script:
        assert (await script.outcome()).ended == SourceValue(201.0)
    assert {(method, path) for method, path, *_ in seen} == {
        ("PUT", "/a?x=1&y=1&y=b+c"),
        ("PATCH", "/b"),
        ("DELETE", "/c"),
        ("POST", "/d"),
    }
    bodies = {method: (body, kind) for method, _, body, kind in seen}
    assert bodies["PUT"] == (f"text {VALUE}".encode(), "text/plain; charset=utf-8")
    assert json.loads(bodies["PATCH"][0]) == {"list": [1, None], "key": VALUE}
    assert bodies["POST"][0] == b"a=S3cr3t%2F%22Value%22%2B99"


async def test_a_password_is_sent_as_basic_authorization(running: str) -> None:
    request = '{url = obj.params.address, basic = {"me", obj.secrets.key}}'
    async with asking(running, asks(request), echo()) as script:
        await script.outcome()
    (asked,) = script.pages.asked
    wanted = base64.b64encode(f"me:{VALUE}".encode()).decode()
    assert asked[3]["Authorization"] == f"Basic {wanted}"
    assert wanted.encode() not in b"".join(script.runner.sent)


async def test_a_secret_of_several_parts_is_a_path_and_leaves_no_folder(running: str) -> None:
    request = '{url = obj.params.address .. "/hook/" .. obj.secrets.key}'
    many = Secrets(vendor={"key": "T0/B0/xyz123"})
    async with asking(running, asks(request), page("ok"), secrets=many) as script:
        await script.outcome()
        assert script.pages.asked[0][1] == "/hook/T0/B0/xyz123"
    up = Secrets(vendor={"key": "../admin"})
    async with asking(running, asks(request), page("ok"), secrets=up) as script:
        assert "may not stand for another folder" in await script.failure()
        assert script.pages.asked == []


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ('{url = "http://" .. obj.secrets.key .. "/"}', "ask[1].url: a secret may not say which"),
        ('{url = "http://evil.com@" .. obj.secrets.key}', "ask[1].url: a secret may not say which"),
        ('{url = "http://other.example/"}', "not among the addresses that gates of namespace shop"),
        (
            '{url = "https://other.example/"}',
            "ask[1]: it asks by https, and the header says --@asks",
        ),
        ("{url = obj.params.address, headrs = {}}", "ask[1].headrs: there is no such field"),
        (
            '{url = obj.params.address, headers = {X = "a\\r\\nY: b"}}',
            "ask[1].headers.X: a header has no line break",
        ),
        ('{url = obj.params.address, headers = {Host = "x"}}', "may not send the header 'Host'"),
        ('{url = obj.params.address, body = "{{ secret other/key }}"}', "use obj.secrets"),
        ('{url = obj.params.address, sign = "aws"}', "the header does not say --@sign aws"),
    ],
)
async def test_a_request_that_may_not_be_sent_is_refused_in_words(
    running: str, request_: str, words: str
) -> None:
    async with asking(running, asks(request_), page("ok")) as script:
        assert words in await script.failure()
        assert script.pages.asked == []


async def test_a_line_break_in_a_secret_ends_no_header(running: str) -> None:
    request = "{url = obj.params.address, headers = {X = obj.secrets.key}}"
    broken = Secrets(vendor={"key": "value\r\nX-Other: yes"})
    async with asking(running, asks(request), page("ok"), secrets=broken) as script:
        assert "the header X has a line break" in await script.failure()
        assert script.pages.asked == []


async def test_a_redirect_is_not_followed(running: str) -> None:
    request = "{url = obj.params.address, headers = {X = obj.secrets.key}}"
    away = page("", 302, Location="http://127.0.0.1:1/")
    async with asking(running, asks(request), away) as script:
        assert "redirect (302), which is not followed" in await script.failure()


async def test_a_secret_goes_only_to_hosts_that_it_names(running: str) -> None:
    request = "{url = obj.params.address, headers = {X = obj.secrets.key}}"
    elsewhere = Secrets("api.example.com", vendor={"key": VALUE})
    async with asking(running, asks(request), page("ok"), secrets=elsewhere) as script:
        assert "names other hosts than 127.0.0.1" in await script.failure()
        assert script.pages.asked == []


async def test_all_but_reading_needs_the_allow_list_for_posts(running: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        request = f'{{url = obj.params.address, method = "{method}"}}'
        async with asking(running, asks(request), page("ok"), posts=False) as script:
            assert "--analysis-allow-post" in await script.failure()
    request = '{url = obj.params.address, method = "HEAD"}'
    async with asking(running, asks(request), page("ok"), posts=False) as script:
        assert (await script.outcome()).ended == SourceValue(200.0)


async def test_a_script_that_asks_without_end_is_ended(running: str) -> None:
    text = "return {ask = {{url = obj.params.address}}}"
    async with asking(running, text, page("ok")) as script:
        assert "may ask in 8 turns" in await script.failure()
        assert len(script.pages.asked) == 8


async def test_a_slow_server_costs_a_script_no_more_than_its_seconds(running: str) -> None:
    over = asyncio.Event()
    async with asking(running, asks("{url = obj.params.address}"), slow(over)) as script:
        words = await script.failure(seconds=0.5)
        over.set()
    assert words in {
        "source test: no answer within 0.5 s",
        f"no answer within 0.5 s from {script.pages.address}",
    }


async def test_a_mark_is_new_in_each_turn_and_is_never_kept(running: str) -> None:
    text = """
    if not obj.answers then return {ask = {{url = obj.params.address}}, state = {mark = obj.secrets.key}} end
    return {value = 1}
    """
    async with asking(running, text, page("ok")) as script:
        assert "state: a secret is not kept" in await script.failure()
    text = """
    if not obj.answers then return {ask = {{url = obj.params.address}}, state = {mark = obj.secrets.key:sub(18)}} end
    return {value = obj.state.mark == obj.secrets.key:sub(18) and 1 or 0}
    """
    async with asking(running, text, page("ok")) as script:
        assert (await script.outcome()).ended == SourceValue(0.0)


async def test_words_have_the_name_of_a_secret_in_place_of_its_mark(running: str) -> None:
    async with asking(running, 'error("bad " .. obj.secrets.key)', page("")) as script:
        assert await script.failure() == "source test: bad (secret key) (source/test.lua:5)"
    async with asking(running, "return {value = obj.secrets.key}", page("")) as script:
        assert "value: a secret may not be a value" in await script.failure()


async def test_a_missing_name_is_told_before_the_script_runs(running: str) -> None:
    text = "--@does source\n--@asks http\n--@secrets key\n--@params address\nreturn {}"
    async with asking(running, text) as script:
        with pytest.raises(Exception, match="the script needs the secret key"):
            await script.outcome(secrets=())
        with pytest.raises(Exception, match="the script has no parameter addressx"):
            await script.outcome({"addressx": 1})
        assert script.runner.sent == []


async def test_a_check_goes_on_from_the_state_that_it_left(running: str) -> None:
    text = """--@does check
--@asks get
--@params address
if obj.state and not obj.answers then
    return {ask = {{get = {apiVersion = "v1", kind = "Service", name = obj.state.name}}}}
elseif obj.answers then
    local found = obj.answers[1]
    return {pass = found.status .. " " .. (found.object and found.object.kind or "none")}
end
return {hold = "begun", again = 60, state = {name = "web"}}
"""
    async with asking(running, text, objects={"web": {"kind": "Service"}}) as script:
        first = await script.outcome(does=Does.CHECK, secrets=())
        assert first.ended == Held("begun", 60, {"name": "web"})
        for name, words in (("web", "200 Service"), ("other", "404 none")):
            later = await script.outcome(does=Does.CHECK, secrets=(), state={"name": name})
            assert later.ended == Passed(words)


async def test_requests_of_a_turn_are_sent_at_once(running: str) -> None:
    both = asyncio.Barrier(2)

    async def together(request: web.Request) -> web.Response:
        await both.wait()
        return web.Response(text="1" if request.path == "/a" else "2")

    text = """
    if not obj.answers then
        return {ask = {{url = obj.params.address .. "/a"}, {url = obj.params.address .. "/b"}}}
    end
    return {value = obj.answers[1].body .. obj.answers[2].body}
    """
    async with asking(running, text, together) as script:
        assert (await script.outcome()).ended == SourceValue("12")
