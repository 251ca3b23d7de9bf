"""Deliberate defects of the packaged scripts and their library, and the routing test that has to notice each.

A defect is one small replacement in one file of `lua_configuration`. The named test of `tests/routing` is run on one
example, not on random ones: a defect that it notices here, it always notices.
"""

from typing import NamedTuple

SHARE = "test_the_new_version_gets_the_steps_share_and_no_other_share_changes"
MATCHES = "test_requests_that_match_go_to_the_canary_and_all_others_where_they_went"
OUTRANKS = "test_a_copy_never_outranks_another_services_condition_where_specificity_decides"
PATHS = "test_a_path_of_a_step_changes_nothing_but_the_version"
INGRESS_SHARE = "test_an_ingress_gives_the_share_that_the_step_asked_and_nothing_of_others"
INGRESS_MATCHES = "test_an_ingress_leads_only_matching_requests_to_the_canary"
ALONG = "test_a_header_does_not_take_another_services_longer_path_along"
VALUES = "test_a_cookie_of_elb_has_the_values_that_choose_the_canary"


class ScriptMutation(NamedTuple):
    """Replace `old` (which occurs once) in `file` by `new`; `test` notices it for `kind`, at `step` if it has one."""

    name: str
    file: str
    old: str
    new: str
    test: str
    kind: str
    step: int | str = 0


HTTP_ROUTE = "gateway.networking.k8s.io/HTTPRoute"
CILIUM = "cilium.io/CiliumEnvoyConfig"
MAPPING = "getambassador.io/Mapping"
CLASS = "trafficrouting_ingress"
OF_SCRIPTS = (
    ScriptMutation(
        "stable gets the share of the new version",
        "library/weights.lua",
        "hold(entry, part, 100 - step.weight)",
        "hold(entry, part, step.weight)",
        SHARE,
        HTTP_ROUTE,
    ),
    ScriptMutation(
        "other Services lose their weight",
        "library/weights.lua",
        "entry.weight = math.floor((entry.weight or absent) * scale + 0.5)",
        "entry.weight = 0",
        SHARE,
        HTTP_ROUTE,
    ),
    ScriptMutation(
        "a match of several conditions keeps the first",
        "library/routes.lua",
        "ipairs(alternative.conditions)",
        "ipairs({alternative.conditions[1]})",
        MATCHES,
        CILIUM,
        5,
    ),
    ScriptMutation(
        "only the first of several alternatives is written",
        "library/precedence.lua",
        "for _, alternative in ipairs(wanted) do",
        "for _, alternative in ipairs({wanted[1]}) do",
        MATCHES,
        HTTP_ROUTE,
        4,
    ),
    ScriptMutation(
        "other Services' rules get no guards",
        "library/precedence.lua",
        "if guard and not is_settled",
        "if nil and not is_settled",
        OUTRANKS,
        "kuma.io/MeshHTTPRoute",
    ),
    ScriptMutation(
        "a copy gets no guard although no order decides between two rules",
        "library/skipper.lua",
        "unique = true, unordered = true,",
        "unique = true,",
        MATCHES,
        "zalando.org/RouteGroup",
        0,
    ),
    ScriptMutation(
        "a copy has the step's path where the rule's lies within it",
        "library/paths.lua",
        "    if within(one, other) then\n        return own",
        "    if within(one, other) then\n        return wanted",
        PATHS,
        HTTP_ROUTE,
        0,
    ),
    ScriptMutation(
        "a replaced prefix does not grow with the path",
        "library/gateway_rules.lua",
        'paths.replacement(change.path.replacePrefixMatch or "/", own, part)',
        "change.path.replacePrefixMatch",
        PATHS,
        HTTP_ROUTE,
        2,
    ),
    ScriptMutation(
        "a rule in which the stable Service has nothing is copied",
        "library/weights.lua",
        "(entry.weight or absent) > 0\n",
        "true\n",
        PATHS,
        HTTP_ROUTE,
        9,
    ),
    ScriptMutation(
        "a second Mapping leads to the stable Service",
        f"{MAPPING}/trafficRouting.lua",
        "twin.service = scheme .. step.canary",
        "twin.service = scheme .. step.stable",
        SHARE,
        MAPPING,
    ),
    ScriptMutation(
        "a second Mapping has no weight",
        f"{MAPPING}/trafficRouting.lua",
        "sibling().weight = step.weight",
        "sibling().weight = nil",
        SHARE,
        MAPPING,
    ),
    ScriptMutation(
        "the new Service is not declared where matches lead to it",
        f"{CILIUM}/trafficRouting.lua",
        "        end)\n        declare()\n",
        "        end)\n",
        MATCHES,
        CILIUM,
    ),
    ScriptMutation(
        "an Ingress with headers leaves longer paths of other Services out",
        "library/other_paths.lua",
        "if wins_over_any(rules,",
        "if nil and wins_over_any(rules,",
        ALONG,
        "kong",
    ),
    ScriptMutation(
        "a canary Ingress of ALB has only the stable Service's paths",
        f"{CLASS}/aliyun-alb.lua",
        "            if found then\n",
        "            if ours then\n",
        ALONG,
        "aliyun-alb",
    ),
    ScriptMutation(
        "a canary Ingress of ALB comes after the owner's",
        f"{CLASS}/aliyun-alb.lua",
        "tostring(order - 1)",
        "tostring(order)",
        INGRESS_MATCHES,
        "aliyun-alb",
        "header",
    ),
    ScriptMutation(
        "a cookie of ELB has no values",
        f"{CLASS}/huawei-elb.lua",
        'annotations[PREFIX .. "canary-by-" .. sort .. "-value"] = json.encode({values = values})',
        "",
        VALUES,
        "huawei-elb",
    ),
    ScriptMutation(
        "a canary Ingress has no value of its header",
        "library/ingresses.lua",
        'annotations[prefix .. "canary-by-header-value"] = header.value',
        "",
        INGRESS_MATCHES,
        "nginx",
        "header",
    ),
    ScriptMutation(
        "a canary Ingress keeps no share",
        "library/ingresses.lua",
        'annotations[prefix .. "canary-weight"] = obj.weight',
        "",
        INGRESS_SHARE,
        "mse",
    ),
    ScriptMutation(
        "Skipper's stable Service keeps its whole weight",
        f"{CLASS}/skipper.lua",
        "divided[stable] = share - divided[canary]",
        "divided[stable] = share",
        INGRESS_SHARE,
        "skipper",
    ),
)
