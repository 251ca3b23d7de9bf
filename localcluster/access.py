"""Acting on a plane as one of its users.

Why it exists: a test acts on the cluster as one of several users, and the audit log shows which one. Invariant:
each user has one client, closed with the plane's object; files with tokens are private. It must not start or end
processes of the cluster.
"""

import asyncio
import os
from pathlib import Path
from typing import Self

from localcluster.api import ApiClient, JsonObject
from localcluster.certificates import certificate_files
from localcluster.errors import CommandFailed
from localcluster.flags import Layout
from localcluster.kubeconfig import kubeconfig_text, write_private
from localcluster.startup import token_of

KUBECTL_SECONDS = 150.0
CRD_SECONDS = 90
TOKEN_SECONDS = 24 * 3600


class Access:
    """Users, tokens, clients and kubectl of one plane."""

    def __init__(self, layout: Layout, kubectl: Path) -> None:
        self.layout = layout
        self.kubectl_path = kubectl
        self._clients: dict[str, ApiClient] = {}

    async def __aenter__(self) -> Self:
        """Return the plane, for a block with `attach`."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close this object's connections; the plane keeps running."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    @property
    def url(self) -> str:
        """The API server's URL."""
        return self.layout.api_url

    @property
    def ca_path(self) -> Path:
        """The authority of the API server's certificate."""
        return certificate_files(self.layout.directory / "pki").ca

    def kubeconfig(self, user: str = "admin") -> Path:
        """Return the kubeconfig of one of the plane's users."""
        path = self.layout.kubeconfig(user)
        if not path.is_file():
            raise KeyError(user)
        return path

    def kubeconfig_for_token(self, name: str, token: str) -> Path:
        """Write a kubeconfig that logs in with a token."""
        text = kubeconfig_text(self.url, self.ca_path.read_bytes(), name, token)
        return write_private(
            self.layout.directory / "kubeconfigs" / "tokens" / f"{name}.yaml", text
        )

    async def service_account_token(self, namespace: str, name: str) -> str:
        """Return a token of an existing ServiceAccount, valid for a day."""
        body: JsonObject = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        answer = await self.client().create(path, body)
        return str(answer["status"]["token"])

    def client(self, user: str = "admin") -> ApiClient:
        """Return the API client of a user; the plane closes it."""
        if user not in self._clients:
            self._clients[user] = self.client_for_token(token_of(self.layout, user))
        return self._clients[user]

    def client_for_token(self, token: str) -> ApiClient:
        """Return a new API client; the caller closes it."""
        return ApiClient(self.url, self.ca_path, token)

    async def kubectl(self, *arguments: str, user: str = "admin", input: str | None = None) -> str:
        """Run kubectl and return its output.

        Raises:
            CommandFailed: it ended with an error; the message is its standard error.
        """
        output, _ = await self.kubectl_with_warnings(*arguments, user=user, input=input)
        return output

    async def kubectl_with_warnings(
        self, *arguments: str, user: str = "admin", input: str | None = None
    ) -> tuple[str, str]:
        """Run kubectl and return its standard output and its standard error (warnings of admission).

        Raises:
            CommandFailed: it ended with an error; the message is its standard error.
        """
        cache = self.layout.directory / "kubectl-cache"
        process = await asyncio.create_subprocess_exec(
            str(self.kubectl_path),
            *arguments,
            env={
                **os.environ,
                "KUBECONFIG": str(self.kubeconfig(user)),
                "KUBECACHEDIR": str(cache),
            },
            stdin=asyncio.subprocess.DEVNULL if input is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(KUBECTL_SECONDS):
                output, errors = await process.communicate(
                    None if input is None else input.encode()
                )
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise CommandFailed(f"kubectl {' '.join(arguments)}: {errors.decode().strip()}")
        return output.decode(), errors.decode()

    async def crds_served(self, *names: str) -> None:
        """Return when these CustomResourceDefinitions (all, without names) are established.

        kubectl fails if it looks at one that has no conditions yet ("accessor error: <nil>"). The API server
        writes the accepted names together with the first conditions, and kubectl waits for a name without an error.
        """
        which = tuple(f"crd/{name}" for name in names) or ("crd", "--all")
        for condition in ("jsonpath={.status.acceptedNames.listKind}", "condition=Established"):
            await self.kubectl("wait", f"--for={condition}", f"--timeout={CRD_SECONDS}s", *which)

    async def apply(self, manifests: str, *, user: str = "admin", server_side: bool = False) -> str:
        """Apply YAML documents; `server_side` for objects too large for the last-applied annotation."""
        how = ("--server-side", "--force-conflicts") if server_side else ()
        return await self.kubectl("apply", *how, "-f", "-", user=user, input=manifests)
