"""The articles' manifests, whole and damaged: the simulation predicts or refuses in words, and never fails."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.cli.failures import Failure
from controller.cli.script_tools.engine import Engine, private_worker
from controller.cli.simulation.manifests import read_manifests
from controller.cli.simulation.report import Report, for_markdown
from controller.cli.simulation.simulate import simulated
from tests.articles import ARTICLES
from tests.component.cli_simulation.damages import DAMAGES


class Simulations:
    """Simulations by one private worker, on a loop of its own."""

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop

    def of(self, text: str) -> Report | Failure:
        """The prediction for the manifests in a text, or the reason why there is none."""
        with TemporaryDirectory() as folder:
            (Path(folder) / "all.yaml").write_text(text)
            try:
                objects = read_manifests([Path(folder)])
                asked = simulated(self._engine, objects, "", "default", {})
                return asyncio.run_coroutine_threadsafe(asked, self._loop).result()
            except Failure as failure:
                return failure


@pytest.fixture(scope="module")
def simulations() -> Iterator[Simulations]:
    found: list[Simulations] = []
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with private_worker() as engine:
            found.append(Simulations(engine, asyncio.get_running_loop()))
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    yield found[0]
    done.set()
    thread.join()


@pytest.mark.parametrize("article", ARTICLES)
def test_an_articles_manifests_are_predicted_to_the_end(
    simulations: Simulations, article: str
) -> None:
    report = simulations.of(ARTICLES[article])
    assert isinstance(report, Report)
    assert report.sound, for_markdown(report)


EMPTY = ["labels", "annotations", "finalizers", "ownerReferences"]


def _with_empty_fields(text: str) -> str:
    """Every object and pod template has its optional metadata written down, without a value."""
    documents = [one for one in yaml.safe_load_all(text) if one]
    for one in documents:
        template = one.get("spec", {}).get("template", {})
        for metadata in (one["metadata"], template.get("metadata", {})):
            metadata |= {name: metadata.get(name) for name in EMPTY}
        one["status"] = None
    written: str = yaml.safe_dump_all(documents)
    return written


@pytest.mark.parametrize("article", ARTICLES)
def test_a_field_with_nothing_behind_it_counts_as_left_out(
    simulations: Simulations, article: str
) -> None:
    whole = simulations.of(ARTICLES[article])
    assert isinstance(whole, Report)
    assert simulations.of(_with_empty_fields(ARTICLES[article])) == whole


@pytest.mark.parametrize("damage", DAMAGES)
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), article=st.sampled_from(sorted(ARTICLES)))
def test_damaged_manifests_are_predicted_or_refused_in_words(
    simulations: Simulations, damage: str, data: st.DataObject, article: str
) -> None:
    found = simulations.of(DAMAGES[damage](data.draw, ARTICLES[article]))
    if isinstance(found, Failure):
        assert str(found)
    else:
        assert found.sound or found.refusals or found.problem or found.left
        assert for_markdown(found)
