"""Values of Secrets in requests of a gate: they go where their Secret allows it, and come back in no text."""

import json

import pytest
from aiohttp import web

from controller.api.analysis import Header, PrometheusQuery, SecretRef, WebQuery
from controller.outbound import prometheus
from controller.outbound import web as pages_of
from controller.outbound.fetching import MAX_BYTES, Failed, Request
from tests.component.outbound.pages import Answer, Secrets, fetching, json_page, served, vector
from tests.component.outbound.test_fetching import asked

PLACE = "{{ secret creds/tenant }}"
CREDS = Secrets(creds={"tenant": "e u/1\n"})


async def test_a_value_of_a_secret_is_in_the_sent_request() -> None:
    query = PrometheusQuery(headers=(Header("X-Scope-OrgID", PLACE),))
    async with (
        served(vector("1"), json_page('{"a":1}')) as pages,
        fetching(pages.address, secrets=CREDS) as client,
    ):
        await prometheus.ask(client, "shop", query, "up", pages.address)
        page = WebQuery(url=f"{pages.address}/of/{PLACE}", value_path="a")
        await pages_of.ask(client, "shop", page)
        (_, _, _, headers), (_, path, _, _) = pages.asked
    assert headers["X-Scope-OrgID"] == "e u/1"
    assert path == "/of/e u/1"


async def test_a_secret_cannot_choose_the_asked_address() -> None:
    async with fetching("http://*.test", secrets=CREDS) as client:
        with pytest.raises(Failed, match="may not say which address is asked") as failed:
            await client.fetch(Request("shop", f"http://{PLACE}.test/"))
    assert "e u" not in str(failed.value)


async def test_a_value_that_a_secret_has_not_is_reported() -> None:
    async with fetching("http://a.test", secrets=Secrets(creds={})) as client:
        with pytest.raises(Failed, match="Secret shop/creds has no tenant"):
            await client.fetch(Request("shop", f"http://a.test/{PLACE}"))


async def test_a_secret_that_no_gate_may_use_says_nothing_about_its_keys() -> None:
    async with fetching("http://a.test", secrets=Secrets(" ", creds={})) as client:
        with pytest.raises(Failed, match="so no gate may use it"):
            await client.fetch(Request("shop", f"http://a.test/{PLACE}"))


MARKER = "Marker-of-a-Secret-4711"
ECHOED = "TWFya2VyLW9mLWEtU2VjcmV0LTQ3MTE="
MEANT = {
    "token": {"token": MARKER},
    "password": {"username": "me", "password": MARKER},
    "argument": {"tenant": MARKER},
}


def marked(kind: str) -> PrometheusQuery:
    """A query with the marker in a header that this kind of Secret makes."""
    if kind == "argument":
        return PrometheusQuery(headers=(Header("X-Scope-OrgID", PLACE),))
    return PrometheusQuery(auth=SecretRef("creds"))


async def repeating(request: web.Request) -> web.StreamResponse:
    """Repeats every header of the request in the form in which a Prometheus refuses a query."""
    words = " ".join(request.headers.values())
    refusal = {"status": "error", "errorType": "bad_data", "error": words}
    return web.json_response(refusal, status=400)


async def repeating_a_part(request: web.Request) -> web.StreamResponse:
    """The same with the beginning of each header."""
    words = " ".join(value[:18] for value in request.headers.values())
    refusal = {"status": "error", "errorType": "execution", "error": words}
    return web.json_response(refusal, status=400)


@pytest.mark.parametrize("kind", MEANT)
@pytest.mark.parametrize("answer", [repeating, repeating_a_part])
async def test_a_server_that_repeats_a_secret_is_not_quoted(kind: str, answer: Answer) -> None:
    with pytest.raises(Failed, match=r"status 400$") as failed:
        await asked(answer, query=marked(kind), creds=MEANT[kind])
    assert MARKER[:8] not in str(failed.value)
    assert failed.value.__cause__ is None or MARKER not in repr(failed.value.__cause__)


async def test_a_refusal_with_more_words_than_are_read_is_a_refusal_without_words() -> None:
    words = json.dumps({"status": "error", "errorType": "bad_data", "error": "x" * MAX_BYTES})
    with pytest.raises(Failed, match=r"status 400$"):
        await asked(json_page(words, 400), query=marked("token"), creds=MEANT["token"])


async def test_a_secret_that_no_server_takes_is_not_sent() -> None:
    async with served(vector("1")) as pages:
        secrets = Secrets(creds={"token": "x" * (1 << 20)})
        async with fetching(pages.address, secrets=secrets) as client:
            with pytest.raises(Failed, match="more than 65536 characters are not sent"):
                await prometheus.ask(client, "shop", marked("token"), "up", pages.address)
        assert pages.asked == []


async def test_the_words_of_a_prometheus_about_the_query_are_shown_beside_a_secret() -> None:
    words = json_page('{"status":"error","errorType":"bad_data","error":"parse error"}', 400)
    with pytest.raises(Failed, match="parse error"):
        await asked(words, query=marked("token"), creds=MEANT["token"])


async def test_a_secret_that_a_server_repeats_as_a_number_is_no_value() -> None:
    page = json_page('{"a":12345678}')
    async with (
        served(page) as pages,
        fetching(pages.address, secrets=Secrets(creds={"token": "12345678"})) as client,
    ):
        query = WebQuery(url=pages.address, value_path="a", auth=SecretRef("creds"))
        with pytest.raises(Failed, match="repeats a value of a Secret") as failed:
            await pages_of.ask(client, "shop", query)
    assert "12345678" not in str(failed.value)


@pytest.mark.parametrize("kind", MEANT)
async def test_a_secret_is_not_sent_to_a_host_that_it_does_not_name(kind: str) -> None:
    secrets = Secrets("metrics.example.com", creds=MEANT[kind])
    async with served(vector("1")) as pages, fetching(pages.address, secrets=secrets) as client:
        with pytest.raises(Failed, match=r"names other hosts than 127\.0\.0\.1") as failed:
            await prometheus.ask(client, "shop", marked(kind), "up", pages.address)
        assert pages.asked == []
    assert "send-to=metrics.example.com,127.0.0.1" in str(failed.value)


async def test_the_server_of_tokens_gets_no_secret_that_does_not_name_it() -> None:
    async with served(vector("1")) as pages, served(json_page("{}")) as other:
        creds = {"clientSecret": MARKER, "tokenURL": f"{other.address}/token"}
        secrets = Secrets(f"127.0.0.1:{pages.port}", creds=creds)
        async with fetching(pages.address, other.address, secrets=secrets) as client:
            with pytest.raises(Failed, match="names other hosts than"):
                await prometheus.ask(client, "shop", marked("token"), "up", pages.address)
        assert (pages.asked, other.asked) == ([], [])
