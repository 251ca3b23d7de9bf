"""The ServiceAccounts that an author uses by a `scriptRef`: admission checks whether the author may impersonate them.

Why: a script of a namespace acts with a ServiceAccount's rights, so an author who could name any account would have its
rights. Invariant: every new or changed reference is checked (also a change of its object, Service or parameters), even
if the Rollout is being deleted; an unchanged reference is not checked again on other updates.
"""

from collections.abc import Iterator

import msgspec

from controller.api.conversion import Unconvertible, converted
from controller.api.jsontree import JsonObject, canonical, child, items, text
from controller.api.names import V1BETA1
from controller.api.rollout import TrafficRoutingRef
from controller.api.trafficrouting import TrafficRoutingSpec
from controller.domain.admission.gate_arguments import gates_in
from controller.domain.admission.gateways import strategy_of
from controller.domain.traffic.plan.traffic_plan import references_of


class NamedAccount(msgspec.Struct, frozen=True):
    """A ServiceAccount of the namespace that a script acts with, and the field that names it."""

    path: str
    account: str


_Reference = tuple[str, str, bytes]
"""The field, the account, and the whole content of the reference."""


def accounts_of_rollout(old: JsonObject | None, new: JsonObject) -> tuple[NamedAccount, ...]:
    """The accounts that this write of a Rollout (raw JSON of either version) begins to use."""
    return _newly_named(() if old is None else _of_rollout(old), _of_rollout(new))


def accounts_of_routing(old: JsonObject | None, new: JsonObject) -> tuple[NamedAccount, ...]:
    """The accounts that this write of a TrafficRouting begins to use."""
    return _newly_named(() if old is None else _of_routing(old), _of_routing(new))


def _newly_named(
    before: Iterator[_Reference] | tuple[()], after: Iterator[_Reference]
) -> tuple[NamedAccount, ...]:
    known = {content for _, _, content in before}
    found: dict[str, NamedAccount] = {}
    for path, account, content in after:
        if content not in known:
            found.setdefault(account, NamedAccount(path, account))
    return tuple(found.values())


def _of_rollout(obj: JsonObject) -> Iterator[_Reference]:
    beta = converted(obj, V1BETA1)
    if isinstance(beta, Unconvertible):
        return
    yield from _of_gates(beta)
    strategy = strategy_of(beta)
    if strategy is None:
        return
    for field, style in (("canary", strategy.canary), ("blueGreen", strategy.blue_green)):
        if style is not None:
            path = f"spec.strategy.{field}.trafficRoutings"
            yield from _named(
                style.traffic_routings, path, shared=style.disable_generate_canary_service
            )


def _of_gates(beta: JsonObject) -> Iterator[_Reference]:
    """The accounts of scripts that metrics ask."""
    for path, analysis in gates_in(beta):
        for index, metric in enumerate(map(child, items(analysis, "metrics"))):
            source = child(metric, "source")
            if account := text(source, "scriptRef", "serviceAccountName"):
                place = f"{path}.metrics[{index}].source.scriptRef.serviceAccountName"
                yield place, account, canonical(source)


def _of_routing(obj: JsonObject) -> Iterator[_Reference]:
    try:
        spec = msgspec.json.decode(msgspec.json.encode(child(obj, "spec")), type=TrafficRoutingSpec)
    except msgspec.ValidationError:
        # The CRD's schema reports the error.
        return
    yield from _named(spec.object_ref, "spec.objectRef", shared=True)


def _named(
    entries: tuple[TrafficRoutingRef, ...], path: str, *, shared: bool
) -> Iterator[_Reference]:
    for index, entry in enumerate(entries):
        for at, custom in enumerate(entry.custom_network_refs):
            if custom.script_ref is None:
                continue
            alone = msgspec.structs.replace(
                entry, custom_network_refs=(custom,), ingress=None, gateway=None
            )
            (reference,) = references_of((alone,), shared)
            place = f"{path}[{index}].customNetworkRefs[{at}].scriptRef.serviceAccountName"
            yield place, custom.script_ref.service_account_name, msgspec.json.encode(reference)
