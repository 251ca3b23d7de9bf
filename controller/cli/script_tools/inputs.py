"""The global `obj` of a step, without running anything: for debuggers and for people.

Invariant: the same bytes that a run of the step sends.
"""

from controller.cli.script_tools.cases import Case, CaseStep, Unusable, siblings_for
from controller.cli.script_tools.script_folders import Subject
from controller.domain.traffic.plan.script_input import script_input
from controller.domain.traffic.tree import Tree, decode_tree
from controller.domain.traffic.validation.ingress import class_input
from controller.domain.traffic.validation.violation import Violation
from controller.scripts.lookup import Script


def obj_of(subject: Subject, script: Script, case: Case, step: CaseStep) -> Tree:
    """`obj` of the step's first call. Raises Unusable if there is none."""
    reference = step.plan.references[0]
    siblings = siblings_for(case, script)
    if not subject.class_type:
        return decode_tree(script_input(reference, step.plan, case.content, siblings))
    given = class_input(reference, step.plan, case.content, siblings)
    if isinstance(given, Violation):
        raise Unusable(given.message)
    return decode_tree(given)
