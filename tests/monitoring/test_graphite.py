"""The packaged source `graphite` against a real server of the render API, by the real worker and `Measuring`."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from controller.api.analysis import Metric, SourceQuery
from controller.api.meta import Key
from controller.cli.gates.own_scripts import FoundScripts
from controller.cli.gates.own_sources import Access, Sources, sources
from controller.domain.decision import Measure
from controller.domain.gates.measurement import Measurement
from localcluster.graphite import Graphite, started_graphite

pytestmark = pytest.mark.asyncio(loop_scope="module")
SINCE = {5: 9.0, 4: 4.0, 3: 3.0, 2: 2.0, 1: 1.0}
"""Values by the minutes that they are old."""


def points(*left_out: int) -> dict[int, float]:
    """Sent when the server has started: a module of a long run is read many minutes before."""
    minute = int(time.time()) // 60 * 60
    return {minute - 60 * ago: value for ago, value in SINCE.items() if ago not in left_out}


class Asking:
    """The server, and the way to ask it."""

    def __init__(self, server: Graphite, found: Sources) -> None:
        self._server = server
        self._found = found

    async def measured(self, query: str) -> Measurement:
        raw = {
            name: msgspec.Raw(msgspec.json.encode(value))
            for name, value in {"query": query, "address": self._server.address}.items()
        }
        metric = Metric(name="errors", source=SourceQuery(script="graphite", params=raw))
        return await self._found.measuring.measured(Key("shop", "web"), Measure("gate", 1, metric))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asking(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asking]:
    folder: Path = tmp_path_factory.mktemp("graphite")
    async with started_graphite(folder) as server, sources(Access(), None, FoundScripts()) as found:
        await server.send("web.errors", points())
        await server.send("web.gaps", points(1, 2))
        yield Asking(server, found)


async def test_the_value_is_that_of_the_last_minute_that_is_complete(asking: Asking) -> None:
    found = await asking.measured("web.errors")
    assert (found.value, found.error) == (1.0, "")


async def test_a_function_of_graphite_is_measured(asking: Asking) -> None:
    found = await asking.measured("scale(web.errors,10)")
    assert (found.value, found.error) == (10.0, "")


async def test_gaps_are_left_out(asking: Asking) -> None:
    found = await asking.measured("web.gaps")
    assert (found.value, found.error) == (3.0, "")


async def test_a_series_that_nobody_sent_is_no_data(asking: Asking) -> None:
    found = await asking.measured("web.none")
    assert (found.value, found.error) == (None, "")


async def test_several_series_are_an_error(asking: Asking) -> None:
    found = await asking.measured("web.*")
    assert found.value is None
    assert "2 series" in found.error


async def test_a_wrong_target_is_an_error_in_the_words_of_the_server(asking: Asking) -> None:
    found = await asking.measured("nope(web.errors")
    assert found.value is None
    assert 'Graphite answered 400: error in "/render"' in found.error
