"""The parts of a controller in a cluster: each has a name of its own, else the process does not start."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from controller.app.watched import Watched
from controller.settings import Settings
from controller.simulation.api_server.server import MemoryApi
from controller.telemetry.metrics import Metrics

IN_CLUSTER = Settings(lua_worker_tls_dir=Path("/certificates/worker"), leader_elect=True)
OUTSIDE = Settings(webhook_url="https://127.0.0.1:1", webhook_cert_dir=Path("/certificates"))


def names(settings: Settings) -> list[str]:
    client: Any = MemoryApi(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    watched = Watched(settings, client, Metrics(), lambda _: True)
    return [part.name for part in watched.parts(lambda: None)]


@pytest.mark.parametrize("settings", [IN_CLUSTER, OUTSIDE], ids=["in a cluster", "outside"])
def test_no_two_parts_have_one_name(settings: Settings) -> None:
    found = names(settings)
    assert len({*found}) == len(found)


def test_the_secrets_with_certificates_are_watched_where_they_are_in_secrets() -> None:
    assert len([name for name in names(IN_CLUSTER) if "watch-secrets" in name]) == 3
    assert not [name for name in names(OUTSIDE) if "watch-secrets" in name]
