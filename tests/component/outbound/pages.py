"""A real HTTP server of one test: scripted answers of a metric source, and the requests to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

from controller.domain.gates.secret_destinations import GateSecret
from controller.outbound.egress import AllowList, parse_allowed
from controller.outbound.fetching import Failed, Fetching

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pages:
    """Answers one after the other, the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, dict[str, str], Mapping[str, str]]] = []
        self.port = 0
        self.reached = asyncio.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Note the request and give the next answer."""
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.asked.append((request.method, request.path, form, request.headers))
        self.reached.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request)


@asynccontextmanager
async def served(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Pages]:
    """The server, listening."""
    pages = Pages(*answers)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", pages.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    assert site._server is not None
    pages.port = runner.addresses[0][1]
    try:
        yield pages
    finally:
        await runner.cleanup()


class Secrets:
    """The Secrets of the test; each may be sent to these hosts."""

    def __init__(self, *hosts: str, **values: Mapping[str, str]) -> None:
        self.send_to = ", ".join(hosts or ("127.0.0.1", "localhost", "*.test"))
        self.values = values

    async def read(self, namespace: str, name: str) -> GateSecret:
        """The Secret."""
        if name not in self.values:
            raise Failed(f"Secret {namespace}/{name} does not exist")
        return GateSecret(namespace, name, self.values[name], self.send_to)


@asynccontextmanager
async def fetching(
    *allowed: str, secrets: Secrets | None = None, posts: bool = True
) -> AsyncIterator[Fetching]:
    """The client of gates, allowed to ask these addresses, and to send them a POST."""
    entries = parse_allowed(allowed, posts=posts)
    found = Fetching(AllowList(entries), secrets or Secrets())
    try:
        yield found
    finally:
        await found.aclose()


def json_page(body: str, status: int = 200) -> Answer:
    """A page that answers this."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=body, status=status, content_type="application/json")

    return answer


def vector(*values: str) -> Answer:
    """A Prometheus' answer with this number of series."""
    series = ",".join(f'{{"metric":{{}},"value":[1,"{value}"]}}' for value in values)
    return json_page(f'{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}')
