"""Plays every row of the table on a real control plane, and checks its messages and every invariant.

The rows of a run go on at the same time, each in a namespace of its own; the first test waits for all of them.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial

import pytest
import yaml
from _pytest.mark import ParameterSet

from demo.stage import Product, install_gateway_kinds
from localcluster.build import ensure_built
from localcluster.errors import ClusterError
from localcluster.extras import ensure_extra
from localcluster.openkruise import KRUISE, start_kruise
from localcluster.plane import Plane
from localcluster.progress import SilentReporter
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import RECORDED, RECORDED_OF_KRUISE
from tests.cluster.secrecy import kept_product
from tests.cluster.together import Together
from tests.trouble.rows import TROUBLES
from tests.trouble.scene import Hook, Scene
from tests.trouble.table import Case, cases_of
from tests.trouble.together import JointAction

AT_ONCE = 14
CASES = {case.title: case for case in cases_of(TROUBLES)}


def parameters(cases: Mapping[str, Case]) -> list[ParameterSet]:
    """Every case; those that are not part of every run are marked."""
    return [
        pytest.param(title, marks=[] if case.often else pytest.mark.full)
        for title, case in cases.items()
    ]


def selected(request: pytest.FixtureRequest, *tests: Callable[..., Awaitable[None]]) -> list[Case]:
    """The cases of this run, of these tests."""
    names = {test.__name__ for test in tests}
    titles = {
        str(item.callspec.params["title"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname in names
    }
    return [CASES[title] for title in sorted(titles)]


@pytest.fixture(scope="module")
async def ground(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Product, Recorder]]:
    """Give Moonshift on a plane of its own, with OpenKruise's manager where a case needs it, and a recording."""
    of_kruise = any(
        case.form.of_kruise
        for case in selected(
            request,
            test_every_trouble_shows_its_documented_messages,
            test_every_trouble_shows_its_messages_although_the_controller_is_killed_at_the_worst_moment,
        )
    )
    await _build(of_kruise)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(Plane.start(tmp_path_factory.mktemp("plane")))
        await install_gateway_kinds(plane)
        await plane.apply(yaml.safe_dump_all(manifests.nodes()))
        if of_kruise:
            await start_kruise(plane)
        running = await stack.enter_async_context(
            kept_product(plane, tmp_path_factory.mktemp("product"))
        )
        kinds = (*RECORDED, *(RECORDED_OF_KRUISE if of_kruise else ()))
        # kubectl asks again while the storage of new kinds is being made.
        names = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in kinds)
        await plane.kubectl("get", names, "--all-namespaces")
        yield running, await stack.enter_async_context(plane.recorder(*kinds))


async def _build(of_kruise: bool) -> None:
    try:
        await ensure_built(SilentReporter())
        if of_kruise:
            await ensure_extra(KRUISE, SilentReporter())
    except ClusterError as error:
        if os.environ.get("MOONSHIFT_REQUIRE_PLANE") == "1":
            raise
        pytest.skip(f"no control plane can be had: {error}")


async def scene_of(case: Case, running: Product, recorder: Recorder) -> Scene:
    """A scene in a namespace of its own."""
    namespace = f"test-{uuid.uuid4().hex[:10]}"
    await running.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return Scene(running, recorder, case.form, case.row, namespace)


async def play(
    case: Case, running: Product, recorder: Recorder, at_its_worst: Hook | None = None
) -> None:
    """Play a row; check that all its commands were run and all its messages appeared."""
    scene = await scene_of(case, running, recorder)
    scene.at_its_worst = at_its_worst
    try:
        await case.row.scenario(scene)
    except Exception as error:
        error.add_note(f"said so far:\n{message_list(scene)}")
        raise
    await recorder.caught_up()
    unsaid = scene.unsaid()
    assert not unsaid, f"never said: {unsaid}\nsaid: {message_list(scene)}\n{scene.report()}"
    unexplained, explained = scene.unexplained(), "\n".join(scene.explained)
    assert not unexplained, f"why did not print {unexplained}, but:\n{explained}"
    undone = [command for command in case.row.commands if command not in scene.done]
    assert not undone, f"the document says to type {undone}, and the scenario did not"
    assert not scene.unhelped(), (
        f"why offers {scene.unhelped()}, and the scenario runs none of them"
    )


def message_list(scene: Scene) -> str:
    """All messages, each once, for the text of a failure."""
    return "\n".join(
        dict.fromkeys(f"  {messages.where}: {messages.text}" for messages in scene.messages())
    )


def killed_cases() -> dict[str, Case]:
    """Cases that are played once more, with a kill at their worst moment."""
    return {title: case for title, case in CASES.items() if case.form in case.row.killed}


async def play_killed(case: Case, running: Product, recorder: Recorder, kill: JointAction) -> None:
    """Play a row in which the controller is killed at the worst moment."""
    met = False

    async def meet() -> None:
        nonlocal met
        met = True
        await kill.arrive()

    try:
        await play(case, running, recorder, meet)
    finally:
        if not met:
            await kill.miss()
    assert met, "the scenario has no worst moment"


@pytest.fixture(scope="module")
async def killed(
    request: pytest.FixtureRequest, ground: tuple[Product, Recorder], troubles: Together
) -> Together:
    """Give the selected cases with a kill, running; the others are over by then.

    The cases that run at the same time share one kill; the next cases begin when these have ended.
    """
    await troubles.ended()
    running, recorder = ground
    chosen = selected(
        request,
        test_every_trouble_shows_its_messages_although_the_controller_is_killed_at_the_worst_moment,
    )

    async def kill() -> None:
        await running.controller.kill()
        await running.controller.start()

    meetings = [chosen[first : first + AT_ONCE] for first in range(0, len(chosen), AT_ONCE)]
    joint_actions = [(JointAction(len(cases), kill), cases) for cases in meetings]
    together = Together(AT_ONCE)
    together.start(
        (case.title, partial(play_killed, case, running, recorder, joint))
        for joint, cases in joint_actions
        for case in cases
    )
    return together


@pytest.fixture(scope="module")
async def troubles(request: pytest.FixtureRequest, ground: tuple[Product, Recorder]) -> Together:
    """Give the selected cases, running."""
    together = Together(AT_ONCE)
    chosen = selected(request, test_every_trouble_shows_its_documented_messages)
    together.start((c.title, partial(play, c, *ground)) for c in chosen if not c.row.alone)
    others, by_itself = together.tasks(), asyncio.Lock()

    async def play_alone(case: Case) -> None:
        await asyncio.gather(*others, return_exceptions=True)
        async with by_itself:
            await play(case, *ground)

    last = Together(AT_ONCE)
    last.start((c.title, partial(play_alone, c)) for c in chosen if c.row.alone)
    return together.with_those_of(last)


@pytest.mark.timeout(5400)
@pytest.mark.requires_plane
@pytest.mark.parametrize("title", parameters(CASES))
async def test_every_trouble_shows_its_documented_messages(title: str, troubles: Together) -> None:
    await troubles.result(title)


@pytest.mark.timeout(5400)
@pytest.mark.requires_plane
@pytest.mark.full
@pytest.mark.parametrize("title", killed_cases())
async def test_every_trouble_shows_its_messages_although_the_controller_is_killed_at_the_worst_moment(
    title: str, killed: Together
) -> None:
    await killed.result(title)
