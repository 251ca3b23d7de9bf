"""Options every command has, spelled as kubectl spells them, before or after the command's name.

Invariant: the innermost place wins; the values live in click's context, never in a module.
"""

from collections.abc import Callable
from typing import TypeVar

import click
import msgspec

from controller.api.names import DEFAULT_NAMESPACE
from controller.kube.credentials import Impersonation, Source, choose_source

_C = TypeVar("_C", bound=Callable[..., object] | click.Command)
_PREFIX = "moonshift."


class Connection(msgspec.Struct, frozen=True):
    """Which API server, as whom, in which namespace; None if the kubeconfig decides."""

    kubeconfig: str | None = None
    context: str | None = None
    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None
    as_user: str | None = None
    as_uid: str | None = None
    as_group: tuple[str, ...] = ()
    as_user_extra: tuple[str, ...] = ()
    controller_namespace: str | None = None

    def source(self) -> Source:
        """The source of credentials, with all options of the command line."""
        # the pod's own account has neither contexts nor entries: with either of them, a kubeconfig is meant
        named = self.context or self.cluster or self.user
        found = choose_source(self.kubeconfig, named)
        return msgspec.structs.replace(
            found,
            context=self.context,
            cluster=self.cluster,
            user=self.user,
            impersonation=self._impersonation(),
            for_a_person=True,
        )

    def _impersonation(self) -> Impersonation:
        extra: dict[str, tuple[str, ...]] = {}
        for given in self.as_user_extra:
            key, equals, value = given.partition("=")
            if not key or not equals:
                raise click.UsageError(f"--as-user-extra {given}: write it as KEY=VALUE")
            extra[key] = (*extra.get(key, ()), value)
        return Impersonation(
            self.as_user or "", self.as_uid or "", self.as_group, tuple(extra.items())
        )


_OPTIONS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("--kubeconfig",),
        "FILE",
        "Kubeconfig; else $KUBECONFIG, the pod's own account, ~/.kube/config.",
    ),
    (("--context",), "NAME", "Context of the kubeconfig; else its current one."),
    (("--cluster",), "NAME", "Cluster of the kubeconfig; else its context's."),
    (("--user",), "NAME", "User of the kubeconfig; else its context's."),
    (("-n", "--namespace"), "NS", "Namespace; else that of the kubeconfig's context."),
    (("--as", "as_user"), "USER", "Act in this user's place (impersonation)."),
    (("--as-uid",), "UID", "Act with this uid; needs --as."),
    (
        ("--controller-namespace",),
        "NS",
        f"Where the controller runs; else {DEFAULT_NAMESPACE}, or as the CRD says.",
    ),
)
_REPEATED: tuple[tuple[str, str, str], ...] = (
    ("--as-group", "GROUP", "Act as a member of this group; may be repeated; needs --as."),
    ("--as-user-extra", "KEY=VALUE", "One more field of the user; may be repeated; needs --as."),
)


def _keep(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    if value:
        ctx.meta[f"{_PREFIX}{parameter.name}"] = value


def connection_options(command: _C) -> _C:
    """Add the options of a connection to a command or a group."""
    for name, metavar, text in reversed(_REPEATED):
        command = click.option(
            name, metavar=metavar, multiple=True, expose_value=False, callback=_keep, help=text
        )(command)
    for names, metavar, text in reversed(_OPTIONS):
        command = click.option(
            *names, metavar=metavar, expose_value=False, callback=_keep, help=text
        )(command)
    return command


def connection_of(ctx: click.Context) -> Connection:
    """The connection options of the command line."""
    given = {field: ctx.meta.get(f"{_PREFIX}{field}") for field in Connection.__struct_fields__}
    return Connection(**{field: value for field, value in given.items() if value})


def program_of(ctx: click.Context) -> str:
    """How the program was called, for hints that can be copied."""
    return ctx.find_root().info_name or "moonshift"
