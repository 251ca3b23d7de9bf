"""Scripts that ask, run by the real worker: each test gives the text of one, and what it is given."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from aiohttp import web

from controller.api.analysis import SecretKey
from controller.domain.exchange.answer import Does
from controller.domain.exchange.request import ObjectRequest
from controller.domain.exchange.turn_input import Question
from controller.domain.traffic.tree import Json, Tree
from controller.effects.asking_scripts import FoundInLibrary
from controller.outbound.exchanging import Call, Exchanging, Outcome
from controller.outbound.fetching import Failed
from controller.outbound.script_runs import Wanted
from controller.scripts.lookup import MissingScript, Script, ScriptLibrary
from controller.scripts.script_outcome import ScriptAnswer
from controller.scripts.worker_client import ScriptClient
from tests.component.outbound.pages import Answer, Pages, Secrets, fetching, served

NOW = datetime(2026, 11, 27, 19, tzinfo=UTC)
NAMESPACE = "shop"
VALUE = 'S3cr3t/"Value"+99'
LIBRARY = ScriptLibrary.read()


class Recorded:
    """The client of the worker, which remembers every byte that is sent to it."""

    def __init__(self, client: ScriptClient) -> None:
        self._client = client
        self.sent: list[bytes] = []

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """One call."""
        self.sent += [script.text, obj, tenant.encode(), request_id.encode()]
        self.sent += [module.text for module in script.modules]
        return await self._client.execute(script, obj, tenant=tenant, request_id=request_id)


class OneScript:
    """The script of a test, which may see and use everything."""

    def __init__(self, text: str, runner: Recorded, objects: Mapping[str, Tree]) -> None:
        found = LIBRARY.configured("source/test.lua", text)
        assert not isinstance(found, MissingScript)
        self._found = FoundInLibrary(found, runner)
        self._objects = objects

    def find(self, wanted: Wanted) -> FoundInLibrary:
        """The script, by any name."""
        return self._found

    async def may_use(self, wanted: Wanted, secrets: Iterable[str]) -> None:
        """Always."""

    async def object(self, wanted: Wanted, asked: ObjectRequest) -> Tree | None:
        """One of the objects."""
        return self._objects.get(asked.name)


class Asking:
    """A script, the server that it asks, and the worker that runs it."""

    def __init__(self, exchanging: Exchanging, pages: Pages, runner: Recorded) -> None:
        self._exchanging = exchanging
        self.pages = pages
        self.runner = runner

    async def outcome(
        self,
        params: Mapping[str, Json] | None = None,
        does: Does = Does.SOURCE,
        secrets: tuple[str, ...] = ("key",),
        seconds: float = 30,
        state: Tree | None = None,
    ) -> Outcome:
        """The last answer of the script."""
        return await self._exchanging.called(
            Call(
                Wanted(does, "test", NAMESPACE),
                Question({"address": self.pages.address, **(params or {})}, "id-1"),
                {name: SecretKey("vendor", name) for name in secrets},
                seconds,
                state,
            )
        )

    async def failure(self, seconds: float = 30) -> str:
        """Why there is no answer."""
        try:
            found = await self.outcome(seconds=seconds)
        except Failed as failed:
            return str(failed)
        raise AssertionError(found)


@asynccontextmanager
async def asking(
    worker: str,
    script: str,
    *answers: Answer,
    secrets: Secrets | None = None,
    objects: Mapping[str, Tree] | None = None,
    posts: bool = True,
) -> AsyncIterator[Asking]:
    """A script with the header of a source that has one secret, `key`."""
    client = ScriptClient(worker, deadline=30)
    runner = Recorded(client)
    header = "--@does source\n--@asks http, get\n--@secrets key?\n--@params address\n"
    text = script if script.startswith("--@") else header + script
    own = secrets or Secrets(vendor={"key": VALUE})
    entropy = itertools.count(1)
    try:
        async with (
            served(*(answers or (page("{}"),))) as pages,
            fetching(pages.address, secrets=own, posts=posts) as client_of_gates,
        ):
            exchanging = Exchanging(
                client_of_gates,
                OneScript(text, runner, objects or {}),
                lambda: NOW,
                lambda size: next(entropy).to_bytes(max(size, 1), "big"),
            )
            yield Asking(exchanging, pages, runner)
    finally:
        await client.close()


def page(body: str | bytes, status: int = 200, **headers: str) -> Answer:
    """An answer of the server."""

    async def answer(request: web.Request) -> web.Response:
        raw = body.encode() if isinstance(body, str) else body
        return web.Response(body=raw, status=status, headers=headers)

    return answer


def echo(status: int = 200) -> Answer:
    """An answer that repeats the whole request."""

    async def answer(request: web.Request) -> web.Response:
        text = f"{request.raw_path} {dict(request.headers)} {await request.text()}"
        headers = {"X-Echo": request.headers.get("X-Key", "")}
        return web.Response(text=text, status=status, headers=headers)

    return answer


def slow(over: asyncio.Event) -> Answer:
    """No answer until the event."""

    async def answer(request: web.Request) -> web.Response:
        await over.wait()
        return web.Response()

    return answer
