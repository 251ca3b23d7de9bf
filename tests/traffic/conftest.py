"""Tests with real traffic need a network of their own.

Invariant: where the machine does not allow one they are skipped, loudly, with the kernel's reason; with
MOONSHIFT_REQUIRE_NETNS=1 that is an error.
"""

import asyncio
import os
from pathlib import Path

import pytest
from rich.console import Console

from localcluster.build import ensure_built
from localcluster.progress import ConsoleReporter
from localcluster.traffic.namespace import refusal
from localcluster.traffic.vendors import Vendor, ensure_gateway
from tests.planes import mark_below
from tests.skips import reason_beginning

HERE = Path(__file__).parent
NO_NETWORK = pytest.StashKey[str]()
NO_NETWORK_TOLD = "no network namespace of our own"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_below(HERE, items, "requires_netns")


def pytest_collection_finish(session: pytest.Session) -> None:
    mine = [item for item in session.items if item.path.is_relative_to(HERE)]
    if not mine or session.config.option.collectonly:
        return
    reason = refusal()
    if reason and os.environ.get("MOONSHIFT_REQUIRE_NETNS") == "1":
        raise pytest.UsageError(f"a network namespace is required, but {reason}")
    session.config.stash[NO_NETWORK] = reason
    wanted = [one for one in Vendor if any(one.value in item.name for item in mine)]
    if wanted and not reason:
        capture = session.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            asyncio.run(_build(wanted))


async def _build(vendors: list[Vendor]) -> None:
    """Build what releases need before the first test, so that no test's time limit pays for it."""
    reporter = ConsoleReporter(Console(stderr=True))
    await ensure_built(reporter)
    for vendor in vendors:
        await ensure_gateway(vendor, reporter)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reason = reason_beginning(terminalreporter, NO_NETWORK_TOLD)
    if reason:
        terminalreporter.section("TRAFFIC TESTS DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write_line(reason)


@pytest.fixture(scope="session", autouse=True)
def network_available(request: pytest.FixtureRequest) -> None:
    """Skip if no network namespace can be created."""
    if reason := request.config.stash.get(NO_NETWORK, ""):
        pytest.skip(f"{NO_NETWORK_TOLD}: {reason}")
