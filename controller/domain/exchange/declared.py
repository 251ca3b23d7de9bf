"""Compares the names in the header of a script with those that it is given.

Invariant: pure. A parameter or a secret that is missing, or that the header does not know, is refused in words before
the script runs; so are addresses of a scheme that the header does not name.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from controller.domain.decision.value import Value
from controller.domain.exchange.answer import Does
from controller.domain.exchange.fields import Refused
from controller.domain.exchange.placing import Outgoing, Placed
from controller.domain.exchange.request import Signature
from controller.domain.traffic.plan.header import Declared, ScriptHeader

SECRETS_OF_A_SIGNATURE: Mapping[Signature, tuple[Declared, ...]] = {
    Signature.AWS: (
        Declared("accessKeyID"),
        Declared("secretAccessKey"),
        Declared("sessionToken", needed=False),
    ),
    Signature.GOOGLE: (Declared("serviceAccount"),),
    Signature.HMAC: (Declared("hmacKey"),),
}
"""A script that has its requests signed needs these, and its header need not name them."""
GET = "get"


class Given(Value, frozen=True):
    """The names that a script is given."""

    params: Iterable[str]
    secrets: Iterable[str]


def why_not_run(does: Does, header: ScriptHeader, given: Given) -> str:
    """Why a script cannot be run with these names; empty if it can."""
    if header.does != does:
        is_for = header.does or "route"
        return f"the script is a {is_for} by its header (--@does), and is named as a {does}"
    return _names("parameter", "--@params", header.params, given.params) or _names(
        "secret", "--@secrets", secrets_of(header), given.secrets
    )


def secrets_of(header: ScriptHeader) -> tuple[Declared, ...]:
    """The secrets that a script is given: those of its header, and those of its signature."""
    signature = _signature_of(header)
    added = () if signature is None else SECRETS_OF_A_SIGNATURE[signature]
    known = {one.name for one in header.secrets}
    return (*header.secrets, *(one for one in added if one.name not in known))


def _signature_of(header: ScriptHeader) -> Signature | None:
    return Signature(header.signature) if header.signature in tuple(Signature) else None


def _names(what: str, keyword: str, known: tuple[Declared, ...], given: Iterable[str]) -> str:
    names, has = tuple(one.name for one in known), tuple(given)
    for name in has:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f", did you mean {near[0]}?" if near else ""
            return f"the script has no {what} {name}{hint}; it has {', '.join(names) or 'none'} ({keyword})"
    missing = [one.name for one in known if one.needed and one.name not in has]
    return f"the script needs the {what} {missing[0]} ({keyword})" if missing else ""


def undeclared(header: ScriptHeader, requests: tuple[Placed, ...]) -> Refused | None:
    """The first request that the header does not announce (`--@asks`, `--@sign`)."""
    for number, request in enumerate(requests, 1):
        place = f"ask[{number}]"
        scheme = request.url.partition(":")[0] if isinstance(request, Outgoing) else GET
        if scheme not in header.asks:
            named = ", ".join(header.asks) or "none"
            return Refused(place, f"it asks by {scheme}, and the header says --@asks {named}")
        if isinstance(request, Outgoing) and request.sign and request.sign != header.signature:
            why = f"the header does not say --@sign {request.sign}"
            return Refused(f"{place}.sign", why)
    return None
