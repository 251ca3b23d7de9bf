"""Templates that name templates: each counts once, and what cannot be is a problem in words."""

import pytest

from controller.api.analysis import (
    Analysis,
    AnalysisTemplate,
    AnalysisTemplateSpec,
    Argument,
    Metric,
    TemplateRef,
)
from controller.api.meta import ObjectMeta
from controller.domain import reasons
from controller.domain.availability import Forbidden
from controller.domain.decision import Refusal
from controller.domain.gates.nesting import MOST, Found, in_a_row, reached
from controller.domain.gates.resolving import resolved


def ref(name: str) -> TemplateRef:
    """A name in capital letters is one of the cluster."""
    return TemplateRef(name, cluster_scope=name.isupper())


def named(*names: str, metric: str = "", args: tuple[Argument, ...] = ()) -> AnalysisTemplate:
    metrics = (Metric(metric),) if metric else ()
    return AnalysisTemplate(
        spec=AnalysisTemplateSpec(templates=tuple(map(ref, names)), args=args, metrics=metrics)
    )


def templates(**found: Found) -> dict[TemplateRef, Found]:
    return {ref(name): one for name, one in found.items()}


def problem(known: dict[TemplateRef, Found], *names: str) -> Refusal:
    found = in_a_row(tuple(map(ref, names)), known)
    assert isinstance(found, Refusal)
    return found


def test_a_template_that_is_named_twice_counts_once_and_before_the_ones_that_name_it() -> None:
    known = templates(
        a=named("b", "c", metric="a"),
        b=named("d", metric="b"),
        c=named("d", metric="c"),
        d=named(metric="d"),
    )
    found = resolved(Analysis(templates=(ref("a"), ref("d"))), known, ObjectMeta())
    assert not isinstance(found, Refusal)
    assert [metric.name for metric in found.metrics] == ["d", "b", "c", "a"]


@pytest.mark.parametrize(
    ("gate", "outer", "value"),
    [
        ((Argument("x", "gate"),), (Argument("x", "outer"),), "gate"),
        ((), (Argument("x", "outer"),), "outer"),
        ((), (Argument("x"),), "inner"),
        ((), (), "inner"),
    ],
)
def test_the_outer_argument_outranks_the_inner_one(
    gate: tuple[Argument, ...], outer: tuple[Argument, ...], value: str
) -> None:
    known = templates(a=named("b", args=outer), b=named(args=(Argument("x", "inner"),)))
    found = resolved(Analysis(templates=(ref("a"),), args=gate), known, ObjectMeta())
    assert not isinstance(found, Refusal)
    assert found.args["args.x"].text == value


def test_a_circle_is_refused_with_the_names_on_the_way() -> None:
    found = problem(templates(a=named("b"), b=named("c"), c=named("b")), "a")
    assert found.reason == reasons.INVALID_ANALYSIS
    assert "AnalysisTemplate b names AnalysisTemplate c names AnalysisTemplate b" in found.message
    assert "in a circle" in problem(templates(a=named("a")), "a").message


def test_templates_are_four_deep_at_most() -> None:
    known = templates(a=named("b"), b=named("c"), c=named("d"), d=named("e"), e=named())
    assert not isinstance(in_a_row((ref("b"),), known), Refusal)
    assert "4 deep at most: AnalysisTemplate a names" in problem(known, "a").message


def test_a_gate_needs_a_bounded_number_of_templates() -> None:
    many = {f"t{number}": named() for number in range(MOST)}
    known = templates(a=named(*many), **many)
    assert f"more than {MOST} templates" in problem(known, "a").message
    assert len(in_a_row(tuple(map(ref, many)), known)) == MOST  # type: ignore[arg-type]  # it is no Refusal
    assert len(reached((ref("a"),), known.get)) == MOST + 1


def test_a_missing_template_is_named_with_the_one_that_names_it() -> None:
    found = problem(templates(a=named("b")), "a")
    assert found.reason == reasons.ANALYSIS_TEMPLATE_NOT_FOUND
    assert found.message.startswith(
        "analysis: AnalysisTemplate b, which AnalysisTemplate a names, does not exist"
    )
    denied = problem(templates(a=named("B"), B=Forbidden("no right")), "a")
    assert (
        "ClusterAnalysisTemplate B, which AnalysisTemplate a names, cannot be read"
        in denied.message
    )


def test_a_template_of_the_cluster_names_none_of_a_namespace() -> None:
    found = problem(templates(A=named("b"), b=named()), "A")
    assert (
        "ClusterAnalysisTemplate A names AnalysisTemplate b, which belongs to one" in found.message
    )
    assert not isinstance(in_a_row((ref("A"),), templates(A=named("B"), B=named())), Refusal)
