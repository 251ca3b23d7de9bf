"""Failures in words for a person: the object, the place, the cause, the remedy; and the exit code.

Invariant: one line, on standard error, and a code that scripts can rely on. Nothing here prints a stack.
"""

import re
from enum import IntEnum
from typing import IO, Any

import click

from controller.cli.terminal import say
from controller.errors import (
    ApiError,
    Conflict,
    Forbidden,
    MoonshiftError,
    NotFound,
    ServerFault,
    Throttled,
    Unauthorized,
    Unreachable,
    UnreadableAnswer,
)


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FAILED = 1
    """The command could not do its work; the line on standard error says why."""
    USAGE = 2
    """The command line is wrong."""
    ROLLED_BACK = 3
    """`status`: the release ended with the old revision. `gate test`: a value is bad, or a release would be stopped."""
    STALLED = 4
    """`status`, `promote --full`: the release needs a person. `gate test`: a value is unclear, or there is no data."""
    TIMED_OUT = 5
    """`status`, `approve --wait`, `promote --full`: the time was over before the awaited state."""
    INTERRUPTED = 130


class Failure(click.ClickException):
    """Ends the command with one line and an exit code."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code

    @property
    def exit_code(self) -> int:  # type: ignore[override]  # click declares a class variable
        """The exit code with which click ends the process."""
        return int(self.code)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it the way kubectl does."""
        say(f"error: {self.message}", file=file, err=file is None)


_DENIED = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)


_UNHEARD = re.compile(r'failed calling webhook "(?P<webhook>[^"]+)": (?P<why>.*)', re.DOTALL)
"""An admission webhook with failure policy Fail did not answer: the write was not made."""
OUR_WEBHOOKS = frozenset(
    f"{name}.kb.io"
    for name in (
        "mdeployment",
        "mcloneset",
        "mdaemonset",
        "mdaemonset-native",
        "munifiedworload",
        "vrollout",
    )
)
"""Our webhooks with the names of the original; most webhooks of other programs end with `.kb.io`, too."""
_OUR_DOMAIN = ".moonshift.dev"
_OURS = (
    "look whether the controller runs (kubectl get pods -A -l app.kubernetes.io/name=moonshift-controller) and whether "
    "the API server reaches it"
)
_SOMEBODY_ELSES = (
    "it is not Moonshift's: look whose it is (kubectl get validatingwebhookconfigurations,"
    "mutatingwebhookconfigurations) and whether its pods run"
)


def explain(error: MoonshiftError) -> str:
    """The line for a failure of the API server or the way to it."""
    match error:
        case Forbidden(message=message):
            return _forbidden(message)
        case Unauthorized(message=message):
            return f"the API server does not accept the credentials ({message}): log in again"
        case Unreachable():
            return (
                f"the API server gave no answer ({error}): check the server of the kubeconfig's "
                "context (kubectl config view --minify) and the way to it"
            )
        case Throttled(message=message):
            return f"the API server is too busy ({message}): try again in a while"
        case NotFound(message=message):
            return f"not found: {message}"
        case Conflict(message=message):
            return f"somebody changed it at the same moment ({message}): look again, then repeat"
        case UnreadableAnswer(message=message):
            return message
        case ServerFault(message=message, status=status):
            return _server_fault(message, status)
        case ApiError(message=message):
            return f"the API server refused it: {message}"
        case _:
            return str(error)


def _server_fault(message: str, status: int) -> str:
    """A failure of the server; if a webhook gave no answer, nothing was written."""
    unheard = _UNHEARD.search(message)
    if unheard is None:
        return (
            f"the API server failed with code {status} ({message}); whether the change was made is "
            "unknown: look at it, then repeat"
        )
    name = unheard["webhook"]
    ours = name in OUR_WEBHOOKS or name.endswith(_OUR_DOMAIN)
    return (
        f"refused, nothing was changed: the webhook {name} gave no answer ({unheard['why']}); "
        f"{_OURS if ours else _SOMEBODY_ELSES}"
    )


def _forbidden(message: str) -> str:
    """Name the missing right and how to check it; a refusal of an admission plugin is passed on unchanged."""
    denied = _DENIED.search(message)
    if denied is None:
        return f"refused: {message}"
    resource, slash, subresource = denied["resource"].partition("/")
    group = denied["group"]
    where = f" in namespace {denied['namespace']}" if denied["namespace"] else " in all namespaces"
    check = f"kubectl auth can-i {denied['verb']} {resource}{'.' + group if group else ''}"
    check += f" --subresource={subresource}" if slash else ""
    check += f" -n {denied['namespace']}" if denied["namespace"] else " -A"
    return (
        f"forbidden: user {denied['user']} may not {denied['verb']} {denied['resource']} "
        f"({group or 'core'}){where}: ask for a Role with this verb and resource; check with: {check}"
    )
