"""Each lock is needed: with it open, and only it, an attack gets through that it stops otherwise."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from luaworker.layers import Layer
from luaworker.packaged import Packaged
from tests.attacks.attack import Attack, Bounds, Category
from tests.attacks.corpus import CORPUS
from tests.attacks.laboratory import Laboratory, laboratory
from tests.attacks.trial import CANARY, attempt, problems, sing

_WITNESSES = [attack for attacks in CORPUS.values() for attack in attacks if attack.witness]


@pytest.mark.parametrize("layer", list(Layer))
async def test_an_attack_succeeds_without_its_layer(layer: Layer) -> None:
    async with laboratory() as closed:
        song = await sing(closed.ask)
    witnesses = [attack for attack in _WITNESSES if attack.layer is layer]
    for without in {attack.without for attack in witnesses}:
        async with laboratory(without | {layer}) as lab:
            for attack in (attack for attack in witnesses if attack.without == without):
                record = await attempt(attack, lab.ask)
                assert problems(attack, record, song) != [], f"{attack.name} does not need {layer}"
                lab.refresh()


def _either(attack: Attack) -> Attack:
    """Attack and canary as one script, so that a recycled worker serves both: the object says which."""
    chosen = f"if obj.canary then return (function() {CANARY} end)() end {attack.source.decode()}"
    return replace(attack, script=chosen, bounds=Bounds(0, 0, 0, 0))


_TRACES = [_either(attack) for attack in CORPUS[Category.CONTAMINATION]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def trusting() -> AsyncIterator[Laboratory]:
    """A worker that takes the traces for packaged scripts."""
    digests = frozenset(hashlib.sha256(trace.source).digest() for trace in _TRACES)
    modules = {
        name.encode(): hashlib.sha256(text.encode()).digest()
        for trace in _TRACES
        for name, text in trace.modules
    }
    async with laboratory(packaged=Packaged(digests, modules)) as lab:
        yield lab


@pytest.mark.parametrize("trace", [pytest.param(trace, id=trace.name) for trace in _TRACES])
async def test_a_recycled_worker_passes_nothing_on(trace: Attack, trusting: Laboratory) -> None:
    first, tried, last = [
        await attempt(replace(trace, obj=obj), trusting.ask)
        for obj in (b'{"canary":1}', b'{"canary":false}', b'{"canary":1}')
    ]
    assert tried.code in trace.codes
    assert first.code == "OK"
    assert (last.code, last.result) == ("OK", first.result)
    assert b"lua_recycled_calls_total 0.0" not in trusting.metrics.render()
