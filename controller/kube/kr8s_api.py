"""kr8s' Api over the connections of `api`, so that the classes of kr8s work with our credentials and our errors.

Why a module of its own: kr8s and the libraries that it imports take memory and time to load. Programs of others use
them; the controller and its commands do not. Invariant: every request goes through `ControllerApi.call_api`.
"""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any, cast

import kr8s.asyncio

from controller.kube.api import ControllerApi
from controller.kube.transport import Answer


class Kr8sApi(kr8s.asyncio.Api):
    """kr8s' Api of an opened `ControllerApi`, which its owner closes."""

    def __init__(self, api: ControllerApi) -> None:
        super().__init__(bypass_factory=True, url=api.server, serviceaccount="")
        # Else kr8s would read a ~/.kube/config that happens to exist. It has no public setting for "none", and tests
        # for this very value; tests/component/contract/test_kr8s_seams.py fails when that changes.
        cast(Any, self.auth)._kubeconfig_path_or_dict = False
        self._controller_api = api

    @contextlib.asynccontextmanager
    async def call_api(  # type: ignore[override]  # kr8s promises an Answer and reads what Answer has
        self,
        method: str = "GET",
        version: str = "v1",
        base: str = "",
        namespace: str | None = None,
        url: str = "",
        raise_for_status: bool = True,
        stream: bool = False,
        **kwargs: Any,
    ) -> AsyncGenerator[Answer, None]:
        """Send one request."""
        async with self._controller_api.call_api(
            method, version, base, namespace, url, raise_for_status, stream, **kwargs
        ) as answer:
            yield answer
