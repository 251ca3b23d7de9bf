"""Requests of gates: bounded, unredirected, and silent about the text of the answers."""

import asyncio
import re
import ssl
from pathlib import Path

import pytest
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

from controller.api.analysis import Header, PrometheusQuery, SecretRef
from controller.outbound import prometheus
from controller.outbound.fetching import MAX_AT_ONCE, MAX_BYTES, MAX_OF_NAMESPACE, Failed, Request
from controller.outbound.tokens import LONGEST
from tests.component.luaworker.certificates import authority, write_pair
from tests.component.outbound.pages import Answer, Secrets, fetching, json_page, served, vector


async def asked(
    *answers: Answer, query: PrometheusQuery | None = None, **secrets: dict[str, str]
) -> float | None:
    async with (
        served(*answers) as pages,
        fetching(pages.address, secrets=Secrets(**secrets)) as client,
    ):
        return await prometheus.ask(client, "shop", query or PrometheusQuery(), "up", pages.address)


@pytest.mark.parametrize(
    ("text", "value"), [("0.25", 0.25), ("+Inf", float("inf")), ("-Inf", float("-inf"))]
)
async def test_a_prometheus_answers_a_number(text: str, value: float) -> None:
    assert await asked(vector(text)) == value


async def test_a_compressed_answer_is_not_asked_for() -> None:
    async with served(vector("1")) as pages, fetching(pages.address) as client:
        await prometheus.ask(client, "shop", PrometheusQuery(), "up", pages.address)
        assert pages.asked[0][3]["Accept-Encoding"] == "identity"


async def test_an_empty_answer_is_no_data() -> None:
    assert await asked(vector()) is None


async def test_a_scalar_is_a_number() -> None:
    page = json_page('{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}')
    assert await asked(page) == 3


SECRET_WORDS = "root:x:0:0"
DEEP = '{"status":"success","data":{"resultType":"vector","result":' + "[" * 100_000 + "]" * 100_000
"""An answer that is nested more deeply than any parser goes."""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (vector("1", "2"), "2 series: aggregate them to one"),
        (json_page('{"data":{"resultType":"matrix","result":[]}}'), "answered a matrix"),
        (json_page('{"data":{"resultType":"string","result":[1,"x"]}}'), "answered a string"),
        (vector(SECRET_WORDS), "not as a Prometheus does"),
        (json_page(SECRET_WORDS), "not as a Prometheus does"),
        (json_page(SECRET_WORDS, 500), "answered with status 500"),
        (json_page('{"status":"error","errorType":"x","error":"root:x:0:0"}', 400), "status 400"),
        (
            json_page('{"status":"error","errorType":"bad_data","error":"parse error"}', 400),
            "Prometheus refused the query (bad_data): parse error",
        ),
        (json_page("x" * (MAX_BYTES + 1)), "answered more than 1024 KiB"),
        (json_page(DEEP), "not as a Prometheus does"),
        (json_page(DEEP, 500), "answered with status 500"),
    ],
)
async def test_an_unusable_answer_is_reported_without_its_content(
    answer: Answer, says: str
) -> None:
    with pytest.raises(Failed) as failed:
        await asked(answer)
    assert says in str(failed.value)
    assert SECRET_WORDS not in str(failed.value)


