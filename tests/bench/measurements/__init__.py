"""One file, one measurement; `ALL` is the order in which they run."""

from tests.bench.measurements import (
    alone,
    approval,
    cpu,
    flood,
    hostile,
    idle,
    large,
    memory,
    requests,
    single,
    together,
)
from tests.bench.registry import Measurement

ALL: tuple[Measurement, ...] = (
    Measurement("single", single.measure, "one Rollout, five automatic steps"),
    Measurement("alone", alone.measure, "API requests and CPU of one release alone"),
    Measurement("approval", approval.measure, "from an approval to the new weight"),
    Measurement("together", together.measure, "50 Rollouts at once"),
    Measurement("requests", requests.measure, "API requests per Rollout"),
    Measurement("cpu", cpu.measure, "CPU seconds per Rollout"),
    Measurement("memory", memory.measure, "memory at 50 Rollouts and 500 pods"),
    Measurement("idle", idle.measure, "requests of 50 paused Rollouts in a minute"),
    Measurement("hostile", hostile.measure, "others' pace beside a script that never ends"),
    Measurement("flood", flood.measure, "honest admission in a flood of forged reviews"),
    Measurement("large", large.measure, "memory at 1 000 Rollouts and 10 000 pods", usual=False),
)
