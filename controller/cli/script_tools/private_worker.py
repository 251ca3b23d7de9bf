"""A command's private worker and event loop.

Invariant: every failure is one line for the person; Ctrl-C ends the worker, too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from controller.cli.failures import Failure, explain
from controller.cli.script_tools.engine import Engine, private_worker
from controller.errors import MoonshiftError

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
    except (MoonshiftError, OSError, ExceptionGroup) as problem:
        match _first(problem):
            case BrokenPipeError() as closed:
                raise closed from None  # the reader closed the pipe: the command ends without a message
            case MoonshiftError() as failure:
                raise Failure(explain(failure)) from problem
            case OSError() as failure:
                raise Failure(str(failure)) from problem
            case _:
                raise


def _first(problem: Exception) -> Exception:
    """The first failure of a group."""
    while isinstance(problem, ExceptionGroup):
        problem = problem.exceptions[0]
    return problem
