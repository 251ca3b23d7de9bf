"""Becomes another program that dies with the process that started it.

Why it exists: a test run that is killed must leave nothing behind. Run as a script with PARENT PROGRAM ARGUMENT…, it
asks the kernel to kill this process when its parent ends, then replaces itself by PROGRAM. Invariant: if the parent is
gone already, nothing is started. It must not import more than the standard library: it runs before everything.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Tie this process to its parent and become the program."""
    parent, program, *rest = arguments
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit("the parent has ended")
    os.execv(program, [program, *rest])


if __name__ == "__main__":
    main(sys.argv[1:])
