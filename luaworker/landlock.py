"""Denies the file system and TCP to the zygote and all its forks, if the kernel offers Landlock.

A second lock behind the system call filter. Invariant: its absence is reported and tolerated (kernels before 5.13,
some container runtimes); it is never the only lock.
"""

import ctypes
import errno
import os
import struct

_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same on every architecture
_VERSION_FLAG = 1
# Access rights of the file system that each version of the interface knows, then those of TCP.
_FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_RIGHTS = 2
_NET_SINCE = 4
_ABSENT = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def deny_all() -> int:
    """Denies every file and every TCP connection from now on; returns the interface version, 0 if there is none."""
    try:
        version = _syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
        files = (1 << _FS_RIGHTS[min(version, max(_FS_RIGHTS))]) - 1
        ruleset = struct.pack("<Q", files)
        if version >= _NET_SINCE:
            ruleset += struct.pack("<Q", (1 << _NET_RIGHTS) - 1)
        handle = _syscall(_CREATE_RULESET, ruleset, len(ruleset), 0)
        try:
            _syscall(_RESTRICT_SELF, handle, 0)
        finally:
            os.close(handle)
    except OSError as problem:
        if problem.errno in _ABSENT:
            return 0
        raise
    return version
