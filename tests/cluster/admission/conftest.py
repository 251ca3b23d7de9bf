"""One plane with everything installed but a controller: only the webhooks answer.

Why it exists: both files of this folder need the same plane, and a plane takes long to start. Invariant: the objects
of each test have names of their own; no test changes the installed objects.
"""

from collections.abc import AsyncIterator

import pytest

from localcluster.plane import Plane
from tests.cluster.admission.installed import installed


@pytest.fixture(scope="package")
async def own_plane(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Plane]:
    """Give the plane."""
    async with installed(tmp_path_factory.mktemp("installed")) as started:
        yield started
