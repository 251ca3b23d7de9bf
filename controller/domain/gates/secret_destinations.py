"""Where the values of a Secret may be sent: its annotation names the hosts.

Why an annotation: a person who may write Rollouts need not be allowed to read the Secret, and the controller reads it
for both. Only a person who may write the Secret, and so read it, decides that gates may use it. Invariant: pure; fails
closed. A Secret without the annotation is used by no gate, and its values go to no host that it does not name.
"""

import shlex
from collections.abc import Mapping

from msgspec import structs

from controller.api.names import SEND_TO
from controller.domain.decision import Value

USUAL_PORTS = (None, 80, 443)
"""An entry need not name them: the host alone means all of its ports."""


class GateSecret(Value, frozen=True):
    """A Secret that a gate names; `send_to` is its annotation, empty without one."""

    namespace: str
    name: str
    values: Mapping[str, str]
    send_to: str = ""
    anywhere: bool = False
    """These are a person's own values, on that person's own machine."""

    @property
    def _hosts(self) -> tuple[str, ...]:
        return tuple(entry for entry in map(str.strip, self.send_to.split(",")) if entry)

    def __str__(self) -> str:
        return f"Secret {self.namespace}/{self.name}"

    def without_line_ends(self) -> "GateSecret":
        """The same Secret without the line ends that `echo` and editors put behind values."""
        values = {key: value.strip("\r\n") for key, value in self.values.items()}
        return structs.replace(self, values=values)

    def also_to(self, host: str) -> "GateSecret":
        """The same Secret for a person who named the host; one that no gate may use stays so."""
        if not self._hosts:
            return self
        return structs.replace(self, send_to=",".join((*self._hosts, host)))

    def refusal(self, host: str, port: int | None) -> str:
        """Why its values may not be sent there, and what to do; empty if they may."""
        if self.anywhere or any(_admits(entry, host, port) for entry in self._hosts):
            return ""
        place = host if port in USUAL_PORTS else f"{_bracketed(host)}:{port}"
        setting = shlex.quote(f"{SEND_TO}={','.join((*self._hosts, place))}")
        if not self._hosts:
            why = f"has no annotation {SEND_TO}, so no gate may use it"
        else:
            why = f"names other hosts than {host} in its annotation {SEND_TO}, so it is not sent there"
        return (
            f"{self} {why}: a person who may write the Secret allows it with "
            f"kubectl annotate secret {self.name} -n {self.namespace} --overwrite {setting}"
        )


def _bracketed(host: str) -> str:
    """The host as it stands before a port: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def _admits(entry: str, host: str, port: int | None) -> bool:
    """The entry is `host` or `host:port`; the host may be `*.example.com`, or an IPv6 address in brackets."""
    named, wanted = _host_and_port(entry.lower())
    host = host.rstrip(".").lower()
    if not named or (wanted and wanted != str(port)):
        return False
    if named.startswith("*."):
        return host.endswith(named[1:])
    return host == named


def _host_and_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        return host, rest.removeprefix(":")
    if entry.count(":") != 1:
        return entry.rstrip("."), ""
    host, _, port = entry.partition(":")
    return host.rstrip("."), port
