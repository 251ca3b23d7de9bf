"""`moonshift why` at a row's worst moment: its lines as the document prints them; and runs its commands.

Invariant: a command that only reads is run here, and has to succeed. Scenarios run the commands that change
something.
"""

import re
import shlex
from collections.abc import Iterable

from localcluster.plane import Plane

LOOKS = ("get", "describe", "logs", "auth", "api-resources")
"""Verbs of kubectl that only read."""
TYPED = ("get", "describe", "api-resources")
"""Those that succeed whatever they find."""
IN_NAMESPACE = " -n <namespace>"
_GAP = re.compile(r" +# ")


def ours(verb: str, purpose: str) -> str:
    """The line of a command of this program."""
    return f"kubectl moonshift {verb} shop -n <namespace>  # {purpose}"


def theirs(words: str, purpose: str) -> str:
    """The line of a command of kubectl in the namespace."""
    return f"kubectl {words} -n <namespace>  # {purpose}"


UNDO = ours("undo", "go back to the old version")
APPROVE = ours("approve", "let the step go on")
LOOK_AT_POD = theirs("describe pod <pod>", "its conditions and Events")


def lines_of(output: str) -> list[str]:
    """The printed lines, without the padding before `#`."""
    return [_GAP.sub("  # ", line.strip()) for line in output.splitlines()]


def changing(lines: Iterable[str]) -> list[str]:
    """The printed commands that change something, without the namespace."""
    found = [line.partition("  # ")[0] for line in lines if line.startswith("kubectl ")]
    return [text.replace(IN_NAMESPACE, "") for text in found if text.split()[1] not in LOOKS]


def commands_of(lines: Iterable[str]) -> list[list[str]]:
    """The printed commands, split into words."""
    found = [line for line in lines if line.startswith("kubectl ")]
    return [shlex.split(line, comments=True) for line in found]


async def type_those_that_look(plane: Plane, lines: Iterable[str]) -> None:
    """Run every command that only reads, as the administrator. Raises CommandFailed if one fails."""
    for _, *words in commands_of(lines):
        if words[0] in TYPED:
            await plane.kubectl(*words)
