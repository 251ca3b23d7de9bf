"""Whether a program of ours is ready: it answers an address with 200.

Invariant: one question and no patience; the caller asks again. A program that does not listen yet is not ready,
which is no error.
"""

import asyncio

import aiohttp

_SECONDS = 2.0


class Answering:
    """Asks one address."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __call__(self) -> bool:
        """The answer is 200."""
        try:
            async with (
                asyncio.timeout(_SECONDS),
                aiohttp.ClientSession() as session,
                session.get(self._url) as answer,
            ):
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False