async def test_a_redirect_is_not_followed() -> None:
    async def away(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": "http://169.254.169.254/"})

    with pytest.raises(Failed, match=r"redirect \(302\), which is not followed"):
        await asked(away)


async def test_a_connection_that_breaks_is_tried_once_more() -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    assert await asked(broken, vector("1")) == 1
    with pytest.raises(Failed, match="no connection to"):
        await asked(broken)


async def test_an_answer_that_is_no_http_is_reported_in_words() -> None:
    async def garbage(request: web.Request) -> web.StreamResponse:
        assert isinstance(request.transport, asyncio.Transport)
        request.transport.write(b"\x00\x01 hush\r\n\r\n")
        request.transport.close()
        return web.Response()

    with pytest.raises(Failed, match="answered something that is no HTTP"):
        await asked(garbage)


async def test_a_server_that_hangs_is_an_error_in_its_time() -> None:
    never = asyncio.Event()

    async def hangs(_request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    async with served(hangs) as pages, fetching(pages.address) as client:
        with pytest.raises(Failed, match="no answer within 1 s"):
            await client.fetch(Request("shop", f"{pages.address}/", timeout_seconds=1))
        never.set()


@pytest.mark.parametrize(
    ("secret", "header"),
    [
        ({"token": "t0ken\n"}, "Bearer t0ken"),
        ({"token": " t0ken\r\n"}, "Bearer t0ken"),
        ({"username": "me", "password": "pass"}, "Basic bWU6cGFzcw=="),
        ({"username": "me\n", "password": "pass\r\n"}, "Basic bWU6cGFzcw=="),
        ({"username": "me", "password": " p "}, "Basic bWU6IHAg"),
    ],
)
async def test_a_secret_authenticates(secret: dict[str, str], header: str) -> None:
    query = PrometheusQuery(auth=SecretRef("creds"), headers=(Header("X-Scope-OrgID", "eu"),))
    async with (
        served(vector("1")) as pages,
        fetching(pages.address, secrets=Secrets(creds=secret)) as client,
    ):
        await prometheus.ask(client, "shop", query, "up", pages.address)
        method, path, form, headers = pages.asked[0]
    assert (method, path, form["query"]) == ("POST", "/api/v1/query", "up")
    assert (headers["Authorization"], headers["X-Scope-OrgID"]) == (header, "eu")


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ({"token": "Bearer t0ken"}, "the token of Secret shop/creds begins with Bearer"),
        ({"token": "bearer\tt0ken\n"}, "begins with Bearer, which is put before it"),
        ({"token": "\n"}, "the token of Secret shop/creds is empty"),
        ({"token": "", "ca.crt": ""}, "the token of Secret shop/creds is empty"),
        ({"username": "", "password": "p"}, "the username of Secret shop/creds is empty"),
        ({"tokenURL": "\n", "clientID": "me"}, "the tokenURL of Secret shop/creds is empty"),
    ],
)
async def test_a_secret_that_cannot_authenticate_is_reported_before_anything_is_sent(
    secret: dict[str, str], text: str
) -> None:
    query = PrometheusQuery(auth=SecretRef("creds"))
    async with (
        served(vector("1")) as pages,
        fetching(pages.address, secrets=Secrets(creds=secret)) as client,
    ):
        with pytest.raises(Failed, match=text):
            await prometheus.ask(client, "shop", query, "up", pages.address)
    assert not pages.asked


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ({"username": "a:b", "password": "c"}, "the username of Secret shop/creds has a colon"),
        ({"token": "a\nb"}, "the header Authorization has a line break"),
    ],
)
async def test_a_secret_that_no_header_can_carry_is_told_in_words(
    secret: dict[str, str], words: str
) -> None:
    async with (
        served(vector("1")) as pages,
        fetching(pages.address, secrets=Secrets(creds=secret)) as client,
    ):
        with pytest.raises(Failed, match=words):
            await client.fetch(Request("shop", pages.address, auth=SecretRef("creds")))
        assert pages.asked == []


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
async def test_a_token_is_asked_for_once_by_client_credentials(end: str) -> None:
    token = json_page('{"access_token":"abc","expires_in":3600}')
    async with served(token, vector("1"), vector("2")) as pages:
        creds = {
            "clientID": f"me{end}",
            "clientSecret": f"s{end}",
            "tokenURL": f"{pages.address}/token{end}",
            "scope": f"m{end}",
        }
        async with fetching(pages.address, secrets=Secrets(creds=creds)) as client:
            query = PrometheusQuery(auth=SecretRef("creds"))
            for _ in range(2):
                await prometheus.ask(client, "shop", query, "up", pages.address)
    assert [path for _, path, _, _ in pages.asked] == ["/token", "/api/v1/query", "/api/v1/query"]
    form = pages.asked[0][2]
    assert (form["scope"], form["client_id"], form["client_secret"]) == ("m", "me", "s")
    assert pages.asked[2][3]["Authorization"] == "Bearer abc"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("{}", "answered no access token"),
        ('{"access_token":""}', "answered an empty access token"),
    ],
)
async def test_an_answer_that_is_no_token_is_reported(body: str, text: str) -> None:
    async with served(json_page(body)) as pages:
        creds = {"tokenURL": f"{pages.address}/token"}
        async with fetching(pages.address, secrets=Secrets(creds=creds)) as client:
            with pytest.raises(Failed, match=text):
                await prometheus.ask(
                    client, "shop", PrometheusQuery(auth=SecretRef("creds")), "up", pages.address
                )


