"""The server that other tests use leaves no socket open, at whatever moment it ends."""

import asyncio
import gc
import socket
import warnings

import pytest

from tests.component.kube.faulty_server import FaultyServer


@pytest.mark.parametrize("turns", range(6))
async def test_a_connection_of_the_last_moment_is_closed_with_the_server(turns: int) -> None:
    with warnings.catch_warnings(record=True) as left_open, socket.socket() as client:
        warnings.simplefilter("always", ResourceWarning)
        async with FaultyServer().running() as server:
            client.connect(("127.0.0.1", server.port))
            for _ in range(turns):
                await asyncio.sleep(0)
        gc.collect()
    assert [str(warning.message) for warning in left_open] == []
