"""The bugs: what is changed in the source, and which tests have to fail.

Each anchor has to be found exactly once in its symbol. A change of layout does not matter; a change of the code does.
"""

from typing import Final

from checks.planted_bugs.adverse_bugs import ADVERSE_BUGS
from checks.planted_bugs.approval_bugs import APPROVAL_BUGS
from checks.planted_bugs.block_bugs import BLOCK_BUGS
from checks.planted_bugs.bug import Bug, Edit
from checks.planted_bugs.cause_bugs import CAUSE_BUGS
from checks.planted_bugs.chain_bugs import CHAIN_BUGS
from checks.planted_bugs.figure_bugs import FIGURE_BUGS
from checks.planted_bugs.learning_bugs import LEARNING_BUGS
from checks.planted_bugs.load_bugs import LOAD_BUGS
from checks.planted_bugs.log_bugs import LOG_BUGS
from checks.planted_bugs.misreported_bugs import MISREPORTED_BUGS
from checks.planted_bugs.nul_bugs import NUL_BUGS
from checks.planted_bugs.outcome_bugs import OUTCOME_BUGS
from checks.planted_bugs.reader_bugs import READER_BUGS
from checks.planted_bugs.share_bugs import SHARE_BUGS
from checks.planted_bugs.sign_in_bugs import SIGN_IN_BUGS
from checks.planted_bugs.stage_bugs import STAGE_BUGS
from checks.planted_bugs.turn_bugs import TURN_BUGS
from checks.planted_bugs.unknown_bugs import UNKNOWN_BUGS
from checks.planted_bugs.watch_bugs import WATCH_BUGS

_RELEASES: Final = "holder_service/services/releases/releases.py"
_CHARGING: Final = "holder_service/services/releases/charging.py"
_COLUMNS: Final = "holder_service/services/columns/columns.py"
_RELEASING: Final = "holder_service/web/rest/releasing.py"
_ENCODED: Final = "holder_service/records/encoded.py"
_LINKED: Final = "holder_service/records/linked.py"
_ATOMS: Final = "holder_service/records/atoms.py"
_SCORING: Final = "holder_service/records/scoring.py"
_SCORE_TREES: Final = "holder_service/records/score_trees.py"
_LAPLACE: Final = "holder_service/mechanisms/laplace.py"
_SPARSE_VECTOR: Final = "holder_service/mechanisms/sparse_vector.py"
_DISTANCE: Final = "holder_service/domain/verdict_distance.py"
_SPARSE_VECTOR_TESTS: Final = "tests/unit/holder_service/test_sparse_vector.py"
_WATCHING: Final = "holder_service/services/releases/watching.py"
_WATCHED_TESTS: Final = "tests/integration/test_watches.py"
_WATCH_TESTS: Final = "tests/statistical/test_watches.py"
_DISTANCE_TESTS: Final = "tests/unit/holder_service/test_verdict_distance.py"
_ZERO_CONCENTRATED: Final = "shared/privacy/zero_concentrated.py"

_LOOKS: Final = "auditor_client/findings/looks.py"
_LOOKS_TESTS: Final = "tests/unit/auditor_client/test_looks.py"
_ROLES_TESTS: Final = "tests/integration/test_roles.py"
_REFINING: Final = "holder_service/mechanisms/refining.py"
_REFINABLE: Final = "holder_service/services/releases/refining.py"
_REFINING_LAW: Final = "tests/unit/holder_service/test_refining_law.py"
_REFINING_TESTS: Final = "tests/integration/test_refining.py"

_FAIR_TREE_TESTS: Final = "tests/unit/holder_service/test_fair_tree.py"
_FAIR_LINEAR: Final = "holder_service/learning/fair_linear.py"
_FAIR_LINEAR_TESTS: Final = "tests/unit/holder_service/test_fair_linear.py"
_AGGREGATES_TESTS: Final = "tests/unit/holder_service/test_aggregates.py"
_TASKS_TESTS: Final = "tests/unit/holder_service/test_spark_tasks.py"
_WORK_TESTS: Final = "tests/unit/holder_service/test_count_work.py"
_READ_SCORES: Final = "tests/unit/auditor_client/test_sklearn_scores.py"

_NOTICES: Final = "holder_service/services/running/notices.py"
_NOTICES_TESTS: Final = "tests/integration/test_notices.py"

