"""The programs of a node that are built from Go modules.

Why it exists: kubelet, kube-proxy and CoreDNS exist as sources only. Invariant: the versions are those of the control
plane, and each program is built once into the cache. It must not start anything.
"""

from dataclasses import dataclass
from pathlib import Path

from localcluster.build import linker_flags
from localcluster.compile import Program
from localcluster.extras import BuiltExtra, Extra, ensure_extra, place_of
from localcluster.progress import Reporter

HERE = Path(__file__).parent
KUBELET = Extra("node", Program(HERE / "kubernetes", ".", "kubelet and kube-proxy", linker_flags()))
COREDNS = Extra("coredns", Program(HERE / "coredns", ".", "CoreDNS"))
PAUSE = Extra("pause", Program(HERE / "images", "./pause", "the pause container"))
GREETER = Extra("greeter", Program(HERE / "images", "./greeter", "the HTTP server of test pods"))
HELM = Extra("helm", Program(HERE / "helm", "helm.sh/helm/v3/cmd/helm", "Helm"))


@dataclass(frozen=True, slots=True)
class NodePrograms:
    """The programs of a node, beside the packages of the system."""

    node: BuiltExtra
    coredns: BuiltExtra
    pause: BuiltExtra
    greeter: BuiltExtra


def node_programs() -> NodePrograms:
    """Return where the programs are, built or not."""
    return NodePrograms(*map(place_of, (KUBELET, COREDNS, PAUSE, GREETER)))


async def ensure_node_programs(reporter: Reporter) -> NodePrograms:
    """Return the programs; the first call on a machine builds them (a few minutes)."""
    for extra in (KUBELET, COREDNS, PAUSE, GREETER):
        await ensure_extra(extra, reporter)
    return node_programs()
