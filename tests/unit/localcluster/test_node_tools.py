"""When no node can run here."""

import pytest

from localcluster.node import tools
from localcluster.releases import CHOSEN_VARIABLE, OLDEST


def test_a_kubelet_that_is_newer_than_the_api_server_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(CHOSEN_VARIABLE, OLDEST.minor)
    assert "must not be newer than the API server of 1.32" in tools.refusal()
