"""The original's own end-to-end tests pass, except the tests that are recorded as different on purpose."""

import os
import re
from pathlib import Path

import pytest

from localcluster.build import ensure_built
from localcluster.errors import ClusterError
from localcluster.progress import SilentReporter
from tests.originals_suite.__main__ import PROCESSES, run
from tests.originals_suite.differences import DIFFERENCES
from tests.originals_suite.program import VERSION, ensure_suite
from tests.unit.documents.pages import ROOT

IN_ALL = 72
PAGE = ROOT / "docs" / "compatibility.md"


@pytest.fixture(scope="module")
async def built() -> None:
    """The program and the plane; skips where they cannot be built."""
    try:
        await ensure_built(SilentReporter())
        await ensure_suite(SilentReporter())
    except ClusterError as error:
        if os.environ.get("MOONSHIFT_REQUIRE_PLANE") == "1":
            raise
        pytest.skip(f"no control plane can be had: {error}")


@pytest.mark.full
@pytest.mark.requires_plane
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("built")
async def test_all_specs_pass_except_those_that_are_different_on_purpose(tmp_path: Path) -> None:
    report = await run("", PROCESSES, tmp_path, SilentReporter())
    assert report.in_all == IN_ALL
    assert report.surprises == (), report.summary()
    assert report.passed == IN_ALL - len(DIFFERENCES)


def test_the_page_has_a_row_for_each_spec_that_does_not_pass_and_the_numbers() -> None:
    section = PAGE.read_text().split("## The original's own end-to-end tests")[1].split("\n## ")[0]
    assert set(re.findall(r"`(\w+_test\.go:\d+)`", section)) == set(DIFFERENCES)
    assert f"OpenKruise Rollouts {VERSION}" in section
    assert f"{IN_ALL - len(DIFFERENCES)} of its {IN_ALL} specs" in section
