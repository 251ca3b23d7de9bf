"""One real node for all tests of this ring.

Invariant: where no node can run the tests are skipped, loudly, with the reason and the command that helps; with
MOONSHIFT_REQUIRE_NODE=1 that is an error. Building happens before the first test, so that no test's time limit pays
for it.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rich.console import Console

from demo.cluster.images import ensure_images
from demo.cluster.install import install
from localcluster.build import ensure_built
from localcluster.extras import BuiltExtra, ensure_extra
from localcluster.node.gateway import NodeGateway
from localcluster.node.plane import NodePlane
from localcluster.node.programs import HELM, ensure_node_programs, node_programs
from localcluster.node.tools import refusal
from localcluster.progress import ConsoleReporter, SilentReporter
from localcluster.traffic.contour import ensure_contour
from tests.node.apps import IMAGE, VERSIONS
from tests.skips import reason_beginning

HERE = Path(__file__).parent
NO_NODE = pytest.StashKey[str]()
NO_NODE_TOLD = "no real node can run here"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("node")


def pytest_collection_finish(session: pytest.Session) -> None:
    mine = [item for item in session.items if item.path.is_relative_to(HERE)]
    if not mine or session.config.option.collectonly:
        return
    reason = refusal()
    if reason and os.environ.get("MOONSHIFT_REQUIRE_NODE") == "1":
        raise pytest.UsageError(f"a real node is required, but {reason}")
    session.config.stash[NO_NODE] = reason
    if not reason:
        capture = session.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            asyncio.run(_build(mine))


async def _build(items: list[pytest.Item]) -> None:
    """Build what the selected tests need, and no more."""
    wanted = {name for item in items for name in getattr(item, "fixturenames", ())}
    reporter = ConsoleReporter(Console(stderr=True))
    await ensure_built(reporter)
    await ensure_node_programs(reporter)
    if "installed" in wanted:
        await ensure_images(reporter)
    if "helm" in wanted:
        await ensure_extra(HELM, reporter)
    if "gateway" in wanted:
        await ensure_contour(reporter)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reason = reason_beginning(terminalreporter, NO_NODE_TOLD)
    if reason:
        terminalreporter.section("TESTS ON A REAL NODE DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write_line(reason)


@pytest.fixture(scope="session", autouse=True)
def node_available(request: pytest.FixtureRequest) -> None:
    """Skip if no node can run."""
    if reason := request.config.stash.get(NO_NODE, ""):
        pytest.skip(f"{NO_NODE_TOLD}: {reason}")


@pytest.fixture(scope="package")
async def node(
    node_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[NodePlane]:
    """Give the node that all tests of the ring share, with the images of the test pods."""
    async with NodePlane.start(tmp_path_factory.mktemp("node")) as started:
        for version in VERSIONS:
            image, environment = f"{IMAGE}:{version}", {"VERSION": version}
            await started.load_program(image, node_programs().greeter.binary, environment)
        yield started


@pytest.fixture(scope="package")
async def installed(node: NodePlane) -> NodePlane:
    """Give the node with the product on it, installed as the documents say."""
    await install(node, await ensure_images(SilentReporter()))
    return node


@pytest.fixture(scope="package")
async def helm(node_available: None) -> BuiltExtra:
    """Give Helm."""
    return await ensure_extra(HELM)


@pytest.fixture(scope="package")
async def gateway(node: NodePlane) -> NodeGateway:
    """Give Contour and Envoy on the node."""
    started = NodeGateway(node, await ensure_contour())
    await started.start()
    return started


@pytest.fixture
async def namespace(node: NodePlane) -> AsyncIterator[str]:
    """Give a fresh namespace; its deletion is not waited for."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    await node.client().create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    await node.client().delete(f"/api/v1/namespaces/{name}")
