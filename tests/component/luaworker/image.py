"""An interpreter and the worker's files where any user can reach them, as in a container's image.

Why: the virtual environment of the tests may lie below a home directory that is closed to others.
Hard links where the file system allows, so that this takes no space. Invariant: the original files are only read.
"""

import os
import shutil
import stat
import sys
import sysconfig
from pathlib import Path

import grpc
import grpc_health
import lupa
import prometheus_client
from google import protobuf

ROOT = Path(__file__).resolve().parents[3]
_OURS = ("luaworker", "protos", "lua_configuration")
_NOT_NEEDED = ("site-packages", "test", "idlelib", "__pycache__", "ensurepip", "turtledemo")


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _tree(source: Path, target: Path) -> None:
    ignore = shutil.ignore_patterns(*_NOT_NEEDED, "config-*")
    shutil.copytree(source, target, copy_function=_link, ignore=ignore, dirs_exist_ok=True)
    for folder, _, _ in os.walk(target):
        os.chmod(folder, stat.S_IRWXU | 0o055)


def _interpreter(folder: Path) -> Path:
    """A copy that looks for its library in its own folder, wherever the original looked."""
    original = Path(os.path.realpath(sys.executable))
    libraries = Path(sysconfig.get_config_var("LIBDIR"))
    data = original.read_bytes()
    built_with, beside = str(libraries).encode() + b"\0", b"$ORIGIN/../lib\0"
    if len(beside) <= len(built_with):
        data = data.replace(built_with, beside.ljust(len(built_with), b"\0"))
    target = folder / "bin" / original.name
    target.parent.mkdir()
    target.write_bytes(data)
    target.chmod(0o755)
    for library in libraries.glob("libpython3*.so*"):
        _link(str(library), str(folder / "lib" / library.name))
    return target


def build(folder: Path) -> Path:
    """Fills the folder; returns the interpreter in it."""
    folder.chmod(0o755)
    standard = Path(sysconfig.get_path("stdlib"))
    packages = folder / "lib" / standard.name / "site-packages"
    _tree(standard, folder / "lib" / standard.name)
    for module in (grpc, grpc_health, lupa, prometheus_client):
        source = Path(str(module.__path__[0]))
        _tree(source, packages / source.name)
    _tree(Path(str(protobuf.__file__)).parent, packages / "google" / "protobuf")
    for name in _OURS:
        _tree(ROOT / name, packages / name)
    upb = Path(str(protobuf.__file__)).parent.parent / "_upb"
    if upb.is_dir():
        _tree(upb, packages / "google" / "_upb")
    for extra in Path(str(grpc.__file__)).parent.parent.glob("typing_extensions.py"):
        _link(str(extra), str(packages / extra.name))
    return _interpreter(folder)
