"""The judge of types is built before the first test that asks it; if it cannot be built, the run says so loudly."""

import asyncio
import os
from pathlib import Path

import pytest
from rich.console import Console

from localcluster.errors import ClusterError
from localcluster.progress import ConsoleReporter
from localcluster.realtypes import Judge
from tests.skips import reason_beginning

HERE = Path(__file__).parent
NO_JUDGE = pytest.StashKey[str]()
NO_JUDGE_TOLD = "the judge of types cannot be built"


def pytest_collection_finish(session: pytest.Session) -> None:
    mine = any(
        item.path.is_relative_to(HERE) and "judge" in getattr(item, "fixturenames", ())
        for item in session.items
    )
    if not mine or session.config.option.collectonly:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            asyncio.run(Judge.ready(ConsoleReporter(Console(stderr=True))))
    except ClusterError as error:
        if os.environ.get("MOONSHIFT_REQUIRE_PLANE") == "1":
            raise pytest.UsageError(f"the judge of types is required, but {error}") from error
        session.config.stash[NO_JUDGE] = str(error)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if reason := reason_beginning(terminalreporter, NO_JUDGE_TOLD):
        terminalreporter.section("TESTS OF TYPES DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write_line(reason)


@pytest.fixture(scope="session")
async def judge(request: pytest.FixtureRequest) -> Judge:
    """Give the judge, built already."""
    if reason := request.config.stash.get(NO_JUDGE, ""):
        pytest.skip(f"{NO_JUDGE_TOLD}: {reason}")
    return await Judge.ready()
