"""Deliberate defects of the parts that others can reach: webhooks, certificates, metric sources."""

from tests.mutations.changes import (
    after,
    always,
    becomes,
    condition,
    never,
    only,
    removed,
    returns,
    without,
)
from tests.mutations.mutation import Mutation, named

OF_DOORS: tuple[Mutation, ...] = (
    *named(
        "controller.webhook.intake",
        (
            "a review of any size is read",
            "_check_head",
            never("LARGEST_REVIEW"),
            "component/webhook/test_hostile_requests.py::test_a_request_that_is_none_is_answered_in_words",
        ),
        (
            "the room of a body is never given back",
            "Intake.body",
            removed("size"),
            "component/webhook/test_hostile_requests.py::test_the_room_of_a_body_is_there_for_the_next_one",
        ),
    ),
    *named(
        "controller.webhook.endpoint",
        (
            "a replica is ready before its port listens",
            "Endpoint.problem",
            without("listening"),
            "component/certificates/test_rounds.py::test_an_endpoint_is_ready_only_when_its_port_takes_connections",
        ),
    ),
    *named(
        "controller.webhook.waiting_clients",
        (
            "a flood of one address takes the turns of others",
            "WaitingRoom.enter",
            becomes("max", "next(iter(self._queues))"),
            "component/webhook/test_waiting_clients.py::test_a_newcomer_to_the_longest_queue_is_closed",
        ),
        (
            "a client waits without an end",
            "WaitingRoom.expire",
            never("_seconds"),
            "component/webhook/test_waiting_clients.py::test_only_a_client_that_waited_too_long_is_closed",
        ),
    ),
    *named(
        "controller.webhook.admission",
        (
            "a Rollout that no watch has shown yet holds nothing",
            "Admission._governing",
            returns("None", "latest"),
            "component/webhook/test_server.py::test_a_rollout_that_no_watch_has_delivered_yet_holds_its_workload",
        ),
        (
            "our own writes are judged",
            "Admission._update",
            never("_is_own"),
            "component/webhook/test_server.py::test_a_request_about_a_foreign_kind_passes",
        ),
    ),
    *named(
        "controller.webhook.impersonation",
        (
            "a question about an author that failed is a yes",
            "Impersonation.refuses",
            returns("''", "failure"),
            "component/webhook/test_impersonation.py::test_an_unknown_answer_counts_as_a_refusal",
        ),
    ),
    *named(
        "controller.webhook.readers",
        (
            "a cache that is not filled is an empty cluster",
            "CachedReader.rollouts",
            always("_filled"),
            "component/webhook/test_readers.py::test_a_cache_that_is_not_filled_is_not_taken_for_an_empty_cluster",
        ),
    ),
    *named(
        "controller.webhook.tls",
        (
            "half a pair takes the place of the one in use",
            "ServingTls._load",
            removed("PROTOCOL_TLS_SERVER"),
            "component/webhook/test_served_certificates.py::test_a_broken_pair_leaves_the_one_in_use_alone",
        ),
    ),
    *named(
        "controller.webhook.endpoint",
        (
            "hearing of an own correction counts as another one",
            "Endpoint._serve",
            without("wrote"),
            "component/certificates/test_recovery.py::test_hearing_of_our_own_corrections_costs_none",
        ),
    ),
    *named(
        "controller.certificates.authority",
        (
            "an authority that may not sign is used",
            "can_sign",
            without("signs"),
            "component/certificates/test_garbage.py::test_an_authority_whose_certificates_nobody_accepts_is_replaced",
        ),
    ),
    *named(
        "controller.certificates.secret",
        (
            "a rotation whose time cannot be read never ends",
            "ensure_bundle",
            without("dated"),
            "component/certificates/test_garbage.py::test_a_rotation_whose_time_cannot_be_used_goes_on",
        ),
    ),
    *named(
        "controller.certificates.rotation",
        (
            "an authority signs before every configuration carries it",
            "plan_rotation",
            without("published"),
            "component/certificates/test_rotation.py::test_nothing_is_switched_before_all_configurations_carry_both",
        ),
        (
            "an authority goes while replicas still serve by it",
            "plan_rotation",
            only("DROP_OLD_AUTHORITY"),
            "component/certificates/test_rotation.py::test_a_rotation_never_serves_an_untrusted_certificate",
        ),
    ),
    *named(
        "controller.certificates.issued",
        (
            "a certificate of another authority than the one beside it is served",
            "_signer",
            without("issued_by"),
            "component/certificates/test_issued.py::test_an_issued_certificate_that_cannot_be_served_is_reported",
        ),
        (
            "a certificate that has expired is served",
            "_in_time",
            condition("begin margin", "span.begin <= now"),
            "component/certificates/test_issued.py::test_a_certificate_is_served_only_in_its_time",
        ),
    ),
    *named(
        "controller.certificates.for_worker",
        (
            "the worker keeps a certificate of an authority before",
            "_good",
            without("issued_by"),
            "component/certificates/test_worker_side.py::test_a_certificate_of_another_authority_is_created_again",
        ),
    ),
    *named(
        "controller.certificates.publish",
        (
            "entries of another version are written over",
            "configured",
            always("served"),
            "component/certificates/test_publishing.py::test_the_authority_is_published_once_everywhere",
        ),
    ),
    *named(
        "controller.certificates.keeper",
        (
            "a certificate is served before its authority is published",
            "CertificateKeeper.ensure",
            after(
                "self _remembered bundle",
                "early = {'tls.crt': bundle.serving.certificate, 'tls.key': bundle.serving.key}; "
                "await asyncio.to_thread(write_files, places.webhook_directory, early)",
            ),
            "component/certificates/test_rounds.py::test_nothing_is_served_before_its_authority_was_published",
        ),
    ),
    *named(
        "controller.outbound.egress",
        (
            "the allow-list of metric sources is skipped",
            "AllowList.refusal",
            always("admits"),
            "component/outbound/test_egress.py::test_any_other_address_is_refused_in_words",
        ),
        (
            "a tunnel is an address as any other",
            "_class_of",
            becomes("any _TUNNELS", "found in _NAT64"),
            "component/outbound/test_egress.py::test_places_that_no_name_may_lead_to",
        ),
        (
            "a name may lead to this machine",
            "forbidden_place",
            without("is_loopback"),
            "component/outbound/test_egress.py::test_places_that_no_name_may_lead_to",
        ),
    ),
    *named(
        "controller.outbound.request",
        (
            "a form changes nothing at a server that may only be read",
            "Request.changes",
            becomes("self sent_by READING", "self.method not in READING"),
            "component/outbound/test_posted.py::test_a_secret_sends_no_form_to_a_server_of_tokens_that_may_only_be_read",
        ),
    ),
    *named(
        "controller.outbound.escapes",
        (
            "an answer is read once, so escapes in escapes hide a Secret",
            "views_of",
            becomes("DEEP", "1"),
            "component/outbound/test_escapes.py::test_no_metric_reads_a_secret_that_the_server_repeats",
        ),
    ),
    *named(
        "controller.outbound.fetching",
        (
            "a redirect of a metric source is followed",
            "Fetching._sent",
            becomes("allow_redirects", "True"),
            "component/outbound/test_fetching.py::test_a_redirect_is_not_followed",
        ),
        (
            "a metric source may answer any amount",
            "_body",
            never("most"),
            "component/outbound/test_fetching.py::test_an_unusable_answer_is_reported_without_its_content",
        ),
        (
            "a Secret is sent to hosts that it does not name",
            "Fetching._ready",
            removed("_sent_to"),
            "component/outbound/test_secrets_sent.py::test_a_secret_is_not_sent_to_a_host_that_it_does_not_name",
        ),
        (
            "the server of tokens gets a Secret that does not name it",
            "Fetching._granted",
            removed("_sent_to"),
            "component/outbound/test_secrets_sent.py::test_the_server_of_tokens_gets_no_secret_that_does_not_name_it",
        ),
        (
            "a server's words are shown with the Secret that they repeat",
            "Fetching._fetch",
            never("repeated_in_refusal"),
            "component/outbound/test_secrets_sent.py::test_a_server_that_repeats_a_secret_is_not_quoted",
        ),
    ),
)
