"""Bodies that a gate sends with a POST, received by a real HTTP server."""

import json

import pytest
from aiohttp import web
from msgspec import structs

from controller.api.analysis import Header, Method, PrometheusQuery, SecretRef, WebQuery
from controller.outbound import prometheus
from controller.outbound import web as pages_of
from controller.outbound.fetching import Failed, Request
from tests.component.outbound.pages import Secrets, fetching, served, vector

SECRET = 'p"w\\{{é'
CREDS = Secrets(creds={"key": SECRET + "\n"})
PLACE = "{{ secret creds/key }}"


class Received:
    """Keeps what it was sent, and repeats a part of it if it is told to."""

    def __init__(self, answer: str = '{"rate": 0.5}') -> None:
        self.bodies: list[bytes] = []
        self.types: list[list[str]] = []
        self._answer = answer

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Answer."""
        self.bodies.append(await request.read())
        self.types.append(request.headers.getall("Content-Type", []))
        repeated = self.bodies[-1].decode() if self._answer == "repeat" else self._answer
        return web.Response(text=repeated, content_type="application/json")


def posted(body: str, *headers: Header) -> WebQuery:
    return WebQuery(value_path="rate", method=Method.POST, body=body, headers=headers)


async def ask(received: Received, query: WebQuery) -> pages_of.Page:
    async with served(received) as pages, fetching(pages.address, secrets=CREDS) as client:
        query = structs.replace(query, url=pages.address)
        found = await pages_of.ask(client, "shop", query)
        assert [method for method, *_ in pages.asked] == ["POST"]
        return found


async def test_a_body_is_sent_as_json_and_its_answer_is_read() -> None:
    received = Received()
    found = await ask(received, posted('{"ask": "rate"}'))
    assert found.value == 0.5
    assert received.bodies == [b'{"ask": "rate"}']
    assert received.types == [["application/json"]]


async def test_a_gate_may_say_the_type_of_its_body() -> None:
    received = Received()
    await ask(received, posted("ask=rate", Header("content-type", "text/plain")))
    assert received.types == [["text/plain"]]


async def test_a_body_has_one_type() -> None:
    two = (Header("Content-Type", "text/plain"), Header("content-type", "application/json"))
    with pytest.raises(Failed, match="sends one Content-Type"):
        await ask(Received(), posted("x", *two))


@pytest.mark.parametrize("name", ["Content-Length", "Content_Type", "Transfer-Encoding"])
async def test_a_gate_with_a_body_frames_no_message(name: str) -> None:
    with pytest.raises(Failed, match="may not send the header"):
        await ask(Received(), posted("x", Header(name, "1")))


async def test_a_request_without_a_body_has_no_type() -> None:
    asked = Request("shop", "http://a.test", headers=(Header("Content-Type", "text/plain"),))
    async with fetching("http://a.test") as client:
        with pytest.raises(Failed, match="may not send the header 'Content-Type'"):
            await client.fetch(asked)


async def test_a_post_without_a_body_is_a_post() -> None:
    received = Received()
    assert (await ask(received, posted(""))).value == 0.5
    assert received.bodies == [b""]


async def test_the_value_of_a_secret_is_the_content_of_a_string_of_json() -> None:
    received = Received()
    await ask(received, posted(f'{{"key": "{PLACE}"}}'))
    assert json.loads(received.bodies[0]) == {"key": SECRET}


async def test_the_value_of_a_secret_in_another_body_is_sent_as_it_is() -> None:
    received = Received()
    await ask(received, posted(f"key={PLACE}", Header("Content-Type", "text/plain")))
    assert received.bodies == [f"key={SECRET}".encode()]


async def test_an_answer_that_repeats_a_body_with_a_secret_is_not_used() -> None:
    secrets = Secrets(creds={"key": 'quite-"secret"'})
    query = f'{{"rate": "{PLACE}"}}'
    async with served(Received("repeat")) as pages, fetching(pages.address, secrets=secrets) as one:
        with pytest.raises(Failed, match="repeats a value of a Secret"):
            await pages_of.ask(one, "shop", structs.replace(posted(query), url=pages.address))


async def test_a_body_with_a_secret_goes_only_to_a_host_that_the_secret_names() -> None:
    secrets = Secrets("metrics.example.com", creds={"key": "k"})
    received = Received()
    async with served(received) as pages, fetching(pages.address, secrets=secrets) as client:
        with pytest.raises(Failed, match="names other hosts"):
            await pages_of.ask(client, "shop", structs.replace(posted(PLACE), url=pages.address))
    assert received.bodies == []


async def test_a_redirect_of_a_post_is_not_followed() -> None:
    other = Received()

    async def elsewhere(_: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": there.address})

    async with (
        served(other) as there,
        served(elsewhere) as pages,
        fetching(pages.address, there.address) as client,
    ):
        with pytest.raises(Failed, match="a redirect \\(307\\), which is not followed"):
            await pages_of.ask(client, "shop", structs.replace(posted("{}"), url=pages.address))
    assert other.bodies == []


def test_a_post_is_shown_with_its_body_and_without_the_value_of_its_secret() -> None:
    query = structs.replace(posted(f'{{"key": "{PLACE}"}}'), url="http://a/b")
    assert pages_of.shown(query) == f'POST http://a/b {{"key": "{PLACE}"}}'
    assert pages_of.shown(WebQuery("http://a/b")) == "http://a/b"


async def test_a_post_goes_only_to_an_address_that_is_allowed_to_get_one() -> None:
    received = Received()
    async with served(received) as pages, fetching(pages.address, posts=False) as client:
        with pytest.raises(Failed, match=r"may send a POST: .* --analysis-allow-post"):
            await pages_of.ask(client, "shop", structs.replace(posted("{}"), url=pages.address))
    assert received.bodies == []


async def test_a_secret_sends_no_form_to_a_server_of_tokens_that_may_only_be_read() -> None:
    received = Received()
    async with served(received) as pages:
        own = {"tokenURL": f"{pages.address}/admin/delete?match=a", "scope": "a&b=c"}
        query = WebQuery(url=pages.address, value_path="rate", auth=SecretRef("own"))
        async with fetching(pages.address, secrets=Secrets(own=own), posts=False) as client:
            with pytest.raises(Failed, match=r"may send a POST: .* --analysis-allow-post"):
                await pages_of.ask(client, "shop", query)
    assert received.bodies == []


async def test_a_query_of_prometheus_is_a_question_also_where_nothing_may_be_changed() -> None:
    async with served(vector("1")) as pages, fetching(pages.address, posts=False) as client:
        assert await prometheus.ask(client, "shop", PrometheusQuery(), "up", pages.address) == 1


@pytest.mark.parametrize("end", ["/admin/delete?match=a&b=", "/admin/delete#"])
async def test_the_address_of_a_prometheus_chooses_no_other_page(end: str) -> None:
    async with served(vector("1")) as pages, fetching(pages.address, posts=False) as client:
        with pytest.raises(Failed, match="ends before a"):
            await prometheus.ask(client, "shop", PrometheusQuery(), "up", pages.address + end)
        assert pages.asked == []