BUGS: Final = (
    *FIGURE_BUGS,
    *LEARNING_BUGS,
    *BLOCK_BUGS,
    *LOAD_BUGS,
    *TURN_BUGS,
    *ADVERSE_BUGS,
    *MISREPORTED_BUGS,
    *UNKNOWN_BUGS,
    *CHAIN_BUGS,
    *OUTCOME_BUGS,
    *SIGN_IN_BUGS,
    *STAGE_BUGS,
    *APPROVAL_BUGS,
    *NUL_BUGS,
    *LOG_BUGS,
    *SHARE_BUGS,
    *CAUSE_BUGS,
    *READER_BUGS,
    *WATCH_BUGS,
    Bug(
        "the desk asks of other records than it showed the price for",
        (
            Edit(
                "auditor_client/desk/drafts.py",
                "ask.act.changed",
                'changed_since(priced_for, auditor.dataset(found.dataset), pinned="version" in asked.keywords)',
                '""',
            ),
            Edit("auditor_client/desk/asking.py", "AuditDraft.asked", "version=planned.plan.version", "**{}"),
        ),
        ("tests/deployment/test_desk.py::test_what_is_asked_is_what_the_price_was_shown_for",),
    ),
    Bug(
        "a holder may have something else approved than what was asked",
        (
            Edit(
                "auditor_client/exchange/charged.py",
                "Exchange._answer",
                "            priced.require_same(error.approval)\n",
                "",
            ),
        ),
        ("tests/unit/auditor_client/test_approvals.py",),
    ),
    Bug(
        "a threshold of a score is itself on the other side",
        (
            Edit(
                "auditor_client/models/score_tests.py",
                "RawTests._rising",
                'op, value = ("le", last) if following is None else ("lt", following)',
                'op, value = ("lt", last) if following is None else ("le", following)',
            ),
        ),
        (f"{_READ_SCORES}::test_a_fully_grown_forest_is_one_score_and_another_a_choice_and_a_score",),
    ),
    Bug(
        "a score's thresholds are not rounded to float32",
        (
            Edit(
                "auditor_client/models/sklearn_ensembles.py",
                "scoring_of.parts",
                "preprocessing.matrix if rounded else preprocessing.numbers",
                "preprocessing.numbers",
            ),
        ),
        (f"{_READ_SCORES}::test_thresholds_are_rounded_to_float32_as_the_maker_rounds_them",),
    ),
    Bug(
        "a reader is believed whatever the maker decides",
        (
            Edit(
                "auditor_client/models/checking.py",
                "checked",
                "    if agreement.outside:\n",
                "    if agreement.outside < 0:\n",
            ),
        ),
        ("tests/unit/auditor_client/test_checking.py::test_a_threshold_that_is_off_by_one_double_is_found",),
    ),
    Bug(
        "a data steward sets a cap",
        (
            Edit(
                "holder_service/services/accounts/populations.py",
                "with_cap",
                "    if sets_cap:\n",
                "    if sets_cap or not sets_cap:\n",
            ),
        ),
        (f"{_ROLES_TESTS}::test_a_steward_loads_and_an_officer_sets_the_cap",),
    ),
    Bug(
        "the console takes a form from anybody",
        (
            Edit(
                "holder_service/web/console/session.py",
                "Visiting.__call__",
                "        self.admission.require(visit.session.caller)\n",
                "",
            ),
        ),
        (f"{_ROLES_TESTS}::test_the_console_offers_a_role_what_it_may_do_and_refuses_the_rest",),
    ),
    Bug(
        "a call is made in any role",
        (
            Edit(
                "holder_service/web/edge/roles.py",
                "Admission.require",
                "        if not self.admits(caller):\n",
                "        if not caller.role:\n",
            ),
        ),
        (f"{_ROLES_TESTS}::test_every_call_is_answered_to_every_role_as_the_contract_says",),
    ),
    Bug(
        "a chain drawn from floats",
        (
            Edit(
                "holder_service/mechanisms/exact_draws.py",
                "",
                "import secrets\n",
                "import math\nimport random\nimport secrets\n",
            ),
            Edit(
                "holder_service/mechanisms/exact_draws.py",
                "coin",
                "for _ in range(whole)) and _short_coin(remainder, denominator, uniform)",
                "for _ in range(0)) and random.random() < math.exp(-(whole + remainder / denominator))",
            ),
        ),
        (f"{_REFINING_LAW}::test_a_coin_has_exactly_its_probability",),
    ),
    Bug(
        "finer noise that does not follow the first",
        (
            Edit(
                _REFINING,
                "RefinedLaplaceMechanism.release",
                "count + noise.draw(answer - count)",
                "self.fine.release([count])[0] if noise else answer",
            ),
        ),
        (f"{_REFINING_TESTS}::test_the_finer_answer_is_not_an_independent_one",),
    ),
    Bug(
        "finer noise stays beyond the first too often",
        (
            Edit(
                _REFINING,
                "FineNoise.draw",
                "not coin(2 * self.coarse_rate * (noise - reach), self.unit, uniform)",
                "not coin(self.coarse_rate * (noise - reach), self.unit, uniform)",
            ),
        ),
        (f"{_REFINING_LAW}::test_a_finer_draw_has_its_law",),
    ),
    Bug(
        "a release is refined twice",
        (
            Edit(
                _REFINABLE, "require_refinable", "    if finer is not None:\n", "    if finer == identity_of_nothing:\n"
            ),
            Edit(
                _REFINABLE,
                "require_refinable",
                "def require_refinable(",
                'identity_of_nothing = ""\n\n\ndef require_refinable(',
            ),
        ),
        (f"{_REFINING_TESTS}::test_a_release_is_refined_once",),
    ),
    Bug(
        "a release of replaced records is refined",
        (
            Edit(_REFINABLE, "find", "    if stored.version != dataset.version:\n", "    if stored.version < 0:\n"),
            Edit(
                "shared/kinds/refining.py",
                "_but_epsilon",
                "return plan.sensitive, plan.version, plan.draw,",
                "return plan.sensitive, plan.draw,",
            ),
        ),
        (f"{_REFINING_TESTS}::test_a_version_that_is_gone_cannot_be_refined",),
    ),
    Bug(
        "a release from before a restore is refined",
        (
            Edit(
                _REFINABLE,
                "require_refinable",
                "    if ledger.restored_after(connection, refined.sequence):\n",
                "    if refined.sequence < 0:\n",
            ),
        ),
        (f"{_REFINING_TESTS}::test_a_release_from_before_a_restore_cannot_be_refined",),
    ),
    Bug(
        "who refines is not asked again under the lock",
        (
            Edit(
                _RELEASES,
                "_as_priced",
                "        refining.require_refinable(transaction.connection, priced.refined)\n",
                "        pass\n",
            ),
        ),
        (f"{_REFINING_TESTS}::test_of_many_who_refine_one_answer_at_once_one_is_charged",),
    ),
    Bug(
        "a refinement is charged whole",
        (
            Edit(
                "holder_service/domain/pricing.py",
                "_price",
                "of_class = batch.loss - charged",
                "of_class = batch.loss",
            ),
        ),
        (f"{_REFINING_TESTS}::test_a_refinement_charges_the_difference_and_names_what_it_refines",),
    ),
    Bug(
        "answers of one chain are joined",
        (
            Edit(
                "auditor_client/audits/stored_answers.py",
                "_about_the_same",
                "        if named == wanted and release.id not in refined:\n",
                "        if named == wanted and release.id != refined:\n",
            ),
        ),
        ("tests/integration/test_refined_audits.py::test_answers_of_one_chain_are_not_joined",),
    ),
    Bug(
        "a refinement asks another question",
        (
            Edit(
                "shared/kinds/refining.py",
                "require_refines",
                "    if _but_epsilon(plan) != _but_epsilon(earlier):\n",
                "    if plan.sensitive != earlier.sensitive:\n",
            ),
        ),
        (f"{_REFINING_TESTS}::test_what_is_refined_is_the_same_question",),
    ),
    Bug(
        "entered when it is drawn",
        (
            Edit(
                _RELEASING,
                "released",
                "due_s, overran = await wait_until_public(begun_s, deadline_s)",
                "due_s, overran = begun_s, False",
            ),
            Edit(
                _RELEASING,
                "released",
                "await wait_until_public(due_s, quantum_ms / 1000)",
                "await wait_until_public(begun_s, deadline_s + quantum_ms / 1000)",
            ),
        ),
        ("tests/attacks/test_public_times.py::test_nothing_of_a_release_is_seen_before_its_deadline",),
    ),
    Bug(
        "a withdrawn key is answered",
        (
            Edit(
                _RELEASES,
                "_charge",
                "    access.require_in_force(transaction.connection, proof, now=transaction.now)\n    stored =",
                "    stored =",
            ),
        ),
        ("tests/attacks/test_public_times.py::test_a_key_withdrawn_during_the_count_is_refused",),
    ),
    Bug(
        "one auditor takes all slots",
        (
            Edit(
                "holder_service/web/edge/release_slots.py",
                "ReleaseSlots._deal.waiting",
                "if not one[1].done() and self._held[one[0]] < self._share",
                "if not one[1].done()",
            ),
        ),
        ("tests/unit/holder_service/test_release_slots.py",),
    ),
    Bug(
        "a row of an aggregate table counts as one person",
        (
            Edit(
                "holder_service/records/counting.py",
                "added_counts.count.tally",
                "(len(indices) + 1) * groups.size, chunk.weights)",
                "(len(indices) + 1) * groups.size, None)",
            ),
        ),
        (
            f"{_TASKS_TESTS}::test_an_aggregate_table_is_counted_as_a_row_for_each_of_its_people",
            f"{_AGGREGATES_TESTS}::test_sums_are_exact_up_to_the_largest_dataset",
        ),
    ),
    Bug(
        "records_max bounds the rows of an aggregate table",
        (
            Edit(
                "holder_service/records/staging.py",
                "StagedFile.read",
                "if int(people.sum()) > records_max:",
                "if len(people) > records_max:",
            ),
        ),
        (f"{_AGGREGATES_TESTS}::test_records_max_bounds_people_and_not_rows",),
    ),
    Bug(
        "the work on an aggregate table follows from its numbers of people",
        (
            Edit(
                "holder_service/records/counting.py",
                "_tally",
                "        laned = np.zeros(lanes * size, dtype=np.int64)\n        np.add.at(laned, keys, weights)\n",
                "        lanes = min(lanes, 1 + int(weights.max() > 1))\n"
                "        laned = np.zeros(lanes * size, dtype=np.int64)\n"
                "        np.add.at(laned, keys % len(laned), weights)\n",
            ),
        ),
        (f"{_WORK_TESTS}::test_aggregate_tables_that_differ_in_everything_make_the_same_work",),
    ),
    Bug(
        "encoding chosen by the records",
        (
            Edit(
                _ENCODED,
                "encode_records",
                "        fields, arrays = record_fields(schema, secret.id), record_arrays(schema, staged, report)\n",
                "        domain = {'type': 'integer', 'minimum': 0, 'maximum': 2**16 - 1}\n"
                "        columns = tuple(\n"
                "            column.model_copy(update=domain)\n"
                "            if column.ordered and len(values) and values.min() >= 0 and values.max() < 2**16\n"
                "            and (values == np.floor(values)).all() else column\n"
                "            for column, values in zip(schema.columns, staged.values, strict=True)\n"
                "        )\n"
                "        chosen = schema.model_copy(update={'columns': columns})\n"
                "        fields = record_fields(chosen, secret.id).with_metadata(\n"
                "            record_fields(schema, secret.id).metadata\n"
                "        )\n"
                "        arrays = record_arrays(chosen, staged, report)\n",
            ),
        ),
        ("tests/unit/holder_service/test_records.py::test_the_declaration_alone_decides_how_columns_are_encoded",),
    ),
    Bug(
        "everybody with the value of a cut is looked up",
        (
            Edit(
                _ATOMS,
                "_ends_of_search.ended",
                "    ended: _Array = np.minimum(found, ends)\n",
                "    for begin, end in zip(begins[:, 0], ends[:, 0], strict=True):\n"
                "        divided = np.flatnonzero(np.isin(numbers[begin:end], np.nextafter(cuts, np.inf)))\n"
                "        np.searchsorted(cuts, numbers[begin + divided])\n"
                "    ended: _Array = np.minimum(found, ends)\n",
            ),
        ),
        (
            "tests/unit/holder_service/test_count_work.py::test_registers_that_differ_in_everything_make_the_same_work",
            "tests/unit/holder_service/test_count_work.py::test_one_more_person_makes_every_array_longer_by_one_at_most",
        ),
    ),
    Bug(
        "a search ends when it has found",
        (
            Edit(
                _ATOMS,
                "_ends_of_search",
                "        np.minimum(probes, ends - 1, out=probes)\n",
                "        if not (numbers.take(np.minimum(found, ends - 1)) <= cuts).any():\n"
                "            break\n"
                "        np.minimum(probes, ends - 1, out=probes)\n",
            ),
        ),
        ("tests/unit/holder_service/test_count_work.py::test_registers_that_differ_in_everything_make_the_same_work",),
    ),
    Bug(
        "one chunk is counted at once",
        (
            Edit(
                "holder_service/records/counting.py",
                "count_cells",
                "classes, sensitive, scored, each=_threads().map))\n",
                "classes, sensitive, scored, each=map if len(records.chunks) == 1 else _threads().map))\n",
            ),
        ),
        ("tests/unit/holder_service/test_count_work.py::test_one_chunk_is_handed_to_the_threads_as_two_are",),
    ),
    Bug(
        "linked values are looked up for those alone who are known",
        (
            Edit(
                _LINKED,
                "LinkedValues.of",
                "        return chosen.view(values.dtype)\n",
                "        known = np.flatnonzero(found)\n"
                "        values[:] = missing\n"
                "        values[known] = self.values[at[known]]\n"
                "        return values\n",
            ),
        ),
        ("tests/unit/holder_service/test_linked.py::test_the_work_is_the_same_for_all_half_and_none_known",),
    ),
    Bug(
        "a search among linked values ends when it has found",
        (
            Edit(
                _LINKED,
                "LinkedValues._last_not_above.half",
                "            half = rows // 2\n",
                "            if (self.people.take(found, mode='clip') == people).all():\n"
                "                break\n"
                "            half = rows // 2\n",
            ),
        ),
        ("tests/unit/holder_service/test_linked.py::test_whoever_is_found_early_searches_on",),
    ),
    Bug(
        "half scale",
        (
            Edit(
                _LAPLACE,
                "_calibrated",
                "return LaplaceMechanism(sensitivity, scale, measurement)",
                "return LaplaceMechanism(sensitivity, scale, make_laplace(*SPACE, scale=scale / 2))",
            ),
        ),
        (
            (
                "tests/statistical/test_privacy_audit.py::test_the_loss_seen_from_outside_is_at_most_the_charge"
                "[add_remove, 2-laplace]"
            ),
        ),
    ),
    Bug(
        "sensitivity 1 under replace",
        (
            Edit(
                "shared/contract/relations.py",
                "NeighbouringRelation.counts_that_change",
                'if self.name == "add_remove":',
                'if self.name in ("add_remove", "replace"):',
            ),
        ),
        ("tests/unit/shared/test_relations.py",),
    ),
    Bug(
        "infinite epsilon accepted",
        (
            Edit(
                "shared/privacy/amounts.py",
                "parse_nano.match",
                "    match = _DECIMAL.fullmatch(text) if isinstance(text, str) else None\n",
                '    if isinstance(text, str) and "e" in text:\n'
                "        return int(min(float(text), 999.0) * NANO_PER_UNIT)\n"
                "    match = _DECIMAL.fullmatch(text) if isinstance(text, str) else None\n",
            ),
            Edit(
                "shared/privacy/amounts.py",
                "_parameter.parse",
                "        if low <= nano <= high:\n",
                "        if low <= nano:\n",
            ),
        ),
        ("tests/unit/shared/test_amounts.py",),
    ),
    Bug(
        "noise of another loss",
        (
            Edit(
                "holder_service/services/releases/priced.py",
                "PricedBatch.__post_init__",
                "if self.mechanism.loss != self.batch.loss:",
                "if False:",
            ),
        ),
        ("tests/unit/holder_service/test_priced.py::test_no_batch_is_answered_at_another_loss",),
    ),
    Bug(
        "a loss in rho is rounded down",
        (Edit(_ZERO_CONCENTRATED, "_up", "return -(-dividend // divisor)", "return dividend // divisor"),),
        ("tests/unit/shared/test_zero_concentrated.py::test_a_rho_is_the_exact_fraction_rounded_up",),
    ),
    Bug(
        "classes of a batch share one rho",
        (
            Edit(
                "holder_service/services/releases/priced.py",
                "PricedBatch.charge",
                "return self.charge_of_class * len(self.classes)",
                "return Charge((self.charge_of_class * len(self.classes)).stated, self.charge_of_class.rho_nano)",
            ),
        ),
        ("tests/integration/test_zcdp_accounts.py::test_overlapping_cells_pay_their_rho_once_per_class",),
    ),
    Bug(
        "the exponential mechanism is charged half of its rho",
        (Edit(_ZERO_CONCENTRATED, "bounded_range_rho_nano", "8 * _NANO_PER_UNIT)", "16 * _NANO_PER_UNIT)"),),
        ("tests/unit/holder_service/test_rho_oracle.py::test_no_sum_in_rho_is_below_the_renyi_loss",),
    ),
    Bug(
        "a private choice is charged as of a bounded range",
        (
            Edit(
                "shared/privacy/charges.py",
                "step_rho_nano",
                "    return pure_rho_nano(epsilon_nano)\n",
                '    return pure_rho_nano(epsilon_nano) if measures == "sums" else pure_rho_nano(epsilon_nano) // 4\n',
            ),
        ),
        ("tests/unit/shared/test_zero_concentrated.py::test_the_classes_of_a_step_share_its_epsilon",),
    ),
    Bug(
        "a loss in rho is paid from a limit in epsilon",
        (
            Edit(
                "shared/privacy/amounts.py",
                "Loss.fits_in",
                "        if self.rho_nano is not None or limit.rho_nano is not None:\n",
                "        if self.rho_nano is not None and limit.rho_nano is not None:\n",
            ),
        ),
        ("tests/unit/shared/test_zero_concentrated.py::test_losses_of_two_kinds_never_meet",),
    ),
    Bug(
        "seeded noise",
        (
            Edit(
                _LAPLACE,
                "LaplaceMechanism.release",
                "        answers: list[int] = self._measurement(counts)\n        return answers\n",
                "        import random\n\n"
                "        source = random.Random(0)\n"
                "        noise = (source.expovariate(1 / self.scale) * source.choice((-1, 1)) for _ in counts)\n"
                "        return [count + round(one) for count, one in zip(counts, noise, strict=True)]\n",
            ),
        ),
        ("tests/unit/holder_service/test_laplace.py",),
    ),
    Bug(
        "answer before commit",
        (
            Edit(
                "holder_service/services/ledger/store.py",
                "LedgerStore._transact.transact",
                "            done.append(transaction)\n",
                "            import time\n\n"
                "            done.append(transaction)\n"
                "            if isinstance(result, list):\n"
                "                for answer in result:\n"
                "                    answer()\n"
                "                result.clear()\n"
                "                time.sleep(0.02)\n",
            ),
        ),
        ("tests/integration/test_kills.py::test_killed_at_some_steps_nothing_was_released_uncharged",),
    ),
    Bug(
        "a refusal after a write touches the others",
        (
            Edit(
                "holder_service/services/ledger/store.py",
                "_Shared.attempt",
                "if transaction.last is not before:",
                "if False:",
            ),
        ),
        ("tests/integration/test_shared_commits.py::test_a_fault_of_one_is_its_own",),
    ),
    Bug(
        "a shared answer leaves before the anchor",
        (
            Edit(
                "holder_service/services/ledger/store.py",
                "LedgerStore._transact.result",
                "        result = run(transact)\n",
                "        result = run(transact)\n"
                "        if isinstance(result, list):\n"
                "            for answer in result:\n"
                "                answer()\n"
                "            result.clear()\n",
            ),
        ),
        ("tests/integration/test_shared_commits.py",),
    ),
    Bug(
        "limit check outside the lock",
        (
            Edit(
                _RELEASES,
                "_as_priced",
                "require_funds(transaction.connection, state, asked.charge, priced.block_losses,",
                "require_funds(transaction.connection, state, asked.charge * 0, (),",
            ),
        ),  # that of `prepare` stays
        ("tests/integration/test_races.py::test_of_many_racing_plans_exactly_those_that_fit_are_released",),
    ),
    Bug(
        "one dataset's secret is another's feature",
        (
            Edit(
                "holder_service/domain/sensitive_columns.py",
                "_require_alike",
                "    if not column.sensitive:\n",
                "    if not column.sensitive and dataset == owner:\n",
            ),
            Edit(
                "holder_service/domain/sensitive_columns.py",
                "_require_alike",
                "    if _perturbation(column) != _perturbation(sensitive):\n",
                "    if column.sensitive and _perturbation(column) != _perturbation(sensitive):\n",
            ),
        ),
        (
            "tests/integration/test_sensitive_columns.py::test_no_triple_of_declarations_lets_a_change_move_more_than_the_relation_says",
        ),
    ),
    Bug(
        "a band's first number is counted in the band below",
        (
            Edit(
                "holder_service/domain/admitted.py",
                "band_partition.predicates",
                'Predicate(column=column.name, op="ge", value=start) for start in starts',
                'Predicate(column=column.name, op="gt", value=start) for start in starts',
            ),
        ),
        ("tests/integration/test_age_bands.py::test_an_audit_by_bands_gives_their_rates_in_order",),
    ),
    Bug(
        "rules that name a sensitive column move nobody",
        (
            Edit(
                "shared/contract/relations.py",
                "NeighbouringRelation.counts_first_group_alone",
                'return self.name == "sensitive_attribute" and groups == 2 and not moved',
                'return self.name == "sensitive_attribute" and groups == 2',
            ),
        ),
        ("tests/unit/holder_service/test_privacy_audit.py",),
    ),
    Bug(
        "what follows from a sensitive column is no secret",
        (
            Edit(
                "shared/scores/columns.py",
                "extended",
                "following=(*schema.following, *following)",
                "following=schema.following",
            ),
        ),
        ("tests/unit/holder_service/test_sensitive_rules.py",),
    ),
    Bug(
        "reports are counted by secrets",
        (
            Edit(
                "shared/kinds/plans.py",
                "Plan._check_responses",
                "                if batch.names_sensitive(schema):\n",
                "                if False and batch.names_sensitive(schema):\n",
            ),
        ),
        ("tests/unit/holder_service/test_sensitive_rules.py",),
    ),
    Bug(
        "retired datasets have no secrets",
        (
            Edit(
                "holder_service/services/accounts/populations.py",
                "schemas_of",
                "for dataset in datasets.every(connection, population=population)}\n",
                "for dataset in datasets.every(connection, population=population) if not dataset.retired}\n",
            ),
        ),
        ("tests/integration/test_sensitive_columns.py::test_a_retired_dataset_keeps_its_sensitive_columns",),
    ),
    Bug(
        "prover ignores missing values",
        (
            Edit(
                "holder_service/domain/admitted.py",
                "_Line.admitted.missing",
                "missing = (self.high, self.top) if or_missing else ()",
                "missing = ()",
            ),
        ),
        ("tests/unit/holder_service/test_disjointness.py",),
    ),
    Bug(
        "rules part by comparisons of two columns",
        (
            Edit(
                "holder_service/domain/disjointness.py",
                "_exclude_each_other",
                "for one in comparisons}) > 1:",
                "for one in comparisons}) > 2:",
            ),
        ),
        ("tests/unit/holder_service/test_disjointness.py",),
    ),
    Bug(
        "rules part by comparisons that meet",
        (
            Edit(
                "holder_service/domain/disjointness.py",
                "_exclude_each_other",
                "all(end <= start for",
                "all(end <= start + 1 for",
            ),
        ),
        ("tests/unit/holder_service/test_disjointness.py",),
    ),
    Bug(
        "predicates are alike if they are equal",
        (
            Edit(
                "shared/contract/repeated_predicates.py",
                "read_alike_once.written",
                "map(marshal.dumps, one, itertools.repeat(2))",
                "(repr(each).replace('True', '1').encode() for each in one)",
            ),
        ),
        ("tests/unit/shared/test_repeated_predicates.py",),
    ),
    Bug(
        "one class for overlapping rules",
        (
            Edit(
                "holder_service/domain/pricing.py",
                "_price.classes",
                "    classes = disjoint_classes(batch.cells, schema)\n",
                "    classes = (tuple(range(len(batch.cells))),)\n",
            ),
        ),
        ("tests/unit/holder_service/test_pricing.py",),
    ),
    Bug(
        "entries without a nonce",
        (Edit("holder_service/storage/ledger.py", "append.entry", "nonce=nonces.draw_nonce()", 'nonce=""'),),
        ("tests/attacks/test_guessed_hashes.py::test_no_hash_and_no_report_confirms_a_guess",),
    ),
    Bug(
        "the report names the plan",
        (
            Edit(
                "holder_service/web/console/transparency.py",
                "_release",
                '        "auditor": event.actor,\n',
                '        "auditor": event.actor,\n        "id": event.subject,\n',
            ),
        ),
        ("tests/attacks/test_guessed_hashes.py::test_no_hash_and_no_report_confirms_a_guess",),
    ),
    Bug(
        "replay draws again",
        (
            Edit(
                _RELEASES,
                "prepare.identity",
                "        identity = identity_of_document(document, auditor=auditor,",
                "        import secrets\n\n"
                "        asker = auditor + secrets.token_hex(8)\n"
                "        identity = identity_of_document(document, auditor=asker,",
            ),
        ),
        ("tests/integration/test_releases.py::test_the_same_plan_again_is_the_same_bytes_and_costs_nothing",),
    ),
    Bug(
        "cap ignored",
        (Edit(_CHARGING, "require_funds", "        if not state.cap.affords(loss, now):\n", "        if False:\n"),),
        ("tests/integration/test_releases.py::test_the_cap_holds_over_all_auditors",),
    ),
    Bug(
        "one step between values under add_remove",
        (
            Edit(
                "shared/contract/meaning.py",
                "_STEPS_BETWEEN_VALUES",
                '_STEPS_BETWEEN_VALUES: Final[Mapping[Relation, int]] = {"add_remove": 2,',
                '_STEPS_BETWEEN_VALUES: Final[Mapping[Relation, int]] = {"add_remove": 1,',
            ),
        ),
        ("tests/unit/shared/test_meaning.py::test_no_answer_changes_the_odds_by_more_than_is_said",),
    ),
    Bug(
        "a count in a debug log",
        (
            Edit(
                "holder_service/services/releases/priced.py",
                "PricedPlan._noisy_batches.counted",
                "            counted = true_counts.reveal_to_mechanism()[:, :groups].ravel().tolist()\n",
                "            import logging\n\n"
                "            seen = true_counts.reveal_to_mechanism().tolist()\n"
                '            logging.getLogger(__name__).debug(f"counted {seen}")\n'
                "            counted = true_counts.reveal_to_mechanism()[:, :groups].ravel().tolist()\n",
            ),
        ),
        ("tests/attacks/test_logged_counts.py",),
    ),
    Bug(
        "hash chain without the amount",
        (
            Edit(
                "holder_service/domain/ledger.py",
                "_document",
                "{name: nano for name, nano in loss_columns(value).items() if nano is not None}",
                "{}",
            ),
        ),
        ("tests/unit/holder_service/test_entry_hash.py",),
    ),
    Bug(
        "records readable by others",
        (
            Edit("holder_service/files/durable.py", "immutable_file", "mode=0o400", "mode=0o444"),
            Edit(
                "holder_service/files/private.py",
                "keep_new_files_private",
                "    os.umask(_OTHERS)\n",
                "    os.umask(0o022)\n",
            ),
        ),
        ("tests/integration/test_private_files.py::test_nothing_that_a_holder_writes_is_readable_by_others",),
    ),
    Bug(
        "exact overlaps over the API",
        (
            Edit(
                "holder_service/services/datasets/overlaps.py",
                "look_at_overlap",
                "_band(mechanism.release([exact.people])[0])",
                "_band(exact.people)",
            ),
        ),
        ("tests/integration/test_overlaps.py::test_neither_is_the_edge_of_a_band",),
    ),
    Bug(
        "a restore moves the anchor back",
        (
            Edit(
                "holder_service/storage/anchor.py",
                "Anchor.restore",
                "            if anchored.sequence > head.sequence and has(anchored):\n",
                "            if False:\n",
            ),
        ),
        ("tests/integration/test_restores.py::test_a_restore_never_takes_the_anchor_behind_an_answer_that_left",),
    ),
    Bug(
        "a cap stays open after a restore",
        (Edit("holder_service/services/ledger/reading.py", "record_restore.work.cap", ".name).closed()", ".name)"),),
        ("tests/integration/test_restores.py::test_a_restore_closes_every_cap_until_it_is_declared_again",),
    ),
    Bug(
        "a restore frees the relation",
        (
            Edit(
                "holder_service/storage/ledger.py",
                "was_charged",
                "for query in (answered, restored))",
                "for query in (answered,))",
            ),
        ),
        ("tests/integration/test_restores.py::test_after_a_restore_nobody_can_say_that_nothing_was_charged",),
    ),
    Bug(
        "plans are drawn at once",
        (Edit("holder_service/web/edge/public_times.py", "DrawQueue.__init__", 'Lane("draw")', 'Lane("draw", 4)'),),
        ("tests/attacks/test_public_times.py::test_plans_are_drawn_one_after_the_other",),
    ),
    Bug(
        "a deadline that forgets the plans before",
        (
            Edit(
                "holder_service/domain/turns.py",
                "DrawTurns.begin",
                "done_s = max(self._free_s, turn.begun_s) + turn.work_s",
                "done_s = turn.begun_s + turn.work_s",
            ),
        ),
        ("tests/unit/holder_service/test_turns.py",),
    ),
    Bug(
        "score documents are read first come, first served",
        (Edit("holder_service/services/work/apart.py", "TurnLock.taken", "add(name, begins)", 'add("", begins)'),),
        ("tests/unit/holder_service/test_turn_lock.py",),
    ),
    Bug(
        "a list of a score document is read before its length is looked at",
        (Edit("shared/scores/documents.py", "_bounded", "len(value) > length_max", "len(value) < 0"),),
        ("tests/unit/holder_service/test_score_documents.py",),
    ),
    Bug(
        "plans are drawn first come, first served",
        (
            Edit(
                "holder_service/domain/turns.py",
                "RoundRobin.take",
                "auditor = min(self._waiting, key=lambda name: self._served.get(name, 0))",
                "auditor = next(iter(self._waiting))",
            ),
        ),
        ("tests/unit/holder_service/test_turns.py",),
    ),
    Bug(
        "rehearsals wait in the line of real requests",
        (
            Edit(
                "holder_service/web/edge/release_rooms.py",
                "ReleaseRooms.room",
                "return self._rehearsed if self._known[dataset] else self._real",
                "return self._real",
            ),
        ),
        ("tests/integration/test_fair_turns.py::test_a_plan_is_answered_while_a_rehearsal_is_counted",),
    ),
    Bug(
        "a rehearsal takes the time of the people who are rehearsed",
        (
            Edit(
                "holder_service/storage/datasets.py",
                "Dataset.people_max",
                "self.records_max if self.rehearsal is None else self.rehearsal.people",
                "self.records_max",
            ),
        ),
        ("tests/integration/test_fair_turns.py::test_the_work_on_a_rehearsal_is_that_of_its_own_people",),
    ),
    Bug(
        "watches are answered first come, first served",
        (
            Edit(
                "holder_service/services/releases/watching.py",
                "_begin",
                "for watch in in_turns([*waiting, *again], served=None if current is None else current.auditor):",
                "for watch in [*waiting, *again]:",
            ),
        ),
        ("tests/integration/test_fair_turns.py::test_auditors_take_turns_with_their_watches",),
    ),
    Bug(
        "watches about rehearsals come before real ones",
        (
            Edit(
                "holder_service/services/releases/watching.py",
                "_begin",
                "pending = watches.pending(transaction.connection, rehearsed=rehearsed)",
                "pending = [watch for kind in (False, True) for watch in "
                "watches.pending(transaction.connection, rehearsed=kind)]",
            ),
        ),
        ("tests/integration/test_fair_turns.py::test_watches_about_rehearsals_are_not_before_those_about_real_people",),
    ),
    Bug(
        "one auditor's requests fill the queue",
        (
            Edit(
                "holder_service/web/edge/public_times.py",
                "DrawQueue._require_room",
                "waiting_s + turn.work_s > limits.RELEASE_QUEUE_S_MAX",
                "waiting_s < 0",
            ),
        ),
        ("tests/unit/holder_service/test_public_times.py",),
    ),
    Bug(
        "a test of a tree admits one code too many",
        (
            Edit(
                _SCORE_TREES,
                "_Tests.of",
                "first[at], width[at] = begin, end - begin",
                "first[at], width[at] = begin, end - begin + 1",
            ),
        ),
        ("tests/unit/holder_service/test_scoring.py::test_scores_are_the_references_bit_for_bit",),
    ),
    Bug(
        "a missing number is looked up as the largest",
        (
            Edit(
                _SCORING,
                "_partition.cuts",
                "cuts = [min(cut, highest) for cut in cuts] + [highest] * column.nullable",
                "cuts = [min(cut, highest) for cut in cuts]",
            ),
        ),
        ("tests/unit/holder_service/test_scoring.py::test_scores_are_the_references_bit_for_bit",),
    ),
    Bug(
        "a plan may name another auditor's column",
        (
            Edit(
                _COLUMNS,
                "resolved.column",
                "column = columns.find(connection, identity, dataset=dataset.name, auditor=auditor)",
                "column = columns.find(connection, identity, dataset=dataset.name)",
            ),
        ),
        ("tests/integration/test_columns.py::test_another_auditor_cannot_learn_that_a_column_exists",),
    ),
    Bug(
        "a column's id is a digest that anybody can compute",
        (
            Edit(
                "holder_service/services/columns/asked_columns.py",
                "keyed_digest.hashed",
                "key=secret.key, digest_size=32",
                "digest_size=32",
            ),
        ),
        ("tests/integration/test_columns.py::test_an_id_is_no_digest_that_somebody_else_could_compute",),
    ),
    Bug(
        "a plan is answered before its column is ready",
        (Edit(_COLUMNS, "require_usable", "        require_ready(column, dataset, files, now=now)\n", ""),),
        ("tests/integration/test_columns.py::test_a_plan_before_its_column_is_ready_costs_nothing",),
    ),
    Bug(
        "rules over bands are joined across a gap",
        (Edit("auditor_client/models/bands.py", "_joined", " and ends[0].value == starts[0].value", ""),),
        ("tests/unit/auditor_client/test_joined_rules.py",),
    ),
    Bug(
        "a watch's noise on numbers is for one person and not for two (algorithm 4 of Lyu, Su, Li)",
        (
            Edit(
                _SPARSE_VECTOR,
                "SparseVectorMechanism.calibrated",
                "epsilon_nano=of_number_nano, sensitivity=2 * sensitivity)",
                "epsilon_nano=of_number_nano, sensitivity=sensitivity)",
            ),
        ),
        (f"{_WATCH_TESTS}::test_a_sequence_of_answers_loses_no_more_than_was_charged",),
    ),
    Bug(
        "a watch compares numbers without noise (algorithm 5 of Lyu, Su, Li)",
        (
            Edit(
                _SPARSE_VECTOR,
                "SparseVectorMechanism.answered",
                "self.of_number.release([number])",
                "[number]",
            ),
        ),
        (f"{_WATCH_TESTS}::test_a_sequence_of_answers_loses_no_more_than_was_charged",),
    ),
    Bug(
        "a watch goes on after the first change (algorithm 6 of Lyu, Su, Li)",
        (
            Edit(
                _SPARSE_VECTOR,
                "SparseVectorMechanism.answered",
                "if state.is_changed:",
                "if state.noisy_threshold is None:",
            ),
        ),
        (f"{_WATCH_TESTS}::test_a_sequence_of_answers_loses_no_more_than_was_charged",),
    ),
    Bug(
        "a watch's threshold has no noise",
        (
            Edit(
                _SPARSE_VECTOR,
                "SparseVectorMechanism.begun",
                "self.of_threshold.release([threshold + self.shift])",
                "[threshold + self.shift]",
            ),
        ),
        (f"{_WATCH_TESTS}::test_a_sequence_of_answers_loses_no_more_than_was_charged",),
    ),
    Bug(
        "a watch's noise is on the other side",
        (
            Edit(
                "holder_service/mechanisms/one_sided.py",
                "OneSidedGeometricMechanism.release",
                "noise <= 0",
                "noise >= 0",
            ),
        ),
        (
            f"{_WATCH_TESTS}::test_a_sequence_of_answers_loses_no_more_than_was_charged",
            "tests/statistical/test_sampler_fit.py::test_one_sided_draws_fit_the_stated_mass",
        ),
    ),
    Bug(
        "a watch's threshold alone has noise on the other side",
        (
            Edit(
                _SPARSE_VECTOR,
                "SparseVectorMechanism.begun",
                "self.of_threshold.release([threshold + self.shift])",
                "[-one for one in self.of_threshold.release([-threshold - self.shift])]",
            ),
        ),
        (f"{_WATCH_TESTS}::test_a_sequence_of_answers_loses_no_more_than_was_charged",),
    ),
    Bug(
        "a watch's numbers alone have noise on the other side",
        (
            Edit(
                _SPARSE_VECTOR,
                "SparseVectorMechanism.answered",
                "self.of_number.release([number])",
                "[-one for one in self.of_number.release([-number])]",
            ),
        ),
        (f"{_WATCH_TESTS}::test_a_sequence_of_answers_loses_no_more_than_was_charged",),
    ),
    Bug(
        "each noise of a watch has all of ε",
        (
            Edit(
                _SPARSE_VECTOR,
                "SparseVectorMechanism.calibrated",
                "of_number_nano = epsilon_nano - of_threshold_nano",
                "of_number_nano = of_threshold_nano = epsilon_nano",
            ),
        ),
        (
            f"{_WATCH_TESTS}::test_a_sequence_of_answers_loses_no_more_than_was_charged",
            f"{_SPARSE_VECTOR_TESTS}::test_one_person_changes_no_stream_of_answers_by_more_than_the_charge",
        ),
    ),
    Bug(
        "a watch's threshold gets fresh noise for each number",
        (
            Edit(
                _SPARSE_VECTOR,
                "SparseVectorMechanism.answered",
                "is_changed=noisy <= state.noisy_threshold",
                "is_changed=noisy <= self.begun(0).noisy_threshold",
            ),
        ),
        (f"{_SPARSE_VECTOR_TESTS}::test_a_number_is_compared_with_the_threshold_that_was_drawn",),
    ),
    Bug(
        "the distance jumps by two where the verdict changes",
        (
            Edit(
                _DISTANCE,
                "_signed",
                "return 1 - _least(",
                "return -_least(",
            ),
        ),
        (f"{_DISTANCE_TESTS}::test_of_two_groups_it_is_what_a_search_finds_and_moves_by_one",),
    ),
    Bug(
        "a distance knows one way alone to a higher rate",
        (
            Edit(
                _DISTANCE,
                "_lifting",
                "return _raising(group)[:2]",
                "return _raising(group)[:1]",
            ),
        ),
        (f"{_DISTANCE_TESTS}::test_of_two_groups_it_is_what_a_search_finds_and_moves_by_one",),
    ),
    Bug(
        "the number behind an answer leaves (algorithm 3 of Lyu, Su, Li)",
        (
            Edit(
                "shared/kinds/watches.py",
                "WatchStatement.changed",
                "    changed: StrictBool\n",
                "    number: int\n    changed: StrictBool\n",
            ),
            Edit(
                _WATCHING,
                "draw.said",
                "WatchStatement(watch=watch.id, changed",
                "WatchStatement(watch=watch.id, number=distance, changed",
            ),
        ),
        (f"{_WATCHED_TESTS}::test_what_leaves_of_an_answer_is_one_word",),
    ),
    Bug(
        "a watch draws its threshold again for each version",
        (
            Edit(
                _WATCHING,
                "draw.answered",
                "SparseVectorState(state.noisy_threshold)",
                "priced.mechanism.begun(asked.margin)",
            ),
        ),
        (f"{_WATCHED_TESTS}::test_an_answer_rests_on_the_threshold_that_is_kept",),
    ),
    Bug(
        "each look takes the whole error",
        (Edit(_LOOKS, "Looks.each", "return 1 - (1 - self.level) / len(self.amounts)", "return self.level"),),
        (f"{_LOOKS_TESTS}::test_the_errors_of_all_looks_add_up_to_that_of_the_level",),
    ),
    Bug(
        "the last look passes the limit",
        (Edit(_LOOKS, "Looks.of.texts", "(*amounts, limit)", "(*amounts, look)"),),
        (f"{_LOOKS_TESTS}::test_looks_double_and_never_pass_the_most",),
    ),
    Bug(
        "looks are planned after the first answer",
        (
            Edit(
                "auditor_client/audits/deciding.py",
                "Deciding._settle",
                "if settled is None or (settled.kind, settled.amounts) != (looks.kind, looks.amounts):",
                "if looks.level < 0:",
            ),
        ),
        ("tests/integration/test_until_decided.py::test_looks_that_are_chosen_after_an_answer_are_refused",),
    ),
    Bug(
        "a watch answers when it is drawn",
        (
            Edit(
                "holder_service/services/releases/watch_rounds.py",
                "WatchRounds._answer",
                "max((public - self._store.clock()).total_seconds(), 0)",
                "0",
            ),
        ),
        (f"{_WATCHED_TESTS}::test_an_answer_comes_at_its_public_time_and_not_before",),
    ),
    Bug(
        "a watch goes on after a restore",
        (
            Edit(
                "holder_service/services/releases/watching.py",
                "_reason",
                "if not watches.is_open(connection, watch):",
                "if False:",
            ),
        ),
        (f"{_WATCHED_TESTS}::test_after_a_recorded_restore_a_watch_has_no_further_answers",),
    ),
    Bug(
        "a notice begins beyond its threshold",
        (
            Edit(
                "shared/contract/notices.py",
                "Thresholds.reached",
                "if percent >= self.percent else None",
                "if percent > self.percent else None",
            ),
        ),
        ("tests/unit/holder_service/test_notices.py",),
    ),
    Bug(
        "a start logs every notice again",
        (Edit(_NOTICES, "NoticeLog.look.before", "before = self._logged()", "before: dict[str, str] = {}"),),
        (f"{_NOTICES_TESTS}::test_a_line_is_logged_at_the_charge_and_by_no_start_again",),
    ),
    Bug(
        "there are notices of people whose datasets are retired",
        (
            Edit(
                _NOTICES,
                "_open_accounts.audited",
                "if not one.retired and one.rehearsal is None",
                "if one.rehearsal is None",
            ),
        ),
        (f"{_NOTICES_TESTS}::test_no_notices_of_rehearsals_and_of_people_whose_datasets_are_retired",),
    ),
)
