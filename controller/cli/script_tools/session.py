"""A command's private worker and event loop.

Invariant: every failure is one line for the person; Ctrl-C ends the command and its worker without a message.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from controller.cli.failures import ExitCode, Failure
from controller.cli.script_tools.engine import Engine, private_worker
from controller.errors import WorkerUnavailable

_C = TypeVar("_C", bound=Callable[..., object])
_T = TypeVar("_T")
_KEY = "moonshift.scripts.filtered"


def _keep(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    ctx.meta[_KEY] = not value


def worker_options(command: _C) -> _C:
    """Add the options that say how the private worker is started."""
    return click.option(
        "--insecure-no-seccomp",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Run scripts without the system call filter, on a machine that has none.",
    )(command)


def run(work: Callable[[Engine], Awaitable[_T]], *, workers: int = 1) -> _T:
    """Do the work of the present command with a worker of its own, or several that take turns."""
    filtered = bool(click.get_current_context().meta.get(_KEY, True))

    async def whole() -> _T:
        async with private_worker(filtered=filtered, workers=workers) as engine:
            return await work(engine)

    try:
        return asyncio.run(whole())
    except KeyboardInterrupt:
        raise SystemExit(int(ExitCode.INTERRUPTED)) from None
    except (WorkerUnavailable, OSError, ExceptionGroup) as problem:
        cause = _first(problem)
        if isinstance(
            cause, BrokenPipeError
        ):  # the reader closed the pipe: the command ends without a message
            raise cause from None
        if not isinstance(cause, (WorkerUnavailable, OSError)):
            raise
        raise Failure(str(cause)) from problem


def _first(problem: Exception) -> Exception:
    """The first failure of a group."""
    while isinstance(problem, ExceptionGroup):
        problem = problem.exceptions[0]
    return problem
