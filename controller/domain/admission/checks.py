"""Checks against the scripts that they name, as far as the scripts are known when a Rollout is written.

Invariant: pure. A parameter or a secret that a script needs, or does not know, is refused with the script's own names.
A script that does not exist yet is a warning: it may be added later. A namespace's own script is not read here.
"""

from collections.abc import Callable, Iterator

from controller.api.jsontree import JsonObject, child, items, text
from controller.api.validation.checks import checks_at
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.domain.exchange.answer import Does
from controller.domain.exchange.declared import Given, why_not_run
from controller.domain.traffic.plan.header import ScriptHeader

AskingHeaders = Callable[[str, str], ScriptHeader | None]
"""The header of a script of the installation, by what it does and its name; None if there is none."""


def checks_in_plan(beta: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Every check of a Rollout (raw JSON, v1beta1), with its path."""
    for style in ("canary", "blueGreen"):
        path, plan = f"spec.strategy.{style}", child(beta, "spec", "strategy", style)
        yield from checks_at(plan, path)
        for index, step in enumerate(map(child, items(plan, "steps"))):
            yield from checks_at(step, f"{path}.steps[{index}]")


def mistaken_checks(beta: JsonObject, headers: AskingHeaders) -> Findings:
    """Checks whose script cannot be run with what it is given."""
    return tuple(
        FieldError(place, Fault.INVALID, why)
        for place, check in checks_in_plan(beta)
        if "scriptRef" not in check
        and (header := headers(Does.CHECK, text(check, "script"))) is not None
        and (why := why_not_run(Does.CHECK, header, _given(check)))
    )


def checks_without_script(beta: JsonObject, headers: AskingHeaders) -> tuple[str, ...]:
    """A warning for each check that holds the release until somebody adds its script."""
    return tuple(
        f"{place}.script: there is no check {text(check, 'script')}: it holds the release until the key "
        f"lua.check.{text(check, 'script')} is in the ConfigMap of scripts"
        for place, check in checks_in_plan(beta)
        if "scriptRef" not in check and headers(Does.CHECK, text(check, "script")) is None
    )


def _given(check: JsonObject) -> Given:
    return Given(tuple(child(check, "params")), tuple(child(check, "secrets")))
