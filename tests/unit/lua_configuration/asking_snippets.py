"""What to paste for each packaged source: the Secret, the controller's flags and the metric, from header and cases.

Invariant: every line follows from the script's header and from the case that needs the fewest parameters, so a snippet
asks exactly what a passing case asks.
"""

from collections.abc import Iterator

import yaml
from yarl import URL

from controller.api.names import SEND_TO
from controller.cli.script_tools.exchange_cases import AskingCase, read_exchanges
from controller.cli.script_tools.script_folders import Subject, asking_subjects_in
from controller.domain.exchange.answer import Does
from controller.domain.exchange.declared import secrets_of
from controller.domain.traffic.tree import Tree
from tests.unit.lua_configuration.cases import FOLDER

WIDE = 1000
"""No text is broken into lines."""
TOKENS_OF_GOOGLE = ("-post", "https://oauth2.googleapis.com")
"""The server of tokens that a key of a service account names: the controller asks it before the request."""


def snippets() -> str:
    """One section for each packaged source."""
    found = (one for one in asking_subjects_in(FOLDER) if one.does == Does.SOURCE)
    return "\n".join(_section(one) for one in found)


def _section(subject: Subject) -> str:
    name, header, case = subject.path.stem, subject.read().header, _plainest(subject)
    addresses = sorted({*_addresses(case), *([TOKENS_OF_GOOGLE] * (header.signature == "google"))})
    hosts = [_place(address) for _, address in addresses]
    secrets = [one.name for one in secrets_of(header) if one.name in case.secrets]
    lines = [f"### {header.name}", ""]
    if secrets:
        values = " ".join(f"--from-file={one}" for one in secrets)
        lines += [
            "```sh",
            f"kubectl create secret generic {name} {values}",
            f"kubectl annotate secret {name} {SEND_TO}={','.join(dict.fromkeys(hosts))}",
            "```",
            "",
        ]
    lines += ["Flags of the controller:", "", "```"]
    lines += [f"--analysis-allow{post}={address}" for post, address in addresses]
    lines += ["```", "", "```yaml", _metric(name, case, secrets).rstrip(), "```", ""]
    return "\n".join(lines)


def _metric(name: str, case: AskingCase, secrets: list[str]) -> str:
    source: Tree = {"script": name, "params": case.input.get("params", {})}
    if secrets:
        source["secrets"] = {one: {"name": name, "key": one} for one in secrets}
    metric: Tree = {"name": "errors", "success": {"max": 0.01}, "source": source}
    return yaml.safe_dump({"metrics": [metric]}, sort_keys=False, width=WIDE, allow_unicode=True)


def _plainest(subject: Subject) -> AskingCase:
    cases = [
        case
        for path in subject.cases()
        if isinstance(case := read_exchanges(path), AskingCase) and "value" in case.expect
    ]
    return min(cases, key=lambda case: (len(str(case.input.get("params"))), case.name))


def _addresses(case: AskingCase) -> Iterator[tuple[str, str]]:
    """The ending of the flag, and the address, of every request."""
    for exchange in case.exchanges:
        for request in exchange.requests:
            url = URL(str(request["url"]))
            yield (
                ("" if request.get("method", "GET") in ("GET", "HEAD") else "-post"),
                str(url.origin()),
            )


def _place(address: str) -> str:
    url = URL(address)
    return f"{url.host}" if url.is_default_port() else f"{url.host}:{url.port}"
