"""Deliberate defects of the parts that others can reach: webhooks, certificates, metric sources."""

from tests.mutations.mutation import Mutation, named

OF_DOORS: tuple[Mutation, ...] = (
    *named(
        "controller.webhook.intake",
        (
            "a review of any size is read",
            "    if request.content_length is not None and request.content_length > LARGEST_REVIEW:\n",
            "    if request.content_length is not None and request.content_length < 0:\n",
            "component/webhook/test_hostile_requests.py::test_a_request_that_is_none_is_answered_in_words",
        ),
        (
            "the room of a body is never given back",
            "            room.left += body.size\n",
            "",
            "component/webhook/test_hostile_requests.py::test_the_room_of_a_body_is_there_for_the_next_one",
        ),
    ),
    *named(
        "controller.webhook.endpoint",
        (
            "a replica is ready before its port listens",
            "        if self._trouble is None and not self.listening.is_set():\n",
            "        if self._trouble is None and self.listening is None:\n",
            "component/certificates/test_rounds.py::test_an_endpoint_is_ready_only_when_its_port_takes_connections",
        ),
    ),
    *named(
        "controller.webhook.waiting",
        (
            "a flood of one address takes the turns of others",
            "            longest = max(self._queues, key=lambda one: (len(self._queues[one]), one == address))\n",
            "            longest = next(iter(self._queues))\n",
            "component/webhook/test_waiting.py::test_a_newcomer_to_the_longest_queue_is_closed",
        ),
        (
            "a client waits without an end",
            "            while queue and now - queue[0][0] >= self._seconds:\n",
            "            while queue and now - queue[0][0] < 0:\n",
            "component/webhook/test_waiting.py::test_only_a_client_that_waited_too_long_is_closed",
        ),
    ),
    *named(
        "controller.webhook.admission",
        (
            "a Rollout that no watch has shown yet holds nothing",
            "        return governing(new, await self._rollouts.latest(namespace), old)\n",
            "        return None\n",
            "component/webhook/test_server.py::test_a_rollout_that_no_watch_has_delivered_yet_holds_its_workload",
        ),
        (
            "our own writes are judged",
            "        if self._is_own(request.user_info.username, manager):\n            return None\n",
            "",
            "component/webhook/test_server.py::test_a_request_about_a_foreign_kind_passes",
        ),
    ),
    *named(
        "controller.webhook.impersonation",
        (
            "a question about an author that failed is a yes",
            '            return f"{found.path}: whether you may impersonate {account} cannot be asked: {failure}"\n',
            "            return str(failure)[:0]\n",
            "component/webhook/test_impersonation.py::test_an_unknown_answer_counts_as_a_refusal",
        ),
    ),
    *named(
        "controller.webhook.readers",
        (
            "a cache that is not filled is an empty cluster",
            "        if self._filled():\n            return self._cached(namespace)\n        return await",
            "        if namespace:\n            return self._cached(namespace)\n        return await",
            "component/webhook/test_readers.py::test_a_cache_that_is_not_filled_is_not_taken_for_an_empty_cluster",
        ),
    ),
    *named(
        "controller.webhook.tls",
        (
            "half a pair takes the place of the one in use",
            "        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)\n",
            "",
            "component/webhook/test_served_certificates.py::test_a_broken_pair_leaves_the_one_in_use_alone",
        ),
    ),
    *named(
        "controller.webhook.endpoint",
        (
            "hearing of an own correction counts as another one",
            "                if healing and wrote:\n",
            "                if healing:\n",
            "component/certificates/test_recovery.py::test_hearing_of_our_own_corrections_costs_none",
        ),
    ),
    *named(
        "controller.certificates.authority",
        (
            "an authority that may not sign is used",
            "    if seen is None or not seen.signs or not certificates(authority.certificate):\n",
            "    if seen is None or not certificates(authority.certificate):\n",
            "component/certificates/test_garbage.py::test_an_authority_whose_certificates_nobody_accepts_is_replaced",
        ),
    ),
    *named(
        "controller.certificates.secret",
        (
            "a rotation whose time cannot be read never ends",
            "        bundle = found and dated(found, now)\n",
            "        bundle = found\n",
            "component/certificates/test_garbage.py::test_a_rotation_whose_time_cannot_be_used_goes_on",
        ),
    ),
    *named(
        "controller.certificates.rotation",
        (
            "an authority signs before every configuration carries it",
            "        return Step.SWITCH_AUTHORITY if published and _settled(bundle, now) else Step.WAIT\n",
            "        return Step.SWITCH_AUTHORITY if _settled(bundle, now) else Step.WAIT\n",
            "component/certificates/test_rotation.py::test_nothing_is_switched_before_all_configurations_carry_both",
        ),
        (
            "an authority goes while replicas still serve by it",
            "        return Step.DROP_OLD_AUTHORITY if _settled(bundle, now) else Step.WAIT\n",
            "        return Step.DROP_OLD_AUTHORITY\n",
            "component/certificates/test_rotation.py::test_a_rotation_never_serves_an_untrusted_certificate",
        ),
    ),
    *named(
        "controller.certificates.issued",
        (
            "a certificate of another authority than the one beside it is served",
            "    return seen if seen and seen.signs and issued_by(certificate, authority) else None\n",
            "    return seen if seen and seen.signs else None\n",
            "component/certificates/test_issued.py::test_an_issued_certificate_that_cannot_be_served_is_reported",
        ),
        (
            "a certificate that has expired is served",
            "    ends = [span.end - margin for span in spans if span.begin <= now < span.end - margin]\n",
            "    ends = [span.end - margin for span in spans if span.begin <= now]\n",
            "component/certificates/test_issued.py::test_a_certificate_is_served_only_in_its_time",
        ),
    ),
    *named(
        "controller.certificates.worker",
        (
            "the worker keeps a certificate of an authority before",
            "    return in_time and issued_by(pair.certificate, bundle.authority.certificate)\n",
            "    return in_time\n",
            "component/certificates/test_worker_side.py::test_a_certificate_of_another_authority_is_created_again",
        ),
    ),
    *named(
        "controller.certificates.publish",
        (
            "entries of another version are written over",
            "        if path in wanted.served:\n",
            "        if path:\n",
            "component/certificates/test_publishing.py::test_the_authority_is_published_once_everywhere",
        ),
    ),
    *named(
        "controller.certificates.keeper",
        (
            "a certificate is served before its authority is published",
            "        self._published = False\n        missing = await",
            (
                '        early = {"tls.crt": bundle.serving.certificate, "tls.key": bundle.serving.key}\n'
                "        await asyncio.to_thread(write_files, places.webhook_directory, early)\n"
                "        self._published = False\n        missing = await"
            ),
            "component/certificates/test_rounds.py::test_nothing_is_served_before_its_authority_was_published",
        ),
    ),
    *named(
        "controller.measure.egress",
        (
            "the allow-list of metric sources is skipped",
            "        if any(entry.admits(namespace, url) for entry in self.entries):\n",
            "        if self.entries:\n",
            "component/measure/test_egress.py::test_any_other_address_is_refused_in_words",
        ),
        (
            "a tunnel is an address as any other",
            "        if any(found in tunnel for tunnel in _TUNNELS):\n",
            "        if found in _NAT64:\n",
            "component/measure/test_egress.py::test_places_that_no_name_may_lead_to",
        ),
        (
            "a name may lead to this machine",
            "    if found.is_loopback or found.is_unspecified:\n",
            "    if found.is_unspecified:\n",
            "component/measure/test_egress.py::test_places_that_no_name_may_lead_to",
        ),
    ),
    *named(
        "controller.measure.fetching",
        (
            "a redirect of a metric source is followed",
            "                allow_redirects=False,\n            ) as answer:\n                return",
            "                allow_redirects=True,\n            ) as answer:\n                return",
            "component/measure/test_fetching.py::test_a_redirect_is_not_followed",
        ),
        (
            "a metric source may answer any amount",
            "        if len(body) > most:\n",
            "        if len(body) < 0:\n",
            "component/measure/test_fetching.py::test_an_unusable_answer_is_reported_without_its_content",
        ),
        (
            "a Secret is sent to hosts that it does not name",
            "            _sent_to(one, place)\n",
            "            del one\n",
            "component/measure/test_secrets_sent.py::test_a_secret_is_not_sent_to_a_host_that_it_does_not_name",
        ),
        (
            "the server of tokens gets a Secret that does not name it",
            "        _sent_to(auth, url)\n",
            "",
            "component/measure/test_secrets_sent.py::test_the_server_of_tokens_gets_no_secret_that_does_not_name_it",
        ),
        (
            "a server's words are shown with the Secret that they repeat",
            "            if repeated_in_refusal(refused.body, confidential):\n",
            "            if not confidential:\n",
            "component/measure/test_secrets_sent.py::test_a_server_that_repeats_a_secret_is_not_quoted",
        ),
    ),
)
