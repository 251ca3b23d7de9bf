"""The input of the script of a check.

Invariant: pure. A check is asked as a source of metrics is (`controller.domain.gates`): by a script of the installation
or of the namespace, with parameters in which words of the release may stand, and with marks in the places of Secrets.
"""

from collections.abc import Iterator, Mapping

from msgspec import structs

from controller.api.analysis import Metric, SourceQuery
from controller.api.checks import Check
from controller.api.rollout import Rollout
from controller.domain.decision import OwnScript
from controller.domain.gates.in_source import source_problem
from controller.domain.gates.origins import Word
from controller.domain.gates.templates import own_script, own_scripts_of
from controller.domain.gates.wording import UnknownWord, filled


def source_of(check: Check) -> SourceQuery:
    """The script of a check with what it is given, in the form that sources have."""
    return SourceQuery(
        script=check.script,
        params=check.params,
        secrets=check.secrets,
        script_ref=check.script_ref,
    )


def filled_check(check: Check, words: Mapping[str, Word]) -> Check | UnknownWord:
    """The check with every word of its parameters; or why it cannot be asked."""
    source = source_of(check)
    if why := source_problem(source):
        return UnknownWord(f"check {check.name}: {why.removeprefix('source.')}")
    made = filled(Metric(name=check.name, source=source), words)
    if isinstance(made, UnknownWord):
        return UnknownWord(made.message.replace("metric", "check", 1))
    return structs.replace(check, params=made.source.params if made.source is not None else {})


def checks_in(rollout: Rollout) -> Iterator[Check]:
    """Every check of a Rollout."""
    plan = rollout.spec.strategy.plan
    if plan is not None:
        yield from plan.checks
        for step in plan.steps:
            yield from step.checks


def own_scripts_asked(rollout: Rollout) -> tuple[OwnScript, ...]:
    """The scripts of the namespace that metrics and checks name."""
    of_checks = (
        own_script(source_of(check), rollout.metadata.namespace)
        for check in checks_in(rollout)
        if check.script_ref is not None
    )
    return (*own_scripts_of(rollout), *of_checks)
