"""One control plane for all cluster tests of a run.

Why it exists: a plane takes seconds, so the tests share one and keep apart by namespaces. A plane ends with the last
test of its folder, because an unused plane slows down the tests after it. Invariant: tests are skipped only if no
plane can be started, with a clear reason; with MOONSHIFT_REQUIRE_PLANE=1 that is an error. The plane is built before
the first test, so the build does not count against a test's time limit.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from demo.stage import ROOT, Product
from localcluster.build import ensure_built
from localcluster.errors import ClusterError
from localcluster.extras import ensure_extra
from localcluster.openkruise import KRUISE
from localcluster.plane import Plane
from localcluster.process import Component
from localcluster.progress import ConsoleReporter
from localcluster.prometheus import PROMETHEUS
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import RECORDED
from tests.cluster.secrecy import kept_product
from tests.planes import NO_PLANE_TOLD, mark_below, plane_is_required
from tests.skips import reason_beginning

HERE = Path(__file__).parent
GATEWAY_KINDS = ROOT / "demo" / "crds"
NO_PLANE = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_below(HERE, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    mine = [item for item in session.items if item.path.is_relative_to(HERE)]
    if not mine or session.config.option.collectonly:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            asyncio.run(_build(mine))
    except ClusterError as error:
        if plane_is_required():
            raise pytest.UsageError(f"a plane is required, but {error}") from error
        session.config.stash[NO_PLANE] = str(error)


async def _build(items: list[pytest.Item]) -> None:
    """Build what the selected tests need, and no more."""
    reporter = ConsoleReporter(Console(stderr=True))
    await ensure_built(reporter)
    wanted = {"kruise_plane", "kruise_product"}
    if any(wanted & {*getattr(item, "fixturenames", ())} for item in items):
        await ensure_extra(KRUISE, reporter)
    if any({"watched", "prometheus"} & {*getattr(item, "fixturenames", ())} for item in items):
        await ensure_extra(PROMETHEUS, reporter)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    prefix = f"{HERE.relative_to(terminalreporter.config.rootpath).as_posix()}/"
    outcomes = {
        outcome: sum(
            1
            for report in terminalreporter.stats.get(outcome, ())
            if isinstance(report, pytest.TestReport) and report.nodeid.startswith(prefix)
        )
        for outcome in ("passed", "failed", "error", "skipped")
    }
    ran = outcomes["passed"] + outcomes["failed"]
    reason = reason_beginning(terminalreporter, NO_PLANE_TOLD)
    if reason:
        terminalreporter.section("CLUSTER TESTS DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write_line(reason)
    text = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items() if number)
    terminalreporter.write_line(f"cluster tests that ran: {ran}" + (f" ({text})" if text else ""))


@pytest.fixture(scope="session", autouse=True)
def plane_available(request: pytest.FixtureRequest) -> None:
    """Skip if no plane can be started."""
    reason = request.config.stash.get(NO_PLANE, None)
    if reason is not None:
        pytest.skip(f"{NO_PLANE_TOLD}: {reason}")


@pytest.fixture(scope="package")
async def plane(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Plane]:
    """Give the plane that all cluster tests share."""
    async with Plane.start(tmp_path_factory.mktemp("plane")) as started:
        yield started


@asynccontextmanager
async def fresh_namespace(plane: Plane) -> AsyncIterator[str]:
    """Make a namespace for the length of a block; its deletion is not waited for."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    client = plane.client()
    await client.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    await client.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
async def namespace(plane: Plane) -> AsyncIterator[str]:
    """Give a fresh namespace; its deletion is not waited for."""
    async with fresh_namespace(plane) as name:
        yield name


@pytest.fixture(scope="package")
async def product(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Give Moonshift, installed and running on a plane of its own, with the gateway kinds of its demo."""
    async with Plane.start(tmp_path_factory.mktemp("product-plane")) as started:
        await started.kubectl("apply", "--server-side", "-f", str(GATEWAY_KINDS))
        await started.apply(yaml.safe_dump_all(manifests.nodes()))
        async with (
            kept_product(started, tmp_path_factory.mktemp("product")) as running,
        ):
            yield running


@pytest.fixture(scope="package")
async def recorder(product: Product) -> AsyncIterator[Recorder]:
    """Give a recording of everything that releases touch, from before the first of them."""
    # kubectl asks again while the storage of new kinds is being made.
    kinds = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in RECORDED)
    await product.plane.kubectl("get", kinds, "--all-namespaces")
    async with product.plane.recorder(*RECORDED) as started:
        yield started


@pytest.fixture
async def namespace_of_product(product: Product) -> AsyncIterator[str]:
    """Give a fresh namespace on the product's plane; its deletion is not waited for."""
    async with fresh_namespace(product.plane) as name:
        yield name


@asynccontextmanager
async def kept_running(controller: Component) -> AsyncIterator[None]:
    """Start the controller again when it ends itself (a Lease that cannot be renewed in time), as a kubelet does."""
    keeping = asyncio.create_task(controller.keep_running())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
