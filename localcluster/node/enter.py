"""Runs a program in the box of a node: in its network, its mounts and its processes.

Why it exists: only the children of a program that enters a process namespace are inside, so a process has to stay
outside and pass on signals and the exit status. Run as a script with PID_FILE PROGRAM ARGUMENT…; signals TERM and INT
are passed on, the exit status is the program's. Invariant: the program dies with this process, and with the box. It
must not import more than the standard library: it runs before everything.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
NAMESPACES = ("mnt", "net", "ipc", "pid")


def main(arguments: list[str]) -> int:
    """Enter, run the program, return its exit status."""
    pid_file, *command = arguments
    _enter(int(_text(pid_file)))
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.execvp(command[0], command)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda sent, _: os.kill(child, sent))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _enter(pid: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    # All are opened before the first is entered: with other mounts /proc shows other processes.
    doors = [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in NAMESPACES]
    for door in doors:
        if library.setns(door, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"the box of process {pid}: {os.strerror(number)}")
        os.close(door)


def _text(path: str) -> str:
    with open(path) as file:
        return file.read()


if __name__ == "__main__":
    status = main(sys.argv[1:])
    if status < 0:
        # The exit status after a signal is the number that shells use.
        status = 128 - status
    sys.exit(status)
