"""An endpoint whose keeper runs its rounds for the duration of a block, with a stopped clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from controller.certificates.keeper import CertificateKeeper, Places
from controller.certificates.publish import Address, Publisher
from controller.webhook import endpoint as endpoint_module
from controller.webhook.endpoint import Endpoint
from controller.webhook.server import webhook_app
from tests.component.certificates.doubles import SERVED, START, US, Configurations, Secrets
from tests.component.webhook.no_metrics import NoMetrics

LIMIT_SECONDS = 60.0
"""Only against hanging."""


class Calendar:
    """A clock that stands."""

    def now(self) -> datetime:
        return START

    def monotonic(self) -> float:
        return 0.0


def without_waiting(monkeypatch: pytest.MonkeyPatch, *pauses: str) -> None:
    """These pauses of the endpoint take no time."""
    for name in pauses:
        monkeypatch.setattr(endpoint_module, name, timedelta(0))


@asynccontextmanager
async def rounds(
    store: Configurations, tmp_path: Path, secrets: Secrets | None = None, port: int = 0
) -> AsyncIterator[Endpoint]:
    """Run the endpoint. The block has to end within the limit."""
    places = Places("s", tmp_path / "serving")
    publisher = Publisher(store, Address(), SERVED, US)
    keeper = CertificateKeeper(secrets or Secrets(), publisher, Address(), places, Calendar())
    app = webhook_app({}, NoMetrics())
    endpoint = Endpoint(app, port=port, keeper=keeper, files=tmp_path / "serving")
    task = asyncio.create_task(endpoint.run())
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            yield endpoint
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
