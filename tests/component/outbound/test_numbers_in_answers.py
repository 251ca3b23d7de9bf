"""Numbers and texts in the answers of a web page and of a Prometheus, and answers without one."""

import pytest
from aiohttp import web

from controller.api.analysis import Format, WebQuery
from controller.outbound import prometheus
from controller.outbound import web as pages_of
from controller.outbound.fetching import Failed
from tests.component.outbound.pages import fetching, json_page, served


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", 1.5),
        ("list.1.c", 2.0),
        ("text", "3"),
        ("yes", "true"),
        ("no", "false"),
        ("a.none", None),
        ("list.9", None),
        ("a.b.c", None),
    ],
)
async def test_a_page_is_read_at_a_path(path: str, value: float | str | None) -> None:
    page = json_page('{"a":{"b":1.5},"list":[0,{"c":2}],"text":"3","yes":true,"no":false,"n":40}')
    async with served(page) as pages, fetching(pages.address) as client:
        asked_page = WebQuery(url=f"{pages.address}/health", value_path=path, samples_path="n")
        found = await pages_of.ask(client, "shop", asked_page)
    assert found[:2] == (value, 40)
    assert (found.missing == "") == (value is not None)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("data.errorRat", "there is no errorRat in data,"),
        ("errors", "there is no errors in the page,"),
        (
            "list[0].v",
            "there is no list[0] in the page, and positions in lists are written list.0,",
        ),
        ("list.v", "list is a list of 1, and positions are written list.0,"),
        ("list.1.v", "list is a list of 1, and positions are written list.0,"),
        (f"list.{'0' * 5000}.v", "list is a list of 1, and positions are written list.0,"),
        ("list.\u0660.v", "list is a list of 1, and positions are written list.0,"),
        ("data.rate.more", "data.rate has nothing in it,"),
        ("data.none", "data.none of the page is null"),
    ],
)
async def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, text: str) -> None:
    page = json_page('{"data":{"rate":0.5,"none":null},"list":[{"v":1}]}')
    async with served(page) as pages, fetching(pages.address) as client:
        found = await pages_of.ask(client, "shop", WebQuery(url=pages.address, value_path=path))
    assert found.value is None
    assert found.missing.endswith(text)
    assert "0.5" not in found.missing


@pytest.mark.parametrize(
    "body", ['{"a":{}}', '{"a":[]}', "<html>", f'{{"a":1{"0" * 400}}}', '{"a":1,"n":true}']
)
async def test_a_page_without_a_number_or_a_text_is_an_error(body: str) -> None:
    async with served(json_page(body)) as pages, fetching(pages.address) as client:
        query = WebQuery(url=pages.address, value_path="a", samples_path="n")
        with pytest.raises(Failed, match=r"no (number|JSON)"):
            await pages_of.ask(client, "shop", query)


async def text_at(body: bytes) -> pages_of.Page:
    """A whole page as a text."""

    async def page(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=body)

    async with served(page) as pages, fetching(pages.address) as client:
        query = WebQuery(url=pages.address, format=Format.TEXT)
        return await pages_of.ask(client, "shop", query)


async def test_a_page_of_text_is_its_value_without_spaces_around_it() -> None:
    assert await text_at(b"\n ok, 3 of 3\r\n") == ("ok, 3 of 3", None, "")
    assert await text_at(b"x" * pages_of.LONGEST_TEXT + b"\n") == ("x" * 4096, None, "")


async def test_an_empty_page_of_text_is_no_data() -> None:
    assert await text_at(b" \n") == (None, None, "the page is empty,")


@pytest.mark.parametrize(
    ("body", "why"),
    [(b"x" * 4097, "more than 4 KiB of text"), (b"\xff\xfe", "the page is no text in UTF-8")],
)
async def test_a_page_that_is_no_short_text_is_an_error(body: bytes, why: str) -> None:
    with pytest.raises(Failed, match=why):
        await text_at(body)


async def test_a_long_text_in_json_is_an_error_that_does_not_repeat_it() -> None:
    page = json_page('{"a":"' + "é" * 2049 + '"}')
    async with served(page) as pages, fetching(pages.address) as client:
        with pytest.raises(Failed, match=r"^a is a text of more than 4 KiB$"):
            await pages_of.ask(client, "shop", WebQuery(url=pages.address, value_path="a"))


HISTOGRAM = '[1,{"count":"2","sum":"1","buckets":[]}]'


@pytest.mark.parametrize("ranged", [False, True])
async def test_a_native_histogram_is_said_to_be_one(ranged: bool) -> None:
    kind, field = ("matrix", "histograms") if ranged else ("vector", "histogram")
    value = f"[{HISTOGRAM}]" if ranged else HISTOGRAM
    body = (
        f'{{"status":"success","data":{{"resultType":"{kind}","result":[{{"{field}":{value}}}]}}}}'
    )
    with pytest.raises(Failed, match="the query answers a native histogram: ask for one number"):
        (prometheus.numbers if ranged else prometheus.number)(body.encode())


@pytest.mark.parametrize("at", ["1e300", "1e20", "-1e18", "-1e300", "9" * 30])
def test_a_time_that_is_in_no_calendar_is_no_answer_of_a_prometheus(at: str) -> None:
    body = f'{{"data":{{"resultType":"matrix","result":[{{"values":[[{at},"1"]]}}]}}}}'
    with pytest.raises(Failed, match="not as a Prometheus does"):
        prometheus.numbers(body.encode())


async def test_a_page_that_is_no_text_is_no_json() -> None:
    async def page(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"a": "\xff"}')

    async with served(page) as pages, fetching(pages.address) as client:
        with pytest.raises(Failed, match="the page is no JSON"):
            await pages_of.ask(client, "shop", WebQuery(url=pages.address, value_path="a"))


def test_a_series_without_a_value_is_no_answer_of_a_prometheus() -> None:
    body = b'{"status":"success","data":{"resultType":"vector","result":[{}]}}'
    with pytest.raises(Failed, match="not as a Prometheus does"):
        prometheus.number(body)
