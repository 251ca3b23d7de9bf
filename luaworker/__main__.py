"""Command line of the script worker: flags in, `server.run` out."""

import argparse
import asyncio
import math
import sys
from collections.abc import Callable, Sequence

from luaworker import __version__, httpd, logs
from luaworker.errors import BadSetup
from luaworker.layers import Layer
from luaworker.server import run
from luaworker.settings import Settings


def _positive(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be greater than 0")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be 0, for the default, or greater")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError("must be a number of seconds")
    return value


def _address(text: str) -> str:
    try:
        httpd.parse_address(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m luaworker",
        description="Runs Lua scripts for the controller, each in a locked process of its own.",
    )
    _add_flags(parser.add_argument)
    return parser


def _add_flags(add: Callable[..., object]) -> None:
    add("--listen", required=True, metavar="ADDRESS", help="unix:///PATH or HOST:PORT")
    add("--tls-dir", default="", metavar="DIR", help="ca.crt, tls.crt, tls.key: mutual TLS")
    add("--cpu-ms", type=_positive, default=500, help="CPU time of a script (default 500)")
    add("--wall-ms", type=_positive, default=1000, help="time of a script (default 1000)")
    add("--memory-mb", type=_positive, default=64, help="memory of a script (default 64)")
    add("--concurrency", type=_count, default=0, help="scripts at a time (default 3 per core)")
    add(
        "--demote-after-ms",
        type=_positive,
        default=30,
        help="CPU time after which a script gets the lowest priority (default 30)",
    )
    add(
        "--rest-after",
        type=_seconds,
        default=5.0,
        metavar="SECONDS",
        help="time without a call after which all waiting processes except two end; 0: never (default 5)",
    )
    add("--metrics-bind-address", type=_address, default=":8080", help="0 switches it off")
    add("--health-probe-bind-address", type=_address, default=":8081", help="0 switches it off")
    add(
        "--parent",
        type=_positive,
        default=0,
        metavar="PID",
        help="end with the process that started this one",
    )
    add("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    add(
        "--insecure-no-seccomp",
        action="store_true",
        help="run without the system call filter; for a laptop that has none, never for a cluster",
    )
    add("--version", action="version", version=f"moonshift luaworker {__version__}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the worker; the exit status is 2 if the settings cannot be used."""
    flags = _parser().parse_args(arguments)
    logs.configure(flags.log_level)
    settings = Settings(
        listen=flags.listen,
        tls_dir=flags.tls_dir,
        cpu_ms=flags.cpu_ms,
        wall_ms=flags.wall_ms,
        memory_mb=flags.memory_mb,
        concurrency=flags.concurrency,
        demote_after=flags.demote_after_ms / 1000,
        rest_after=flags.rest_after,
        parent=flags.parent,
        metrics_address=flags.metrics_bind_address,
        probe_address=flags.health_probe_bind_address,
        without=frozenset({Layer.SECCOMP}) if flags.insecure_no_seccomp else frozenset(),
    )
    try:
        asyncio.run(run(settings))
    except (BadSetup, OSError) as problem:
        sys.stderr.write(f"luaworker: {problem}\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
