"""Runs the specs, each in a process of its own, several at a time.

Why a process each: a spec makes its own namespace and mostly waits, so many go side by side, and one that hangs or
panics takes no other with it. Why a second attempt: several specs look once, at a moment that a busy machine misses.
Invariant: specs that make the same object of the whole cluster run one after the other; every process ends before this
one; an outcome that took two attempts is reported as such. It must not judge which specs have to pass.
"""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from localcluster.errors import BuildError
from localcluster.extras import BuiltExtra
from tests.originals_suite.program import manifests
from tests.originals_suite.reading import Spec, reason_of, specs

SPEC_SECONDS = 900.0
"""Some expectations wait for 20 minutes, but an event that takes longer than this never comes."""
ALONE = ("aliyun-alb",)
"""Words of specs that make the ConfigMap of scripts, of which there is one."""
QUIET = ("-ginkgo.noColor", "-ginkgo.v")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a spec ended."""

    spec: Spec
    passed: bool
    seconds: float
    why: str = ""
    """For a spec that failed, or failed at first: the place, and the expectation."""
    attempts: int = 1


@dataclass(slots=True)
class Runner:
    """Runs specs against the cluster of a kubeconfig."""

    suite: BuiltExtra
    kubeconfig: Path
    logs: Path
    once: Collection[str] = ()
    """Places of specs that are not tried again when they fail."""
    _alone: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def listed(self) -> list[Spec]:
        """Return all specs, in the order of the files.

        Raises:
            BuildError: the program prints none.
        """
        _, output = await self._run("-ginkgo.dryRun")
        found = list(specs(output))
        if not found:
            raise BuildError(f"{self.suite.binary} lists no specs:\n{output[-2000:]}")
        return found

    async def run(
        self, chosen: Sequence[Spec], processes: int, report: Callable[[Outcome], None]
    ) -> list[Outcome]:
        """Run these specs, a limited number at a time; each outcome is reported when it is known."""
        slots = asyncio.Semaphore(processes)

        async def one(spec: Spec) -> Outcome:
            async with self._order(spec), slots:
                outcome = await self._outcome(spec)
                if not outcome.passed and spec.place not in self.once:
                    second = await self._outcome(spec)
                    outcome = replace(second, why=second.why or outcome.why, attempts=2)
            report(outcome)
            return outcome

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(spec)) for spec in chosen]
        return [task.result() for task in tasks]

    def _order(self, spec: Spec) -> asyncio.Lock:
        key = next((word for word in ALONE if word in spec.text), spec.place)
        return self._alone.setdefault(key, asyncio.Lock())

    async def _outcome(self, spec: Spec) -> Outcome:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(SPEC_SECONDS):
                status, output = await self._run(f"-ginkgo.focus={spec.focus}")
        except TimeoutError:
            return Outcome(spec, False, SPEC_SECONDS, f"not over after {SPEC_SECONDS:.0f} s")
        seconds = time.monotonic() - begun
        log = self.logs / f"{spec.place.replace(':', '-')}.log"
        await asyncio.to_thread(log.write_text, output)
        if status == 0 and " 1 Passed" in output:
            return Outcome(spec, True, seconds)
        return Outcome(spec, False, seconds, reason_of(output) or f"ended with status {status}")

    async def _run(self, argument: str) -> tuple[int, str]:
        """Run the program, and end it with this task."""
        process = await asyncio.create_subprocess_exec(
            str(self.suite.binary),
            *QUIET,
            argument,
            cwd=manifests(self.suite).parent,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, output.decode(errors="replace")
