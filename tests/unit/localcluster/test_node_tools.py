"""When no node can run here."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import localcluster.__main__ as command
from localcluster.errors import ClusterError
from localcluster.node import tools
from localcluster.releases import CHOSEN_VARIABLE, OLDEST


def test_a_kubelet_that_is_newer_than_the_api_server_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(CHOSEN_VARIABLE, OLDEST.minor)
    assert "must not be newer than the API server of 1.32" in tools.refusal()


def test_a_node_that_cannot_be_is_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def built(_reporter: object) -> None:
        raise AssertionError("it was built")

    monkeypatch.setattr(command, "ensure_built", built)
    monkeypatch.setenv(CHOSEN_VARIABLE, OLDEST.minor)
    result = CliRunner().invoke(command.cli, ["up", "--node", "--dir", str(tmp_path)])
    assert isinstance(result.exception, ClusterError)
    assert "must not be newer than the API server of 1.32" in str(result.exception)
