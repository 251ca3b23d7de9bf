"""The ConfigMap of scripts is looked at when it changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import pytest

from controller.api.meta import Key, ObjectMeta
from controller.errors import WorkerUnavailable
from controller.reconcilers.script_checks import SHADOWED, UNUSABLE, USABLE, ScriptChecks
from controller.reconcilers.scripts import ConfigMap, ConfiguredScriptsMap
from controller.scripts.lookup import Script, ScriptLibrary
from controller.scripts.script_outcome import Executed, Refused, ScriptAnswer
from controller.scripts.worker_client import ScriptClient
from tests.component.luaworker.process import worker

NAMESPACE = "kruise-rollout"
NAME = "kruise-rollout-configuration"
KEY = "lua.traffic.routing.TrafficLane.gateway.example.com"
HIDDEN = "lua.traffic.routing.VirtualService.networking.istio.io"


class Compiler:
    """Refuses texts with `bad` in them; counts; can be away."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.away = False
        self.starved = False

    async def validate(self, script: Script, *, tenant: str, request_id: str) -> ScriptAnswer:
        del tenant, request_id
        self.asked.append(script.name)
        await asyncio.sleep(0)
        if self.away:
            raise WorkerUnavailable("nobody there")
        if self.starved:
            return Refused("TIMEOUT", "...name: time limit of 1000 ms exceeded")
        if b"bad" in script.text:
            return Refused("SYNTAX_ERROR", "...name:3: '=' expected near 'x'", line=3)
        return Executed(b"")


class World:
    """A ConfigMap, the messages about it, and the part under test."""

    def __init__(self) -> None:
        self.map = ConfiguredScriptsMap(NAMESPACE)
        self.compiler = Compiler()
        self.events: list[tuple[str, str, str]] = []
        self.counts: dict[str, int] = {}
        self.checked = asyncio.Event()
        self.version = 0
        self.checks = ScriptChecks(
            self.map.store,
            Key(NAMESPACE, NAME),
            validator=self.compiler,
            shadows=ScriptLibrary({"networking.istio.io/VirtualService/trafficRouting.lua": b""}),
            report=self.report,
            metrics=self,
            retry=0.01,
        )

    def report(
        self, metadata: ObjectMeta, type: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        assert metadata.name == NAME
        self.events.append((type, reason, message))

    def configured_scripts(self, state: str, count: int) -> None:
        self.counts[state] = count
        self.checked.set()

    def put(self, data: dict[str, str] | None, name: str = NAME) -> None:
        self.version += 1
        metadata = ObjectMeta(
            name=name, namespace=NAMESPACE, uid=name, resource_version=str(self.version)
        )
        self.map.store.put(ConfigMap(metadata, data))

    async def looked(self) -> None:
        """The next look has ended."""
        self.checked.clear()
        async with asyncio.timeout(60):
            await self.checked.wait()


@asynccontextmanager
async def running(world: World) -> AsyncIterator[None]:
    task = asyncio.create_task(world.checks.run())
    try:
        await world.looked()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_script_that_does_not_compile_is_reported_with_its_line() -> None:
    world = World()
    async with running(world):
        world.put({KEY: "bad", "other": "bad"})
        await world.looked()
    assert world.events == [
        ("Warning", UNUSABLE, f"key {KEY} does not compile: line 3: '=' expected near 'x'")
    ]
    assert world.counts == {"usable": 0, "unusable": 1, "shadowed": 0}


async def test_existing_scripts_are_checked_at_the_start() -> None:
    world = World()
    world.put({KEY: "bad"})
    async with running(world):
        assert [reason for _, reason, _ in world.events] == [UNUSABLE]


async def test_a_hidden_key_is_reported_with_the_way_out() -> None:
    world = World()
    async with running(world):
        world.put({HIDDEN: "return obj.data"})
        await world.looked()
    ((kind, reason, message),) = world.events
    assert (kind, reason) == ("Warning", SHADOWED)
    assert "script: configMap" in message
    assert world.counts["shadowed"] == 1


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("lua.traffic.routing.TrafficLane", "return 1", "names nothing"),
        ("lua.traffik.routing.X.y", "return 1", "names nothing"),
        (KEY, " \n", "is empty"),
    ],
)
async def test_a_script_that_no_reference_finds_is_reported(
    key: str, text: str, message: str
) -> None:
    world = World()
    async with running(world):
        world.put({key: text})
        await world.looked()
    ((_, reason, reported),) = world.events
    assert reason == UNUSABLE
    assert message in reported
    assert world.compiler.asked == []


