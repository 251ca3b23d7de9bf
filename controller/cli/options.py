"""Options every command has, spelled as kubectl spells them, before or after the command's name.

Invariant: the innermost place wins; the values live in click's context, never in a module.
"""

from collections.abc import Callable
from typing import TypeVar

import click
import msgspec

_C = TypeVar("_C", bound=Callable[..., object] | click.Command)
_PREFIX = "moonshift."


class Connection(msgspec.Struct, frozen=True):
    """Which API server, as whom, in which namespace; None where the kubeconfig decides."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None


def _keep(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[f"{_PREFIX}{parameter.name}"] = value


def connection_options(command: _C) -> _C:
    """Add --kubeconfig, --context and -n to a command or a group."""
    for decorate in (
        click.option(
            "-n",
            "--namespace",
            metavar="NS",
            expose_value=False,
            callback=_keep,
            help="Namespace; else that of the kubeconfig's context.",
        ),
        click.option(
            "--context",
            metavar="NAME",
            expose_value=False,
            callback=_keep,
            help="Context of the kubeconfig; else its current one.",
        ),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            expose_value=False,
            callback=_keep,
            help="Kubeconfig; else $KUBECONFIG, the pod's own account, ~/.kube/config.",
        ),
    ):
        command = decorate(command)
    return command


def connection_of(ctx: click.Context) -> Connection:
    """What was given."""
    return Connection(
        **{field: ctx.meta.get(f"{_PREFIX}{field}") for field in Connection.__struct_fields__}
    )


def program_of(ctx: click.Context) -> str:
    """How the program was called, for hints that can be copied."""
    return ctx.find_root().info_name or "moonshift"
