"""`run-script`: one run of a script on one object at one step, with all its results."""

import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from controller.api.rollout import PatchMetadata
from controller.cli.failures import ExitCode, Failure
from controller.cli.files import read_text
from controller.cli.script_tools.cases import (
    RELEASE,
    BadCase,
    Case,
    CaseStep,
    defaulted,
    read_case,
    words_of,
)
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.evaluate import Outcome, evaluate, expected_content
from controller.cli.script_tools.inputs import obj_of
from controller.cli.script_tools.live_run import (
    ask_live,
    can_be_recorded,
    input_of,
    secrets_of,
    shown,
)
from controller.cli.script_tools.live_run import record as recorded
from controller.cli.script_tools.private_worker import run, worker_options
from controller.cli.script_tools.script_folders import FILE, ROUTE, Subject, subject_at
from controller.cli.script_tools.typed_matches import parse_match
from controller.cli.script_tools.yaml_text import diff, read_yaml, write_yaml
from controller.cli.terminal import say
from controller.domain.decision import Reference, Refusal, RoutePlan
from controller.domain.traffic.hosts import destinations_in
from controller.domain.traffic.plan.traffic_plan import canary_service_of, identified
from controller.domain.traffic.tree import Tree, encode
from controller.scripts.script_outcome import Executed, Refused

_MEGABYTE = 1024 * 1024


class _Asked(msgspec.Struct, frozen=True):
    """The step that the command line describes."""

    weight: float | None
    matches: tuple[str, ...]
    service: str
    canary_service: str
    labels: tuple[str, ...]
    params: str


@click.command("run-script")
@click.argument("script", metavar="SCRIPT", type=click.Path(exists=True, path_type=Path))
@click.option("--case", "case_path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--step", metavar="N", type=int, default=0, help="Of the case, from 0.")
@click.option("--object", "object_path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--weight", metavar="PERCENT", type=click.FloatRange(0, 100))
@click.option("--match", "matches", metavar="COND", multiple=True, help="e.g. user-agent=pc")
@click.option("--service", metavar="NAME", default="", help="The stable Service.")
@click.option("--canary-service", metavar="NAME", default="", help="Else NAME-canary.")
@click.option("--label", "labels", metavar="K=V", multiple=True, help="Label of new pods.")
@click.option("--params", metavar="JSON", default="{}", help="The reference's parameters.")
@click.option("--input", "show_input", is_flag=True, help="Show obj as well.")
@click.option("--live", is_flag=True, help="Ask from this machine: for a script that asks.")
@click.option("--secret", "secrets", metavar="NAME=FILE", multiple=True, help="Or NAME=env:VAR.")
@click.option("--record", metavar="FILE", type=click.Path(path_type=Path), help="As a test case.")
@worker_options
def run_script(
    script: Path,
    case_path: Path | None,
    step: int,
    object_path: Path | None,
    show_input: bool,
    live: bool,
    secrets: tuple[str, ...],
    record: Path | None,
    **asked: object,
) -> None:
    """Run a script once and show everything: result, difference, CPU time, memory, output.

    The step comes from a test case (--case, --step), or from an object and options. A --match is a header name=value,
    name~=regex, query:name=value, path:/prefix, path:=/exact, method:GET or cookie:name; conditions with commas hold
    together, several --match are alternatives.

    With --live, a script that asks (source, check, target) is run with real answers: parameters are those of --params
    and of the --case, secrets are read from files or the environment, and --record writes the exchange as a test case.

    \b
    Examples:
      moonshift run-script trafficRouting.lua --case testdata/canary.yaml --step 1
      moonshift run-script trafficRouting.lua --object vs.yaml --weight 20 --service web
      moonshift run-script source/graphite.lua --live --params '{address: "http://localhost:8080", query: web.errors}'
    """
    subject = subject_at(script / FILE if script.is_dir() else script)
    options = msgspec.convert(asked, _Asked)
    if subject.does != ROUTE or live or secrets or record is not None:
        _ask(subject, live, case_path, options.params, secrets, record)
        return
    case = _case(subject, case_path, object_path, options)
    if not 0 <= step < len(case.steps):
        raise Failure(f"{case.path} has the steps 0 to {len(case.steps) - 1}")
    _once(subject, case, case.steps[step], show_input)


def _once(subject: Subject, case: Case, step: CaseStep, show_input: bool) -> None:
    if show_input:
        say(f"obj:\n{_indented(write_yaml(obj_of(subject, subject.read(), case, step)))}")
    outcome = run(lambda engine: _run(engine, subject, case, step))
    _show(case, step, outcome)
    if isinstance(outcome.result, Refusal):
        raise SystemExit(int(ExitCode.FAILED))