async def test_a_token_that_was_taken_back_is_asked_for_again() -> None:
    tokens = [json_page(f'{{"access_token":"{word}","expires_in":3600}}') for word in ("a", "b")]

    async def unauthorized(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=401)

    async with served(tokens[0], unauthorized, tokens[1], vector("2")) as pages:
        creds = {"tokenURL": f"{pages.address}/token"}
        async with fetching(pages.address, secrets=Secrets(creds=creds)) as client:
            query = PrometheusQuery(auth=SecretRef("creds"))
            with pytest.raises(Failed, match="status 401"):
                await prometheus.ask(client, "shop", query, "up", pages.address)
            assert await prometheus.ask(client, "shop", query, "up", pages.address) == 2
    assert pages.asked[-1][3]["Authorization"] == "Bearer b"


@pytest.mark.parametrize("place", ["refused", "unreachable"])
async def test_a_problem_of_the_server_of_tokens_names_that_server(place: str) -> None:
    async with served(vector("1")) as pages, served(vector("1")) as other:
        port = other.port if place == "refused" else 1
        host = "localhost" if place == "refused" else "127.0.0.1"
        creds = {"tokenURL": f"http://{host}:{port}/token"}
        named = (pages.address, f"http://{host}:{port}")
        words = "localhost resolves to this machine" if place == "refused" else "127.0.0.1:1: "
        async with fetching(*named, secrets=Secrets(creds=creds)) as client:
            with pytest.raises(Failed, match=words):
                await prometheus.ask(
                    client, "shop", PrometheusQuery(auth=SecretRef("creds")), "up", pages.address
                )


@pytest.mark.parametrize("address", ["http://[::1", "http://xn--ube-xk1a.example/"])
async def test_an_address_that_is_no_url_is_reported(address: str) -> None:
    async with fetching("http://other") as client:
        with pytest.raises(Failed, match="no URL"):
            await client.fetch(Request("shop", address))


async def test_a_secret_that_is_missing_or_wrong_is_reported() -> None:
    with pytest.raises(Failed, match="Secret shop/creds does not exist"):
        await asked(vector("1"), query=PrometheusQuery(auth=SecretRef("creds")))
    with pytest.raises(Failed, match=r"ca.crt of the Secret holds no certificate"):
        await asked(
            vector("1"), query=PrometheusQuery(auth=SecretRef("creds")), creds={"ca.crt": "x"}
        )


async def test_a_server_is_trusted_by_the_authority_of_the_secret_alone(tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "pair", authority(), "prometheus")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    secrets = Secrets(creds={"ca.crt": (folder / "ca.crt").read_text()})
    async with served(vector("1"), tls=context) as pages:
        address = f"https://127.0.0.1:{pages.port}"
        async with fetching(address, secrets=secrets) as client:
            trusting = PrometheusQuery(auth=SecretRef("creds"))
            assert await prometheus.ask(client, "shop", trusting, "up", address) == 1
            with pytest.raises(Failed, match=r"not trusted: name the Secret with its ca.crt"):
                await prometheus.ask(client, "shop", PrometheusQuery(), "up", address)
    assert len(pages.asked) == 1


NAMESPACES = 10


async def test_no_more_than_so_many_requests_are_under_way_and_one_of_each_namespace() -> None:
    open_now, most, full = 0, 0, asyncio.Event()
    most_of_all = MAX_AT_ONCE + NAMESPACES

    async def held(_request: web.Request) -> web.StreamResponse:
        nonlocal open_now, most
        open_now, most = open_now + 1, max(most, open_now + 1)
        if open_now == most_of_all:
            full.set()
        await full.wait()
        open_now -= 1
        return web.Response()

    async with (
        served(held) as pages,
        fetching(pages.address) as client,
        asyncio.TaskGroup() as all_,
    ):
        for number in range(NAMESPACES * MAX_OF_NAMESPACE):
            space = f"n{number % NAMESPACES}"
            request = Request(space, f"{pages.address}/{number}", timeout_seconds=50)
            all_.create_task(client.fetch(request))
    assert (most, len(pages.asked)) == (most_of_all, NAMESPACES * MAX_OF_NAMESPACE)


