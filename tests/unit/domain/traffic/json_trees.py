"""Strategies for JSON trees, and for gateway objects that are changed twice."""

import copy
from typing import Any

from hypothesis import strategies as st

keys = st.sampled_from(["a", "b", "name", "weight", "route"])
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "y", ""])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)
contents = st.fixed_dictionaries(
    {"spec": st.dictionaries(keys, values, max_size=3)},
    optional={
        "labels": st.dictionaries(keys, st.just("v"), min_size=1, max_size=2),
        "annotations": st.dictionaries(keys, st.just("v"), min_size=1, max_size=2),
    },
)

rules = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 10**6), "route": st.lists(st.integers(0, 10**6), max_size=2)}
    ),
    max_size=4,
    unique_by=lambda rule: rule["id"],
)


@st.composite
def edited_rules(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """An original list, ours (rules inserted and changed), the live one (foreign rules inserted), the wanted one."""
    original = draw(rules)
    desired = copy.deepcopy(original)
    for rule in desired:
        if draw(st.booleans()):
            rule["weight"] = draw(st.integers(0, 100))
    for number in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(desired)))
        desired.insert(at, {"id": f"ours-{number}", "route": ["canary"]})
    live, foreign = copy.deepcopy(desired), []
    for number in range(draw(st.integers(0, 2))):
        rule = {"id": f"foreign-{number}", "route": ["elsewhere"]}
        foreign.append(rule)
        live.insert(draw(st.integers(0, len(live))), rule)
    return original, desired, live, foreign