async def test_a_good_script_causes_no_event() -> None:
    world = World()
    async with running(world):
        world.put({KEY: "return obj.data", "lua.traffic.routing.ingress.nginx": "return {}"})
        await world.looked()
    assert world.events == []
    assert world.counts == {"usable": 2, "unusable": 0, "shadowed": 0}


async def test_a_lasting_trouble_is_reported_once_and_its_end_too() -> None:
    world = World()
    async with running(world):
        world.put({KEY: "bad"})
        await world.looked()
        world.put({KEY: "bad", "new": "key"})
        await world.looked()
        world.put({KEY: "return obj.data"})
        await world.looked()
    assert [(kind, reason) for kind, reason, _ in world.events] == [
        ("Warning", UNUSABLE),
        ("Normal", USABLE),
    ]


async def test_a_text_is_compiled_once() -> None:
    world = World()
    async with running(world):
        for _ in range(3):
            world.put({KEY: "return obj.data"})
            await world.looked()
    assert world.compiler.asked == [KEY]


async def test_a_compiler_without_cpu_time_is_asked_again() -> None:
    world = World()
    world.compiler.starved = True
    async with running(world):
        world.put({KEY: "return obj.data"})
        while not world.events:
            await world.looked()
        world.compiler.starved = False
        while world.counts["unusable"]:
            await world.looked()
    assert [(type, reason) for type, reason, _ in world.events] == [
        ("Warning", UNUSABLE),
        ("Normal", USABLE),
    ]


async def test_an_absent_worker_is_asked_again_and_nothing_is_reported_meanwhile() -> None:
    world = World()
    world.compiler.away = True
    async with running(world):
        world.put({KEY: "bad"})
        await world.looked()
        assert world.events == []
        world.compiler.away = False
        while not world.events:
            await world.looked()
    assert [reason for _, reason, _ in world.events] == [UNUSABLE]


async def test_known_mistakes_stay_known_while_the_worker_is_away() -> None:
    world = World()
    async with running(world):
        world.put({KEY: "bad"})
        await world.looked()
        world.compiler.away = True
        world.put({KEY: "bad too"})
        await world.looked()
        assert world.counts["unusable"] == 1
    assert len(world.events) == 1


async def test_other_config_maps_and_deletion_are_no_trouble() -> None:
    world = World()
    async with running(world):
        world.put({KEY: "bad"})
        await world.looked()
        world.put({KEY: "bad"}, name="another")
        world.map.store.remove(Key(NAMESPACE, NAME))
        await world.looked()
    assert len(world.events) == 1
    assert world.counts == {"usable": 0, "unusable": 0, "shadowed": 0}


async def test_nothing_listens_after_the_end() -> None:
    world = World()
    async with running(world):
        pass
    world.put({KEY: "bad"})
    await asyncio.sleep(0)
    assert world.events == []


async def test_the_real_worker_names_the_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("checks")
    world = World()
    async with worker(f"unix://{folder}/w") as process:
        client = ScriptClient(process.address)
        checks = ScriptChecks(
            world.map.store,
            Key(NAMESPACE, NAME),
            validator=client,
            shadows=ScriptLibrary({}),
            report=world.report,
        )
        world.put({KEY: "local a = 1\nretrun a"})
        assert await checks.check()
        await client.close()
    ((_, _, message),) = world.events
    assert message == f"key {KEY} does not compile: line 2: '=' expected near 'a'"


async def test_a_key_that_asks_for_an_unknown_module_is_reported_and_not_compiled() -> None:
    world = World()
    async with running(world):
        world.put({KEY: "--@use routers\nreturn obj.data"})
        await world.looked()
    ((kind, reason, message),) = world.events
    assert (kind, reason) == ("Warning", UNUSABLE)
    assert "asks for the module routers (--@use), which this version does not have" in message
    assert world.compiler.asked == []
