"""Runs the log-in program of a kubeconfig and reads its output (client-go's credential plugins).

Invariants: the program gets the same as from client-go (KUBERNETES_EXEC_INFO, its own variables, the terminal only if
it may use it); its errors go to our standard error, where a person reads them; its standard output is a secret and
is never shown.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from controller.errors import BadConfiguration
from controller.kube.kubeconfig import Cluster, Program

LONGEST = 300.0
"""Seconds: a program may wait until a person has logged in with a browser."""

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
CONFIG = f"{GROUP}/exec"


class Credentials(msgspec.Struct, frozen=True, rename="camel"):
    """The output of a program: a token, a client certificate with its key, or both."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""


class _Printed(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    status: Credentials | None = None


def is_terminal() -> bool:
    """Whether a person can type at standard input."""
    return sys.stdin is not None and sys.stdin.isatty()


async def log_in(
    program: Program, cluster: Cluster, environ: Mapping[str, str] = os.environ
) -> Credentials:
    """Run the program once; raises BadConfiguration with the reason when it fails."""
    interactive = _interactive(program)
    process = await _start(program, _environment(program, cluster, environ, interactive))
    try:
        async with asyncio.timeout(LONGEST):
            printed, _ = await process.communicate()
    except TimeoutError as late:
        raise BadConfiguration(_about(program, f"did not end within {LONGEST:g} s")) from late
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise BadConfiguration(_about(program, f"ended with code {process.returncode}"))
    return _read(program, printed)


async def _start(program: Program, environ: dict[str, str]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            program.command,
            *program.args,
            env=environ,
            stdin=None if _interactive(program) else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
    except OSError as failure:
        hint = f": {program.install_hint.strip()}" if program.install_hint else ""
        why = failure.strerror or type(failure).__name__
        raise BadConfiguration(_about(program, f"cannot be started ({why}){hint}")) from failure


def _interactive(program: Program) -> bool:
    """Whether it may talk to a person; raises BadConfiguration if it has to and cannot, or for an unknown mode."""
    if program.api_version not in VERSIONS:
        asked = program.api_version or "no version"
        raise BadConfiguration(
            _about(program, f"asks for {asked}; what is known is {' and '.join(VERSIONS)}")
        )
    match program.interactive_mode or "IfAvailable":
        case "Never":
            return False
        case "IfAvailable":
            return is_terminal()
        case "Always" if is_terminal():
            return True
        case "Always":
            raise BadConfiguration(
                _about(program, "has to ask a person, and standard input is no terminal")
            )
        case other:
            raise BadConfiguration(_about(program, f"has the unknown interactiveMode {other}"))


def _environment(
    program: Program, cluster: Cluster, environ: Mapping[str, str], interactive: bool
) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": interactive}
    if program.provide_cluster_info:
        spec["cluster"] = _cluster_info(cluster)
    info = {"apiVersion": program.api_version, "kind": "ExecCredential", "spec": spec}
    own = {variable.name: variable.value for variable in program.env}
    return {**environ, **own, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def _cluster_info(cluster: Cluster) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": cluster.certificate_authority_data,
        "proxy-url": cluster.proxy_url,
        "config": next(
            (e.get("extension") for e in cluster.extensions if e.get("name") == CONFIG), None
        ),
    }
    return {key: value for key, value in fields.items() if value}


def _read(program: Program, printed: bytes) -> Credentials:
    try:
        answer = msgspec.json.decode(printed, type=_Printed)
    except msgspec.MsgspecError as failure:
        raise BadConfiguration(_about(program, "printed no ExecCredential")) from failure
    if answer.api_version and answer.api_version != program.api_version:
        raise BadConfiguration(
            _about(program, f"answered in {answer.api_version}, not in {program.api_version}")
        )
    found = answer.status or Credentials()
    if bool(found.client_certificate_data) != bool(found.client_key_data):
        raise BadConfiguration(_about(program, "printed a certificate or a key without the other"))
    if not found.token and not found.client_certificate_data:
        raise BadConfiguration(_about(program, "printed neither a token nor a client certificate"))
    return found


def _about(program: Program, what: str) -> str:
    return f"the log-in program {program.command or '(no command)'} of the kubeconfig {what}"
