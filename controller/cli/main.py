"""The entry: `moonshift`, `kubectl moonshift` (kubectl-moonshift), `kubectl-kruise`.

The program's name changes help and hints, never its behaviour. Invariant: every command is its own module, which is
imported when that command is called; this one only puts them together.
"""

import io
import logging
import os
import sys
from typing import Any

import click

from controller.cli.failures import ExitCode
from controller.cli.lazy import LazyGroup
from controller.cli.options import connection_options
from controller.cli.terminal import say
from controller.version import program_version

PLUGIN = "kubectl-"
_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_LIKE_KRUISE = ("approve", "jump", "pause", "restart", "resume", "status", "undo")
_ALONE = ("describe", "get", "history", "promote", "retry", "version", "why")
_COMMANDS = "controller.cli.commands"
_MODULES = {
    **{f"{_COMMANDS}.{name}": (name,) for name in (*_LIKE_KRUISE, *_ALONE)},
    f"{_COMMANDS}.undo": ("undo", "abort"),
    "controller.cli.gates.gate": ("gate",),
    "controller.cli.handover.check": ("takeover", "uninstall"),
    "controller.cli.install.command": ("install",),
    "controller.cli.notifications.notify": ("notify",),
    "controller.cli.script_tools.convert": ("convert",),
    "controller.cli.script_tools.lint_script": ("lint_script",),
    "controller.cli.script_tools.run_script": ("run_script",),
    "controller.cli.script_tools.test_scripts": ("test_scripts",),
    "controller.cli.simulation.simulate": ("simulate",),
}


@click.group(
    cls=LazyGroup,
    context_settings=_HELP,
    modules={f"{_COMMANDS}.{name}": (name,) for name in _LIKE_KRUISE},
)
@connection_options
def rollout() -> None:
    """The commands as kubectl-kruise spells them.

    \b
    Example:
      kubectl-kruise rollout approve rollout/web
    """


class Program(LazyGroup):
    """All commands. Ctrl-C ends each of them without a message, at any moment: while it is imported, too."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(int(ExitCode.INTERRUPTED)) from None


@click.group(cls=Program, context_settings=_HELP, commands=[rollout], modules=_MODULES)
@click.version_option(program_version(), prog_name="moonshift")
@connection_options
def cli() -> None:
    """See and control releases in steps.

    To start a release, change the workload (kubectl set image, kubectl apply); the Rollout defines the steps.

    \b
    A day with it:
      kubectl moonshift get                      the releases, and what they wait for
      kubectl moonshift get web -w               one release, live
      kubectl moonshift why web                  why it does not continue, and what to do
      kubectl moonshift approve web              end the pause of the step
      kubectl moonshift promote web --full       go to the end now, without the remaining pauses
      kubectl moonshift jump web --to 3          go to step 3 now
      kubectl moonshift undo web                 back to the version before, also after the release
      kubectl moonshift abort web                back to the version before, only during a release
      kubectl moonshift restart web              new pods of the same version, step by step
      kubectl moonshift status web --timeout 9m  the outcome, as an exit code
      kubectl moonshift describe web             everything, with diffs of the routes
      moonshift gate test -f rollout.yaml        its metrics, measured now
      moonshift simulate -f rollout.yaml -f .    every step, before you start it

    \b
    Exit codes: 0 done, 1 not done (the line on standard error says why), 2 wrong command line;
    of status: 3 rolled back, 4 stalled, 5 timed out.

    Completion for bash: eval "$(_MOONSHIFT_COMPLETE=bash_source moonshift)"; zsh_source and fish_source likewise.
    """


def program_name(path: str) -> str:
    """How a person called it: kubectl shows a plugin's dash as a space."""
    name = os.path.basename(path)
    if name.startswith(PLUGIN):
        return f"kubectl {name.removeprefix(PLUGIN)}"
    return name if name not in ("__main__.py", "main.py", "") else "moonshift"


def main() -> None:
    """Run the command line of this process."""
    # the views show the messages of a watch that reconnects
    logging.getLogger("controller").addHandler(logging.NullHandler())
    _write_utf8()
    problem, closed = "", False
    try:
        cli.main(prog_name=program_name(sys.argv[0]))
    except* BrokenPipeError:
        # The reader of a pipe has gone (`| head -1`). click ends quietly then, but sees no error of a group of tasks.
        closed = True
    except* OSError as failures:
        # A full disk, for example.
        problem = str(failures.exceptions[0])
    if closed:
        _end_quietly()
    if problem:
        say(f"error: a file or the output cannot be read or written: {problem}", err=True)
        sys.exit(1)


def _write_utf8() -> None:
    """Write UTF-8 in every locale, as kubectl does: names and messages of a cluster may have any character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _end_quietly() -> None:
    """End with code 1; nothing that is still in a buffer is written to the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


if __name__ == "__main__":
    main()
