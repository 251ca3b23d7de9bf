"""Generates the Python modules of every .proto in this folder, or checks that they are up to date.

    python -m protos.generate            write them
    python -m protos.generate --check    write nothing; exit 1 and name the files that differ

Invariant: the repository root is the include path, so that generated imports read `protos.luaworker.v1...` and cannot
shadow the package `luaworker`. protoc writes no types for the gRPC half; they are written here, from the descriptors.
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def sources() -> list[str]:
    """Every .proto file, relative to the repository root."""
    return sorted(str(p.relative_to(ROOT)) for p in (ROOT / "protos").rglob("*.proto"))


def run_protoc(out: Path) -> Path:
    """Generates into `out` and returns the path of the descriptor set."""
    from grpc_tools import protoc

    descriptors = out / "descriptors.bin"
    code = protoc.main(
        [
            "protoc",
            f"--proto_path={ROOT}",
            f"--python_out={out}",
            f"--pyi_out={out}",
            f"--grpc_python_out={out}",
            f"--descriptor_set_out={descriptors}",
            *sources(),
        ]
    )
    if code != 0:
        raise SystemExit(f"protoc ended with {code}")
    return descriptors


def grpc_stub_types(file) -> str:
    """The .pyi of a `_pb2_grpc` module: unary calls only, which is all we have."""
    module = Path(file.name).with_suffix("").as_posix().replace("/", ".") + "_pb2"
    package, _, name = module.rpartition(".")
    short = name.removesuffix("_pb2")
    lines = [
        "from collections.abc import Awaitable",
        "from typing import Any",
        "",
        "import grpc.aio",
        "",
        f"from {package} import {name} as {short}",
        "",
    ]
    for service in file.service:
        stub = [f"class {service.name}Stub:", "    def __init__(self, channel: grpc.aio.Channel) -> None: ..."]
        servicer = [f"class {service.name}Servicer:"]
        for method in service.method:
            ask = f"{short}.{method.input_type.rpartition('.')[2]}"
            answer = f"{short}.{method.output_type.rpartition('.')[2]}"
            stub.append(f"    {method.name}: grpc.aio.UnaryUnaryMultiCallable[{ask}, {answer}]")
            servicer.append(
                f"    def {method.name}(self, request: {ask}, "
                f"context: grpc.aio.ServicerContext[{ask}, {answer}]) -> Awaitable[{answer}]: ..."
            )
        lines += [*stub, "", *servicer, ""]
        lines.append(
            f"def add_{service.name}Servicer_to_server(servicer: {service.name}Servicer, "
            "server: grpc.aio.Server) -> None: ..."
        )
    return "\n".join(lines).replace("from typing import Any\n", "") + "\n"


def generate(out: Path) -> dict[str, bytes]:
    """Generated files by path relative to the repository root."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    descriptors = run_protoc(out)
    found = FileDescriptorSet.FromString(descriptors.read_bytes())
    descriptors.unlink()
    for file in found.file:
        if file.service:
            types = out / file.name.replace(".proto", "_pb2_grpc.pyi")
            types.write_text(grpc_stub_types(file), encoding="utf-8")
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*.py*"))}


def main() -> int:
    """Writes or compares; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        fresh = generate(Path(scratch))
    stale = []
    for name, content in fresh.items():
        path = ROOT / name
        if path.exists() and path.read_bytes() == content:
            continue
        stale.append(name)
        if not check:
            path.write_bytes(content)
    if check and stale:
        sys.stderr.write(
            "generated modules differ from their .proto: " + ", ".join(stale)
            + "\nrun: python -m protos.generate\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
