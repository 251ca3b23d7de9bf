"""The environment of all measurements: a control plane, the product, watches and users.

Why it exists: a plane takes seconds to start, and the measurements are about a warm process. Invariant: one plane and
one product for all measurements, a namespace for each; runs that several measurements judge are made once. It must
not judge.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

import aiohttp

from demo.stage import CONTROLLER, NAMESPACE, ROOT, Product, product
from localcluster.api import ApiClient
from localcluster.errors import ClusterError
from localcluster.plane import Plane
from localcluster.progress import Reporter
from tests.bench.follow import Follower
from tests.bench.objects import DEPLOYMENTS, ROLLOUTS

USER = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}"
"""The controller's user name at the API server."""
VIRTUAL_SERVICE_CRD = ROOT / "demo" / "crds" / "virtualservices.yaml"

FAILURES = (ClusterError, TimeoutError, aiohttp.ClientError, ExceptionGroup)
"""The exceptions of a measurement that fails because of the product or the machine, not because of the bench."""
RUN_SECONDS = 300.0
"""A run that takes longer has failed, in all measurements that use it."""

T = TypeVar("T")


@dataclass(slots=True)
class Ground:
    """The parts that a measurement may use."""

    plane: Plane
    product: Product
    reporter: Reporter
    rollouts: Follower
    deployments: Follower
    _known: dict[str, object] = field(default_factory=dict)

    @property
    def admin(self) -> ApiClient:
        """The client of the administrator, who installs the product and other objects."""
        return self.plane.client()

    @property
    def developer(self) -> ApiClient:
        """The client of the developer, who changes templates."""
        return self.plane.client("developer")

    @property
    def approver(self) -> ApiClient:
        """The client of the approver, who lets steps go on."""
        return self.plane.client("approver")

    async def once(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        """The result or the failure of `make`, which runs at the first call with that name."""
        if name not in self._known:
            try:
                async with asyncio.timeout(RUN_SECONDS):
                    self._known[name] = await make()
            except FAILURES as failure:
                self._known[name] = failure
        known = self._known[name]
        if isinstance(known, BaseException):
            raise known
        return cast("T", known)


@asynccontextmanager
async def ground(folder: Path, reporter: Reporter) -> AsyncIterator[Ground]:
    """A plane with the product on it, until the block ends."""
    async with Plane.start(folder / "plane", reporter=reporter) as plane:
        crd = await asyncio.to_thread(VIRTUAL_SERVICE_CRD.read_text)
        await plane.apply(crd, server_side=True)
        async with AsyncExitStack() as stack:
            with reporter.phase("install and start the product"):
                made = await stack.enter_async_context(product(plane, folder / "product"))
            admin, follow = plane.client(), stack.enter_async_context
            rollouts = await follow(Follower.start(admin, f"{ROLLOUTS}/rollouts"))
            deployments = await follow(Follower.start(admin, f"{DEPLOYMENTS}/deployments"))
            yield Ground(plane, made, reporter, rollouts, deployments)
