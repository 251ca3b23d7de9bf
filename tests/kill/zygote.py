"""A process that has imported the controller, from which controllers are forked: a start after a kill costs no imports.

Why it exists: a campaign starts a controller hundreds of times, and three quarters of a start were imports. Invariant:
only code is shared. Nothing of the controller has run before the fork; each controller has its own session,
its own log and its own random numbers, and dies with this process, as this one dies with the test that started it.

As a program it reads one JSON line per controller from its standard input, and answers each with a process id.
"""

import ctypes
import gc
import json
import os
import random
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from localcluster.launch import PR_SET_PDEATHSIG
from localcluster.process import Component, Program, ReadyCheck

PREFIX = (sys.executable, "-m", "controller")
"""How a command line begins that this process can take the place of."""


class Zygote:
    """The process, running; made by `serving`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextmanager
    def serving(cls) -> Iterator[Self]:
        """Run it for the length of a block; it ends with its standard input."""
        command = [sys.executable, "-m", __name__]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdin is not None
            try:
                yield cls(process)
            finally:
                process.stdin.close()

    def start(self, program: Program) -> int:
        """Start a controller; its process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"command": list(program.command), "log": str(program.log)}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


class ForkedController(Component):
    """A controller that is started by a fork of a process that has imported it."""

    def __init__(
        self, zygote: Zygote, program: Program, is_ready: ReadyCheck, ready_seconds: float
    ) -> None:
        assert tuple(program.command[: len(PREFIX)]) == PREFIX, program.command
        super().__init__(program, is_ready, ready_seconds)
        self._zygote = zygote

    def _run(self) -> int:
        return self._zygote.start(self.program)


def main() -> None:
    """Answer until the input ends."""
    # Everything that a controller imports when it starts; nothing of it runs.

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    own = os.getpid()
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(asked["command"], asked["log"], own)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


def _become(command: list[str], log: str, parent: int) -> None:
    """Be a controller, as if this process had been started with its command line."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    random.seed()
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, sink), (2, sink)):
        os.dup2(source, target)
    sys.argv = ["controller", *command[len(PREFIX) :]]
    code = 0
    try:
        runpy.run_module("controller", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        code = 1
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
