"""Deliberate defects of the domain's other rooms: admission, gates, routes, shared routes, sets of pods."""

from tests.mutations.changes import (
    always,
    assigns,
    becomes,
    compares,
    condition,
    in_condition,
    negated,
    never,
    removed,
    returns,
    within,
    without,
)
from tests.mutations.mutation import Mutation, named

OF_JUDGEMENT: tuple[Mutation, ...] = (
    *named(
        "controller.domain.admission.workload",
        (
            "admission lets the admission pause be taken off",
            "_protected",
            never("has_admission_token"),
            "unit/domain/admission/test_workload_pacing.py::test_pacing_14_nobody_takes_the_admission_pause_off",
        ),
        (
            "a rollback is frozen",
            "_changed_in_release",
            compares("blue_green", "is not"),
            "unit/domain/admission/test_workload_in_release.py::test_the_way_back_is_known_from_status_when_the_label_is_lost",
        ),
        (
            "marks go with kubectl rollout undo",
            "with_marks_of",
            removed("mark"),
            "unit/domain/admission/test_podset.py::test_marks_cannot_be_lost",
        ),
    ),
    *named(
        "controller.domain.admission.availability_freeze",
        (
            "a value of the freeze is recorded as the owner's",
            "with_min_ready_of",
            without("FREEZE_MIN_READY_SECONDS"),
            "unit/domain/admission/test_again.py::test_a_blue_green_cloneset_is_held_by_min_ready_seconds_again",
        ),
    ),
    *named(
        "controller.domain.admission.service",
        (
            "an apply during a release takes the pin off",
            "admit_service",
            becomes("changed selector", "new"),
            "unit/domain/admission/test_service.py::test_the_pin_is_put_back_and_the_rest_is_the_owners",
        ),
    ),
    *named(
        "controller.domain.admission.verdict",
        (
            "an answer has any number of texts",
            "_more",
            returns("()"),
            "unit/domain/admission/test_verdict.py::test_an_answer_names_the_first_texts_and_how_many_more_there_are",
        ),
    ),
    *named(
        "controller.domain.admission.rollout",
        (
            "each warning is compared with all former ones",
            "admit_rollout",
            becomes("set _advice old", "_advice(old, rules)"),
            "unit/domain/admission/test_rollout.py::test_each_warning_is_looked_for_once_among_the_former_ones",
        ),
    ),
    *named(
        "controller.domain.admission.gate_mistakes",
        (
            "each unknown word has a warning of its own",
            "_unknown_words",
            assigns("named", "unknown"),
            "unit/domain/admission/test_gate_mistakes.py::test_many_unknown_words_are_counted",
        ),
    ),
    *named(
        "controller.domain.admission.accounts",
        (
            "an account that was named before may be used for anything",
            "_newly_named",
            condition("content known", "not known"),
            "unit/domain/admission/test_accounts.py::test_a_reference_that_says_something_else_is_asked_about",
        ),
    ),
    *named(
        "controller.domain.admission.approvals",
        (
            "an approval is signed with nobody's name",
            "_with_intents",
            within("signed approval message", becomes("user", "''")),
            "unit/domain/admission/test_approvals.py::test_an_exact_approval_carries_its_authors_own_name",
        ),
    ),
    *named(
        "controller.domain.gates.in_query",
        (
            "a text of others is a pattern",
            "_of_others",
            never("regex"),
            "unit/domain/gates/test_hostile_texts.py::test_a_text_in_a_regular_expression_matches_itself_only",
        ),
        (
            "a text of others ends a string",
            "_of_others",
            returns("text.replace('\\\\', '\\\\\\\\')", "replace"),
            "unit/domain/gates/test_hostile_texts.py::test_a_text_in_quotation_marks_is_one_label_and_itself",
        ),
    ),
    *named(
        "controller.domain.gates.in_query",
        (
            "a string of a query is kept as long as it is",
            "_Reader._in_string",
            assigns("self._string", "self._string + text[at:end]"),
            "unit/domain/gates/test_readers.py::test_a_reader_keeps_no_more_of_a_longer_text",
        ),
    ),
    *named(
        "controller.domain.gates.metric_texts",
        (
            "words make a text as long as they like",
            "why_too_long",
            never("LONGEST_TEXT"),
            "unit/domain/gates/test_metric_texts.py::test_a_text_that_words_make_too_long_is_named",
        ),
        (
            "arguments make a Job as large as they like",
            "why_too_long",
            never("_why_job_is_too_long"),
            "unit/domain/gates/test_metric_texts.py::test_a_job_that_its_arguments_make_too_large_is_never_made",
        ),
    ),
    *named(
        "controller.domain.gates.asking",
        (
            "the texts of a gate are as long as they like together",
            "asked_about",
            never("MOST_OF_A_GATE"),
            "unit/domain/gates/test_metric_texts.py::test_the_texts_of_a_gate_are_bounded_together",
        ),
    ),
    *named(
        "controller.domain.rollout.approvals.analysing",
        (
            "the gates of a plan are as many as they like",
            "gate_that_cannot_be_asked",
            never("MOST_OF_A_PLAN"),
            "unit/domain/rollout/approvals/test_analysing.py::test_the_gates_of_a_plan_are_bounded_together",
        ),
    ),
    *named(
        "controller.domain.gates.in_job",
        (
            "a text of others stands in a command",
            "anywhere_else",
            becomes("Unplaced _remedy", "placed.word.text"),
            "unit/domain/gates/test_hostile_texts.py::test_nobody_who_annotates_a_workload_decides_what_a_job_runs",
        ),
    ),
    *named(
        "controller.domain.gates.judging",
        (
            "a measurement without data passes a metric",
            "judge",
            becomes("good bad unclear", "run.taken"),
            "unit/domain/gates/test_judging.py::test_limits_have_their_documented_effect",
        ),
        (
            "errors count in a row though others came between",
            "counted",
            becomes(
                "consecutive_errors ERROR",
                "run.consecutive_errors + (found.reading is Reading.ERROR)",
            ),
            "unit/domain/gates/test_judging.py::test_limits_have_their_documented_effect",
        ),
        (
            "a dry run fails a gate",
            "gate_verdict",
            always("dry_run"),
            "unit/domain/gates/test_judging.py::test_a_gate_is_as_good_as_its_worst_metric",
        ),
    ),
    *named(
        "controller.domain.gates.watching",
        (
            "an answer that comes twice counts twice",
            "_with_answer",
            becomes("answer wanted", "(answer.gate, answer.metric) == wanted[:2]"),
            "unit/domain/gates/test_watching.py::test_an_answer_counts_once",
        ),
    ),
    *named(
        "controller.domain.gates.measurement",
        (
            "a measurement that is not a number is a value",
            "_is_missing",
            without("isnan"),
            "unit/domain/gates/test_measurement.py::test_the_owner_decides_the_meaning_of_a_missing_value",
        ),
    ),
    *named(
        "controller.domain.traffic.validation.weights",
        (
            "weights may add up to anything",
            "weight_violation",
            becomes("_are_rules copied", "not objects"),
            "unit/domain/traffic/validation/test_answer.py::test_an_unsound_answer_is_refused",
        ),
    ),
    *named(
        "controller.domain.traffic.validation.weights",
        (
            "a sum of weights is compared with every sum of the original",
            "_is_near",
            becomes("allowed max at", "allowed"),
            "unit/domain/traffic/validation/test_answer.py::test_a_sum_of_weights_is_not_compared_with_every_sum_of_the_original",
        ),
    ),
    *named(
        "controller.domain.traffic.validation.ingress",
        (
            "all hosts of an Ingress are walked through for each certificate",
            "_concerns",
            becomes("patterns", "_patterns(hosts)"),
            "unit/domain/traffic/validation/test_ingress.py::test_the_hosts_of_an_ingress_are_not_walked_through_for_each_certificate",
        ),
    ),
    *named(
        "controller.domain.traffic.validation.answer",
        (
            "a script may lead to any destination",
            "_foreign_host",
            never("is_service host"),
            "unit/domain/traffic/validation/test_answer.py::test_an_unsound_answer_is_refused",
        ),
        (
            "a script may drop somebody else's rule",
            "_lost_rules",
            never("_keeps_in_order"),
            "unit/domain/traffic/validation/test_answer.py::test_an_unsound_answer_is_refused",
        ),
    ),
    *named(
        "controller.domain.traffic.drift.leading",
        (
            "an object that another Rollout leads is written",
            "refusal_to_lead",
            never("taken"),
            "component/effects/gateways/test_ensure.py::test_an_object_of_another_rollout_is_left_alone",
        ),
    ),
    *named(
        "controller.domain.traffic.drift.reaction",
        (
            "a put-back of a shared route that was refused counts",
            "without_put_back",
            becomes("not_put_back", "decision.status.conditions"),
            "unit/domain/trafficrouting/test_drifting.py::test_a_put_back_that_is_refused_does_not_count_and_says_the_same_all_the_time",
        ),
    ),
    *named(
        "controller.domain.traffic.drift.policy",
        (
            "two writers fight for ever",
            "_is_fought",
            returns("False"),
            "unit/domain/traffic/drift/test_policy.py::test_a_place_that_is_changed_every_ten_seconds_is_put_back_twice_and_then_waits",
        ),
        (
            "two writers fight for ever if one replaces the whole object",
            "replaced_among",
            in_condition("FIGHT_WINDOW", becomes("ROUTE_REPLACED_AGAIN", "reasons.ROUTE_HELD")),
            "unit/domain/rollout/routes/test_drifting.py::test_an_object_that_is_replaced_again_and_again_is_left",
        ),
    ),
    *named(
        "controller.domain.trafficrouting.rehearsing",
        (
            "nobody asks whether the API server accepts the objects of a shared route",
            "rehearsals",
            negated("closed"),
            "unit/domain/trafficrouting/test_rehearsing.py::test_a_refused_shared_route_stops_a_release_before_its_first_pod",
        ),
    ),
    *named(
        "controller.domain.trafficrouting.status",
        (
            "two writers fight for ever over a shared route if one replaces the whole object",
            "drift_of_open",
            becomes("_named", "set()"),
            "unit/domain/trafficrouting/test_drifting.py::test_a_writer_that_replaces_a_shared_route_is_left_alone_after_two_put_backs",
        ),
    ),
    *named(
        "controller.domain.rollout.routes.confirming",
        (
            "old pods go before the gateway has taken the routes",
            "not_yet_taken",
            returns("None"),
            "unit/domain/rollout/routes/test_confirming.py::test_a_step_waits_until_the_gateway_has_taken_its_routes",
        ),
        (
            "a gateway that refuses its object is no problem",
            "not_yet_taken",
            never("refused"),
            "unit/domain/rollout/routes/test_confirming.py::test_a_gateway_that_refuses_its_object_stalls_the_release_before_old_pods_go",
        ),
    ),
    *named(
        "controller.domain.trafficrouting.confirming",
        (
            "a member is routed by a route that no gateway has taken",
            "confirmation",
            returns("Confirmation()"),
            "unit/domain/trafficrouting/test_confirming.py::test_a_member_waits_until_the_gateway_has_taken_the_shared_route",
        ),
    ),
    *named(
        "controller.domain.traffic.restoring.restore",
        (
            "changes by others are removed with our part",
            "_Merge.value",
            returns("original", "live"),
            "unit/domain/traffic/drift/test_object_state.py::test_a_foreign_change_elsewhere_is_folded_into_the_original",
        ),
    ),
    *named(
        "controller.domain.traffic.restoring.likeness",
        (
            "all lists of an object may be compared at any length",
            "Likeness.has_room",
            never("parts"),
            "unit/domain/traffic/restoring/test_merge_list.py::test_lists_that_are_too_much_together_are_ambiguous",
        ),
        (
            "a value is walked through again for each list around it",
            "Likeness.node",
            becomes("_seen get", "None"),
            "unit/domain/traffic/restoring/test_merge_list.py::test_the_work_grows_with_the_depth_and_not_with_its_square",
        ),
    ),
    *named(
        "controller.domain.traffic.restoring.merge_list",
        (
            "an element that is put back forgets those before it",
            "_Places.of",
            removed("_is_passed found"),
            "unit/domain/traffic/restoring/test_merge_list.py::test_any_lists_are_merged_as_by_looking",
        ),
    ),
    *named(
        "controller.domain.traffic.drift.object_state",
        (
            "an object of any number of values is compared in each pass",
            "read_object_state",
            never("MOST_VALUES"),
            "unit/domain/traffic/drift/test_object_state.py::test_an_object_of_too_many_values_is_not_compared",
        ),
    ),
    *named(
        "controller.domain.traffic.original.record",
        (
            "a record unpacks to any number of values",
            "unpack",
            without("MOST_VALUES"),
            "unit/domain/traffic/drift/test_object_state.py::test_a_record_that_unpacks_to_too_many_values_is_damaged",
        ),
    ),
    *named(
        "controller.domain.traffic.companions.canary_service",
        (
            "the canary Service takes the stable one's node ports",
            "_ports",
            always("nodePort"),
            "unit/domain/traffic/companions/test_canary_service.py::test_the_copy_takes_nothing_that_is_the_stable_services_own",
        ),
    ),
    *named(
        "controller.domain.trafficrouting.shared_routes",
        (
            "a shared route opens before a new pod is ready behind its Service",
            "open_shared_routes",
            without("leads_to_new is_waited_for"),
            "unit/domain/trafficrouting/test_deciding.py::test_a_trafficrouting_at_rest_is_healthy_and_has_its_finalizer",
        ),
    ),
    *named(
        "controller.domain.pods.partition",
        (
            "new pods below the partition of a StatefulSet are not counted",
            "ordered_partition",
            becomes("sum", "0"),
            "unit/domain/pods/test_partition.py::test_the_partition_of_a_statefulset_makes_no_pod_too_many_and_keeps_those_that_are_new",
        ),
        (
            "a percentage that is not exact is written",
            "counted_partition",
            without("kept_old"),
            "unit/domain/pods/test_partition.py::test_a_percentage_that_would_keep_a_pod_too_many_is_written_as_a_count",
        ),
    ),
    *named(
        "controller.domain.pods.daemonset",
        (
            "a node whose pod is being deleted counts as whole",
            "may_go",
            within("room limit", without("bare")),
            "unit/domain/pods/test_daemonset.py::test_the_number_of_removable_old_pods_follows_from_the_limit",
        ),
    ),
    *named(
        "controller.domain.pods.held_autoscalers",
        (
            "the behavior of a paused autoscaler is saved as its owner's",
            "original",
            never("kept"),
            "unit/domain/pods/test_held_autoscalers.py::test_the_behavior_of_a_paused_autoscaler_is_not_taken_for_its_owners",
        ),
    ),
)
