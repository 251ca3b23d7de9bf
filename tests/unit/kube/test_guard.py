"""The clients that may read the metrics, and how often the API server is asked about them."""

import asyncio
from dataclasses import dataclass, field

import pytest

from controller.errors import BadConfiguration, Unreachable
from controller.kube.guard import (
    ALLOWED_SECONDS,
    MAX_KNOWN,
    REFUSED_SECONDS,
    REVIEWS_AT_ONCE,
    Guard,
)
from controller.telemetry.health import Rendered
from controller.telemetry.secure import CODES, SecureMetrics, Verdict


@dataclass
class World:
    """An API server's answers, and the time."""

    answers: dict[str, Verdict] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    away: bool = False
    now: float = 100.0

    async def review(self, token: str, path: str) -> Verdict:
        self.asked.append((token, path))
        await asyncio.sleep(0)
        if self.away:
            raise Unreachable("nobody answers")
        return self.answers.get(token, Verdict.UNKNOWN)

    def guard(self) -> Guard:
        return Guard(self, "/metrics", lambda: self.now)


@pytest.fixture
def world() -> World:
    return World({"good": Verdict.ALLOWED, "other": Verdict.FORBIDDEN})


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer  ", "Basic Z29vZA==", "good"])
async def test_without_a_token_nobody_is_asked(world: World, header: str) -> None:
    assert await world.guard().judge(header) is Verdict.UNKNOWN
    assert world.asked == []


@pytest.mark.parametrize(
    ("header", "verdict"),
    [
        ("Bearer good", Verdict.ALLOWED),
        ("bearer good", Verdict.ALLOWED),
        ("Bearer other", Verdict.FORBIDDEN),
        ("Bearer forged", Verdict.UNKNOWN),
    ],
)
async def test_the_api_server_judges_the_token_for_this_path(
    world: World, header: str, verdict: Verdict
) -> None:
    assert await world.guard().judge(header) is verdict
    assert [path for _, path in world.asked] == ["/metrics"]


async def test_an_allowed_token_is_asked_about_once_in_its_time(world: World) -> None:
    guard = world.guard()
    for _ in range(100):
        await guard.judge("Bearer good")
    assert len(world.asked) == 1
    world.now += ALLOWED_SECONDS
    world.answers["good"] = Verdict.FORBIDDEN
    assert await guard.judge("Bearer good") is Verdict.FORBIDDEN


async def test_a_right_that_is_given_works_soon(world: World) -> None:
    guard = world.guard()
    assert await guard.judge("Bearer other") is Verdict.FORBIDDEN
    world.answers["other"] = Verdict.ALLOWED
    assert await guard.judge("Bearer other") is Verdict.FORBIDDEN
    world.now += REFUSED_SECONDS
    assert await guard.judge("Bearer other") is Verdict.ALLOWED


async def test_scrapes_at_one_time_ask_once(world: World) -> None:
    guard = world.guard()
    found = await asyncio.gather(*(guard.judge("Bearer good") for _ in range(10)))
    assert {*found} == {Verdict.ALLOWED}
    assert len(world.asked) == 1


async def test_nobody_is_let_in_while_the_api_server_is_away(world: World) -> None:
    guard = world.guard()
    world.away = True
    assert await guard.judge("Bearer good") is Verdict.UNCHECKED
    assert guard.problem is not None
    world.away = False
    assert await guard.judge("Bearer good") is Verdict.ALLOWED
    assert guard.problem is None


async def test_an_admitted_scraper_stays_admitted_for_its_time_without_the_api_server(
    world: World,
) -> None:
    guard = world.guard()
    await guard.judge("Bearer good")
    world.away = True
    assert await guard.judge("Bearer good") is Verdict.ALLOWED
    world.now += ALLOWED_SECONDS
    assert await guard.judge("Bearer good") is Verdict.UNCHECKED


async def test_a_flood_of_tokens_does_not_reach_the_api_server(world: World) -> None:
    guard = world.guard()
    found = [await guard.judge(f"Bearer forged-{i}") for i in range(10 * REVIEWS_AT_ONCE)]
    assert len(world.asked) <= 2 * REVIEWS_AT_ONCE
    assert found[-1] is Verdict.BUSY


async def test_forged_tokens_do_not_push_out_the_one_that_is_allowed(world: World) -> None:
    guard = world.guard()
    guard._strangers.bucket.try_take = lambda: True  # type: ignore[method-assign]  # as if they came slowly
    await guard.judge("Bearer good")
    for i in range(2 * MAX_KNOWN):
        await guard.judge(f"Bearer forged-{i}")
    world.asked.clear()
    assert await guard.judge("Bearer good") is Verdict.ALLOWED
    assert world.asked == []
    assert len(guard._known) <= MAX_KNOWN


async def test_bogus_tokens_never_delay_a_token_that_was_good(world: World) -> None:
    guard, hanging = world.guard(), asyncio.Event()
    assert await guard.judge("Bearer good") is Verdict.ALLOWED
    ask = world.review

    async def slow(token: str, path: str) -> Verdict:
        if token != "good":
            await hanging.wait()
        return await ask(token, path)

    world.review = slow  # type: ignore[method-assign]  # an API server that is slow about strangers
    flood = [asyncio.create_task(guard.judge(f"Bearer bogus-{i}")) for i in range(50)]
    await asyncio.sleep(0)
    world.now += ALLOWED_SECONDS
    async with asyncio.timeout(5):
        assert await guard.judge("Bearer good") is Verdict.ALLOWED
    hanging.set()
    assert Verdict.BUSY in await asyncio.gather(*flood)


async def test_the_tokens_that_were_good_are_few(world: World) -> None:
    guard = world.guard()
    guard._strangers.bucket.try_take = lambda: True  # type: ignore[method-assign]  # as if they came slowly
    for i in range(2 * MAX_KNOWN):
        world.answers[f"good-{i}"] = Verdict.ALLOWED
        await guard.judge(f"Bearer good-{i}")
    assert len(guard._once_good) == MAX_KNOWN
    world.answers.clear()
    world.now += ALLOWED_SECONDS
    for i in range(2 * MAX_KNOWN):
        await guard.judge(f"Bearer good-{i}")
    assert guard._once_good == {}


async def test_no_token_is_kept(world: World) -> None:
    guard = world.guard()
    await guard.judge("Bearer good")
    assert b"good" not in b"".join(guard._known)


def test_every_refusal_has_an_error_code() -> None:
    assert {*CODES} == {*Verdict} - {Verdict.ALLOWED}
    assert all(code >= 400 for code in CODES.values())


class Nothing:
    """A page without content, and a certificate that nobody has."""

    def look(self) -> None: ...

    def let_go(self) -> None: ...

    def render(self, accept: str) -> Rendered:
        raise AssertionError("nobody asks")


def test_probes_are_not_asked_for_a_token(world: World) -> None:
    with pytest.raises(BadConfiguration, match="another port"):
        SecureMetrics(":8081", ":8081", Nothing(), world.guard(), None)  # type: ignore[arg-type] # unused
