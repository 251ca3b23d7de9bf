"""Starts a program the way a restricted pod does: `python pod.py PROGRAM ARGUMENT…`, as root or as anybody.

User and group 65532, no further groups, an empty bounding set, no new privileges, and a filter that denies with EPERM
the system calls that the default seccomp profile of moby and containerd denies a process without capabilities:

    acct, add_key, bpf, chroot, clone with a CLONE_NEW* flag, clone3 (with ENOSYS, so that the C library falls back
    to clone), delete_module, finit_module, fsconfig, fsmount, fsopen, fspick, init_module, io_uring_setup,
    io_uring_enter, io_uring_register, ioperm, iopl, kcmp, kexec_file_load, kexec_load, keyctl,
    lookup_dcookie, mbind, migrate_pages, mount, mount_setattr, move_mount, move_pages, name_to_handle_at, nfsservctl,
    open_by_handle_at, open_tree, perf_event_open, personality (but for the usual ones), pivot_root, process_madvise,
    quotactl, reboot, request_key, set_mempolicy, sethostname, setdomainname, setns, settimeofday, clock_settime,
    stime, swapon, swapoff, syslog, sysfs, umount2, unshare, uselib, userfaultfd, ustat,
    vhangup, vm86, socket(AF_VSOCK)

Invariant: this filter may allow more than a real node allows, never less for anything the worker uses; a process
that is not root keeps its user, and gets all the rest.
"""

import ctypes
import os
import platform
import struct
import sys

USER = 65532
_EPERM, _ENOSYS = 1, 38
_LD, _JEQ, _JSET, _RET = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_ARGUMENT = 16
_NEW_NAMESPACES = 0x7E020080  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET, TIME
_AF_VSOCK = 40
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 24, 38, 22

# audit number; denied calls, in the order of the list above, as far as they exist; clone, clone3, personality, socket
_MACHINES = {
    "x86_64": (
        0xC000003E,
        (163, 248, 321, 161, 176, 313, 431, 432, 430, 433, 175, 425, 426, 427, 173, 172, 312, 320, 246, 250, 212, 237,
         256, 165, 442, 429, 279, 303, 180, 304, 428, 298, 155, 440, 179, 169, 249, 238, 170, 171, 308, 164, 227,
         167, 168, 103, 139, 166, 272, 134, 323, 136, 153),
        (56, 435, 135, 41),
    ),
    "aarch64": (
        0xC00000B7,
        (89, 217, 280, 51, 106, 273, 431, 432, 430, 433, 105, 425, 426, 427, 272, 294, 104, 219, 18, 235, 238, 40, 442,
         429, 239, 264, 42, 265, 428, 241, 41, 440, 60, 142, 218, 237, 161, 162, 268, 170, 112, 224, 225,
         116, 39, 97, 282, 58),
        (220, 435, 92, 198),
    ),
}  # fmt: skip


def _op(code: int, yes: int, no: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)


def _when(number: int, block: bytes) -> bytes:
    return _op(_JEQ, 0, len(block) // 8, number) + block


def profile(machine: str) -> bytes:
    """The filter's program."""
    audit, denied, (clone, clone3, personality, socket) = _MACHINES[machine]
    allow, deny = _op(_RET, 0, 0, _ALLOW), _op(_RET, 0, 0, _ERRNO | _EPERM)
    first = _op(_LD, 0, 0, _ARGUMENT)
    program = (
        _op(_LD, 0, 0, 4) + _op(_JEQ, 1, 0, audit) + _op(_RET, 0, 0, _KILL) + _op(_LD, 0, 0, 0)
    )
    for number in denied:
        program += _when(number, deny)
    program += _when(clone3, _op(_RET, 0, 0, _ERRNO | _ENOSYS))
    program += _when(clone, first + _op(_JSET, 0, 1, _NEW_NAMESPACES) + deny + allow)
    usual = b"".join(_when(value, allow) for value in _PERSONALITIES)
    program += _when(personality, first + usual + deny)
    program += _when(socket, first + _when(_AF_VSOCK, deny) + allow)
    return program + allow


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _restrict() -> None:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if os.geteuid() == 0:
        for capability in range(64):
            prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    code = profile(platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(
        _PR_SET_SECCOMP, 2, ctypes.addressof(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the pod's filter cannot be installed")


def main(arguments: list[str]) -> None:
    """Becomes the program."""
    _restrict()
    os.execv(arguments[0], arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
