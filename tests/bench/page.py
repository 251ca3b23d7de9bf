"""Writes docs/benchmarks.md: the figures, the machine, and how to measure them again.

Invariant: every figure of the page is a row of one run, except those at scale and those of the script worker, which
name their own runs; a missing measurement is listed. It must not measure or judge.
"""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from localcluster.build import KUBERNETES_VERSION
from tests.bench.registry import Measurement, Row
from tests.bench.scale.section import section as section_at_scale
from tests.bench_lua.section import section as section_of_the_worker

HEAD = """# Benchmarks

Written by `{command}`; do not edit it. For a summary see [figures.md](figures.md); for tests of
correctness see [reliability.md](reliability.md).

| | |
|---|---|
| machine | {cores} cores, {memory:.0f} GiB of memory, {system} |
| versions | Kubernetes {kubernetes} (etcd and controllers on the same cores), KWOK, Python {python} |
| when | {when}; other programs used {others:.0f} % of the machine's CPU |

**Method.** All measurements use one control plane and one Moonshift (controller and worker, as installed).
They begin after one release of each style, which is not measured. A release has five automatic steps, a
VirtualService, and a grace period of 1 s; pods are ready after 300 ms. Canary style creates 5 new pods beside 5 old
ones; partition style replaces half of 10 pods. Requests are those of the controller's user in the API server's audit
log: Events and labels of pods count, watches and renewals of the Lease do not. CPU and memory are the kernel's
figures for all processes of controller and worker (memory: proportional set size). Other programs on the machine make
times longer, but do not change the number of requests.

## How the cost grows

Each point is a number of releases that began at the same instant, each with five automatic steps
(`make plots MEASURE=1`; the figures are in [sizes.json](benchmarks/sizes.json)):

![API requests of each release, by the number of releases at once](benchmarks/requests.png)

![CPU of each release, by the number of releases at once](benchmarks/cpu.png)

![Memory of controller and worker, by the number of releases at once](benchmarks/memory.png)

## Measured
"""


def page(
    rows: Sequence[Row], left_out: Sequence[Measurement], others: float, arguments: Sequence[str]
) -> str:
    """The whole page."""
    parts = [_head(others, arguments), _table(rows)]
    parts += [_breakdown(row) for row in rows if row.details]
    if left_out:
        names = "\n".join(f"- {m.about}: `python -m tests.bench --only {m.name}`" for m in left_out)
        parts.append(f"## Not measured in this run\n\n{names}\n")
    parts += [section_at_scale(), section_of_the_worker()]
    return "\n".join(parts)


def _head(others: float, arguments: Sequence[str]) -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return HEAD.format(
        command=" ".join(("python -m tests.bench", *arguments)),
        cores=os.cpu_count(),
        memory=memory,
        system=f"{platform.system()} {platform.machine()}",
        kubernetes=KUBERNETES_VERSION,
        python=platform.python_version(),
        when=datetime.now(UTC).strftime("%Y-%m-%d"),
        others=others,
    )


def _table(rows: Sequence[Row]) -> str:
    lines = ["| what | the original | goal | measured |", "|---|---|---|---|"]
    for row in rows:
        value = "not measured" if row.value is None else _number(row.value, row.unit)
        note = f" ({row.note})" if row.note else ""
        missed = "" if row.ok else " **missed**"
        goal = _number(row.limit, row.unit)
        lines.append(f"| {row.name} | {row.original} | <= {goal} | {value}{missed}{note} |")
    return "\n".join((*lines, ""))


def _breakdown(row: Row) -> str:
    lines = [f"## {row.name}", "", "| request | per Rollout | |", "|---|---:|---|"]
    most = max(row.details.values())
    for label, number in row.details.items():
        bar = "█" * max(1, round(24 * number / most))
        lines.append(f"| {label} | {number:.2f} | {bar} |")
    return "\n".join((*lines, ""))


def _number(value: float, unit: str) -> str:
    text = f"{value:.0f}" if value == int(value) else f"{value:.2f}"
    return f"{text} {unit}".strip()