def _case(
    subject: Subject, case_path: Path | None, object_path: Path | None, asked: _Asked
) -> Case:
    """The case in a file, or one of the command line's object and step."""
    if case_path is not None and object_path is None:
        case = read_case(case_path, subject)
        if isinstance(case, BadCase):
            raise Failure(f"{case_path}: {case.problem}")
        return case
    if object_path is None or case_path is not None:
        raise click.UsageError("either --case or --object is needed")
    return _case_of(object_path, subject, asked)


async def _run(engine: Engine, subject: Subject, case: Case, step: CaseStep) -> Outcome:
    return await evaluate(engine, subject.read(), case, step)


def _ask(
    subject: Subject,
    live: bool,
    case: Path | None,
    params: str,
    secrets: tuple[str, ...],
    record: Path | None,
) -> None:
    if subject.does == ROUTE:
        raise click.UsageError("--live, --secret and --record are for sources, checks and targets")
    if not live:
        raise click.UsageError("give --live to ask with this script; test-scripts runs its cases")
    given, values = input_of(case, params, int(time.time())), secrets_of(secrets)
    found = run(lambda engine: ask_live(engine, subject, given, values))
    for number, turn in enumerate(found.turns, 1):
        if turn.result is not None:
            say(f"turn {number}:\n{_indented(write_yaml(shown(turn), sort=False))}", nl=False)
    if found.failed:
        say(f"failed: {found.failed}")
    if record is not None and can_be_recorded(found):
        record.write_text(recorded(found, subject.read().header.docs), encoding="utf-8")
        say(f"recorded: {record}; read what the service answered before you share it")
    if found.failed:
        raise SystemExit(int(ExitCode.FAILED))


# --- from the command line to a case -----------------------------------------------------------------


def _case_of(path: Path, subject: Subject, asked: _Asked) -> Case:
    """A case with the one step that the options describe."""
    try:
        original = read_yaml(read_text(path))
    except (OSError, ValueError) as problem:
        raise Failure(f"{path}: {problem}") from problem
    if not isinstance(original, dict):
        raise Failure(f"{path} holds no object")
    if asked.weight is None and not asked.matches:
        raise click.UsageError("--weight or --match is needed")
    service = asked.service or next(_names_in(original), "")
    if not service:
        raise click.UsageError("--service is needed: the object names none that can be recognised")
    plan = _plan(original, subject, service, asked)
    return Case(path, original, (CaseStep(0, words_of(plan), plan),), ())


def _names_in(original: Tree) -> Iterator[str]:
    """Names of the Services that the object leads to, without their namespaces."""
    return (found.host.partition(".")[0] for found in destinations_in(original.get("spec")))


def _plan(original: Tree, subject: Subject, service: str, asked: _Asked) -> RoutePlan:
    metadata = original.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    reference = Reference(
        api_version=str(original.get("apiVersion", "")),
        kind=str(original.get("kind", "")),
        name=str(named.get("name", "")),
        stable_service=service,
        canary_service=asked.canary_service or canary_service_of(service, disable_generate=False),
        class_type=subject.class_type,
        params=_params(asked.params),
    )
    return identified(
        RoutePlan(
            identity="",
            namespace=str(named.get("namespace") or "default"),
            rollout="run-script",
            release=RELEASE,
            references=(reference,),
            weight=asked.weight,
            matches=defaulted(tuple(parse_match(text) for text in asked.matches)),
            pod_metadata=PatchMetadata(labels=dict(_label(text) for text in asked.labels)),
        )
    )


def _params(text: str) -> msgspec.Raw:
    try:
        value = read_yaml(text)
    except ValueError as problem:
        raise click.BadParameter(f"--params: {problem}") from problem
    if not isinstance(value, dict):
        raise click.BadParameter("--params is no object")
    return msgspec.Raw(encode(value))


def _label(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise click.BadParameter(f"--label {shlex.quote(text)}: key=value is expected")
    return key, value


# --- output ------------------------------------------------------------------------------------------


def _show(case: Case, step: CaseStep, outcome: Outcome) -> None:
    say(f"step:    {step.words}")
    first = outcome.first
    if first is None:
        say("         the controller calls no script at this step")
    match outcome.result:
        case Refusal() as refusal:
            say(f"refused: {refusal.message}")
            if isinstance(first, Refused) and first.traceback:
                say(f"traceback:\n{_indented(first.traceback)}")
        case result:
            say(f"result:\n{_indented(write_yaml(result))}", nl=False)
            before = expected_content(case.original)
            lines = diff(before, result, ("original", "result"))
            text = "\n".join(lines) or "(the script changes nothing)"
            say(f"difference:\n{_indented(text)}")
    if isinstance(first, Executed):
        say(f"CPU:     {outcome.cpu_ms:.1f} ms of 500; {first.wall_ms:.1f} ms passed")
        say(f"memory:  {first.peak_memory / _MEGABYTE:.1f} MB of 64")
    if first is not None:
        say(f"log:\n{_indented(chr(10).join(first.log))}" if first.log else "log:     empty")


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines()).rstrip("\n") + (
        "\n" if text.endswith("\n") else ""
    )