async def test_many_namespaces_whose_sources_hang_delay_no_other_one() -> None:
    never = asyncio.Event()

    async def answers(request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/slow"):
            await never.wait()
        return web.Response(text="ok")

    async with served(answers) as pages, fetching(pages.address) as client:
        slow = [
            asyncio.create_task(
                client.fetch(Request(f"slow{number % 20}", f"{pages.address}/slow"))
            )
            for number in range(20 * MAX_OF_NAMESPACE)
        ]
        await pages.reached.wait()
        async with asyncio.timeout(5):
            assert await client.fetch(Request("shop", f"{pages.address}/quick")) == b"ok"
        never.set()
        await asyncio.gather(*slow)


async def test_a_wait_for_a_turn_counts_against_the_time_of_the_one_who_waits() -> None:
    never, full = asyncio.Event(), asyncio.Event()
    open_now = 0

    async def answers(request: web.Request) -> web.StreamResponse:
        nonlocal open_now
        open_now += 1
        if open_now == MAX_OF_NAMESPACE:
            full.set()
        await never.wait()
        return web.Response(text="ok")

    async with served(answers) as pages, fetching(pages.address) as client:
        slow = [
            asyncio.create_task(client.fetch(Request("shop", f"{pages.address}/{number}")))
            for number in range(MAX_OF_NAMESPACE)
        ]
        await full.wait()
        with pytest.raises(Failed, match="no answer within 1 s"):
            await client.fetch(Request("shop", f"{pages.address}/late", timeout_seconds=1))
        assert len(pages.asked) == MAX_OF_NAMESPACE
        never.set()
        await asyncio.gather(*slow)


async def test_a_secret_alone_says_who_asks() -> None:
    query = PrometheusQuery(
        auth=SecretRef("creds"), headers=(Header("authorization", "Basic bWU6bWU="),)
    )
    async with served(vector("1")) as pages:
        secrets = Secrets(creds={"token": "abc"})
        async with fetching(pages.address, secrets=secrets) as client:
            await prometheus.ask(client, "shop", query, "up", pages.address)
        headers = CIMultiDictProxy(CIMultiDict(pages.asked[0][3]))
    assert headers.getall("Authorization") == ["Bearer abc"]


@pytest.mark.parametrize("name", ["Host", "Transfer-Encoding:chunked;", "X\r\nHost", ""])
async def test_a_header_that_changes_the_message_is_not_sent(name: str) -> None:
    async with served(vector("1")) as pages, fetching(pages.address) as client:
        request = Request("shop", pages.address, headers=(Header(name, "metadata"),))
        with pytest.raises(Failed, match=f"may not send the header {re.escape(repr(name))}"):
            await client.fetch(request)
        assert pages.asked == []


async def test_an_access_token_is_short() -> None:
    granted = json_page('{"access_token": "%s"}' % ("x" * (LONGEST + 1)))
    async with served(granted) as pages:
        creds = {"tokenURL": f"{pages.address}/token", "clientID": "a", "clientSecret": "b"}
        async with fetching(pages.address, secrets=Secrets(creds=creds)) as client:
            request = Request("shop", pages.address, auth=SecretRef("creds"))
            with pytest.raises(Failed, match="access token of more than"):
                await client.fetch(request)


async def test_a_namespace_whose_source_hangs_delays_no_other_one() -> None:
    never = asyncio.Event()

    async def answers(request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/slow"):
            await never.wait()
        return web.Response(text="ok")

    async with served(answers) as pages, fetching(pages.address) as client:
        slow = [
            asyncio.create_task(client.fetch(Request("slow", f"{pages.address}/slow/{number}")))
            for number in range(2 * MAX_AT_ONCE)
        ]
        await pages.reached.wait()
        async with asyncio.timeout(5):
            assert await client.fetch(Request("shop", f"{pages.address}/quick")) == b"ok"
        assert sum(path.startswith("/slow") for _, path, _, _ in pages.asked) <= MAX_OF_NAMESPACE
        never.set()
        await asyncio.gather(*slow)


async def test_without_an_address_nothing_is_asked() -> None:
    async with fetching() as client:
        with pytest.raises(Failed, match="--prometheus"):
            await prometheus.ask(client, "shop", PrometheusQuery(), "up", "")


async def test_a_name_that_leads_to_this_machine_is_refused() -> None:
    async with served(vector("1")) as pages, fetching(f"http://localhost:{pages.port}") as client:
        with pytest.raises(Failed, match="localhost resolves to this machine itself"):
            await client.fetch(Request("shop", f"http://localhost:{pages.port}/"))
        assert pages.asked == []


async def test_an_address_that_nobody_named_is_refused() -> None:
    async with served(vector("1")) as pages, fetching("http://other") as client:
        with pytest.raises(Failed, match="--analysis-allow"):
            await client.fetch(Request("shop", f"{pages.address}/"))
