"""Tests with real traffic need a network of their own.

Invariant: where the machine does not allow one they are skipped, loudly, with the kernel's reason; with
MOONSHIFT_REQUIRE_NETNS=1 that is an error.
"""

import os
from pathlib import Path

import pytest

from localcluster.traffic.namespace import refusal

HERE = Path(__file__).parent
NO_NETWORK = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("requires_netns")


def pytest_collection_finish(session: pytest.Session) -> None:
    mine = [item for item in session.items if item.path.is_relative_to(HERE)]
    if not mine or session.config.option.collectonly:
        return
    reason = refusal()
    if reason and os.environ.get("MOONSHIFT_REQUIRE_NETNS") == "1":
        raise pytest.UsageError(f"a network namespace is required, but {reason}")
    session.config.stash[NO_NETWORK] = reason


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reason = terminalreporter.config.stash.get(NO_NETWORK, "")
    if reason:
        terminalreporter.section("TRAFFIC TESTS DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write_line(reason)


@pytest.fixture(scope="session", autouse=True)
def network_available(request: pytest.FixtureRequest) -> None:
    """Skip where no network namespace can be had."""
    if reason := request.config.stash.get(NO_NETWORK, ""):
        pytest.skip(f"no network namespace of our own: {reason}")
