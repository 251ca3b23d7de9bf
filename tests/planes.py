"""A control plane for the tests of a ring, or a loud reason why there is none.

Invariant: tests are skipped only where no plane can be built; with MOONSHIFT_REQUIRE_PLANE=1 that is an error.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from localcluster.build import ensure_built
from localcluster.errors import ClusterError
from localcluster.progress import SilentReporter

NO_PLANE_TOLD = "no control plane can be had"


def mark_below(folder: Path, items: Iterable[pytest.Item], mark: str = "requires_plane") -> None:
    """Mark the tests of a folder with their needs."""
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(mark)


def plane_is_required() -> bool:
    """Whether it is an error that no plane can be built."""
    return os.environ.get("MOONSHIFT_REQUIRE_PLANE") == "1"


async def built_or_skipped() -> None:
    """Build a plane's programs; skip the requesting test if that fails."""
    try:
        await ensure_built(SilentReporter())
    except ClusterError as error:
        if plane_is_required():
            raise
        pytest.skip(f"{NO_PLANE_TOLD}: {error}")
