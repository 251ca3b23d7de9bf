"""Checks asked by the real worker of real HTTP servers: what is kept is stored first, and a new process goes on."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web
from msgspec import structs

from controller.api.checks import Check, CheckRun, CheckVerdict
from controller.api.meta import Key
from controller.domain.checks.answering import Errs, Keeps, counted
from controller.domain.decision import AskCheck, CheckedRelease
from controller.outbound.checking import Checking
from tests.component.luaworker.process import worker
from tests.component.outbound.asking import NOW, Asking, asking, slow
from tests.component.outbound.pages import Answer
from tests.load_tests import LOAD_TEST

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = Key("shop", "web")
RELEASE = CheckedRelease("web", "shop", "new", "old", 1, 2, "routed", 20, {"web": "shop/web:2"})


class LoadTests:
    """A service that runs load tests; one key starts one test, however often it is sent."""

    def __init__(self, looks: int) -> None:
        self._left = looks
        self.keys: list[str] = []

    def answer(self) -> Answer:
        async def answer(request: web.Request) -> web.Response:
            if request.method == "POST":
                self.keys.append((await request.json())["key"])
                return web.json_response({"id": len(set(self.keys))})
            self._left -= 1
            return web.json_response({"id": int(request.path[-1]), "done": self._left < 0})

        return answer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """One worker for all of these tests."""
    address = f"unix://{tmp_path_factory.mktemp('checking')}/w"
    async with worker(address, "--cpu-ms", "1000"):
        yield address


class Release:
    """A release with one check: its record, and the process that asks."""

    def __init__(self, script: Asking, clock: list[datetime]) -> None:
        self._script = script
        self._clock = clock
        self._woken = asyncio.Event()
        address = msgspec.Raw(json.dumps(script.pages.address).encode())
        self.check = Check(name="load", script="test", params={"address": address})
        self.run = CheckRun(step=1, at="routed", name="load", id="id-1", started_at=NOW)
        self.begin_process()

    def begin_process(self) -> None:
        """A process that knows nothing of the one before."""
        self.checking = Checking(
            self._script.exchanging, lambda _: self._woken.set(), lambda: self._clock[0]
        )

    async def turn(self) -> CheckRun:
        """One answer, counted in the record, which is stored then."""
        self._woken.clear()
        until = NOW + timedelta(hours=1)
        wanted = AskCheck("id-1", self.run.turn + 1, self.check, RELEASE, self.run.state, until)
        self.checking.ask(KEY, wanted)
        await asyncio.wait_for(self._woken.wait(), 30)
        answers = self.checking.answers(KEY, {"id-1"})
        self.run = counted(self.check, self.run, answers, self._clock[0])
        return self.run


async def test_a_check_goes_on_from_turn_to_turn(running: str) -> None:
    tests = LoadTests(looks=2)
    async with asking(running, LOAD_TEST, *[tests.answer()] * 9) as script:
        release = Release(script, [NOW])
        assert (await release.turn()).state == '{"run":1}'
        assert (await release.turn()).message == "run 1 goes on"
        await release.turn()
        found = await release.turn()
        assert (found.verdict, found.message) == (CheckVerdict.PASSED, "run 1 is good")
        assert tests.keys == ["id-1"]
        await release.checking.aclose()


async def test_no_request_is_sent_before_what_is_kept_is_stored(running: str) -> None:
    tests = LoadTests(looks=0)
    async with asking(running, LOAD_TEST, *[tests.answer()] * 9) as script:
        release = Release(script, [NOW])
        await release.turn()
        for _ in range(20):
            await asyncio.sleep(0)
        assert [asked[0] for asked in script.pages.asked] == ["POST"]
        await release.checking.aclose()


@pytest.mark.parametrize("killed", range(4))
async def test_a_process_that_is_killed_in_any_turn_starts_no_second_load_test(
    running: str, killed: int
) -> None:
    tests = LoadTests(looks=2)
    async with asking(running, LOAD_TEST, *[tests.answer()] * 20) as script:
        release = Release(script, [NOW])
        for number in range(8):
            if number == killed:
                stored = release.run
                await release.turn()
                await release.checking.aclose()
                release.run = stored
                release.begin_process()
            if (await release.turn()).verdict != CheckVerdict.RUNNING:
                break
        assert release.run.verdict == CheckVerdict.PASSED
        assert set(tests.keys) == {"id-1"}
        await release.checking.aclose()


async def test_a_conversation_of_a_check_that_nobody_waits_for_ends(running: str) -> None:
    over = asyncio.Event()
    async with asking(running, LOAD_TEST, slow(over)) as script:
        release = Release(script, [NOW])
        until = NOW + timedelta(hours=1)
        release.checking.ask(KEY, AskCheck("id-1", 1, release.check, RELEASE, "", until))
        (task,) = [one for one in asyncio.all_tasks() if one.get_name() == f"check {KEY}"]
        assert release.checking.answers(KEY, ()) == ()
        await asyncio.wait((task,), timeout=10)
        assert task.cancelled()
        over.set()


async def test_a_script_that_waits_between_its_turns_may_have_any_number_of_them(
    running: str,
) -> None:
    script_text = """--@does check
--@asks http
--@params address
local seen = obj.state and obj.state.seen or 0
if seen == 12 then return {pass = "seen " .. seen} end
return {ask = {{url = obj.params.address}}, state = {seen = seen + 1}}
"""
    async with asking(running, script_text) as script:
        release = Release(script, [NOW])
        found = await release.turn()
        while not found.message:
            found = await release.turn()
        assert found.message.startswith("check test: it asks again and again, and may ask in 8")
        assert found.state == '{"seen":8}'


async def test_an_error_of_a_script_is_no_verdict(running: str) -> None:
    async with asking(
        running, "--@does check\n--@asks http\n--@params address\nerror('no')"
    ) as script:
        release = Release(script, [NOW])
        found = await release.turn()
        assert found.verdict == CheckVerdict.RUNNING
        assert found.message == "check test: no (source/test.lua:4)"
        (answer,) = release.checking.answers(KEY, {"id-1"})
        assert answer.said == Errs(found.message)
        assert not isinstance(answer.said, Keeps)
        assert structs.replace(answer, turn=2) != answer
