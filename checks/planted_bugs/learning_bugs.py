"""Bugs of trainings: of learners, of the steps that count for them, and of what auditors check."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_PFLR: Final = "holder_service/learning/pflr.py"
_FAIR_GAIN: Final = "holder_service/learning/private_fair_tree.py"
_MEASURING: Final = "holder_service/learning/measuring.py"
_FAIR_TREE_TESTS: Final = "tests/unit/holder_service/test_fair_tree.py"
_FAIR_LINEAR: Final = "holder_service/learning/fair_linear.py"
_FAIR_LINEAR_TESTS: Final = "tests/unit/holder_service/test_fair_linear.py"
_VERIFIED_TRAINING: Final = "auditor_client/exchange/training_verification.py"
_VERIFIED_TRAINING_TESTS: Final = "tests/unit/auditor_client/test_training_verification.py"
_PFLR_TESTS: Final = "tests/unit/holder_service/test_pflr.py"
_FAIR_GAIN_TESTS: Final = "tests/unit/holder_service/test_private_fair_tree.py"
_SUMS_TESTS: Final = "tests/unit/holder_service/test_weighted_sums.py"
_SPLITS: Final = "holder_service/learning/split_scores.py"
_LEARNERS_TESTS: Final = "tests/unit/holder_service/test_learners.py"
_MEASURING_TESTS: Final = "tests/unit/holder_service/test_measuring.py"

LEARNING_BUGS: Final = (
    Bug(
        "one person moves the score of a learner's split by two",
        (
            Edit(
                _SPLITS,
                "NodeSplits.scores",
                "left.max(axis=1) + right.max(axis=1)",
                "2 * left.max(axis=1) + right.max(axis=1)",
            ),
        ),
        (f"{_FAIR_TREE_TESTS}::test_one_person_moves_one_node_by_a_step_at_most[0]",),
    ),
    Bug(
        "a step of a training counted without noise",
        (
            Edit(
                _MEASURING,
                "Measuring.counts",
                "np.array(mechanism.release(true_counts.ravel().tolist()), dtype=np.int64)",
                "np.array(true_counts.ravel().tolist(), dtype=np.int64)",
            ),
        ),
        ("tests/unit/holder_service/test_measuring.py::test_counts_get_noise_of_their_scale",),
    ),
    Bug(
        "a split chosen without noise",
        (
            Edit(
                _MEASURING,
                "Measuring.choices",
                "        return mechanism.choose(splits.scores(true_counts[:, 0]))\n",
                "        return [int(np.argmax(scores)) for scores in splits.scores(true_counts[:, 0])]\n",
            ),
        ),
        ("tests/unit/holder_service/test_measuring.py::test_a_choice_is_noisy",),
    ),
    Bug(
        "a step of a training taken twice for the price of one",
        (Edit(_MEASURING, "Measuring._take", "if len(steps) != 1 or name in self._taken:", "if len(steps) != 1:"),),
        ("tests/unit/holder_service/test_measuring.py::test_a_step_is_taken_once",),
    ),
    Bug(
        "half the noise of a training",
        (
            Edit(
                _MEASURING,
                "LearningStep.noise",
                "        return LaplaceMechanism.calibrated(\n            epsilon_nano=epsilon,",
                "        return LaplaceMechanism.calibrated(\n            epsilon_nano=2 * epsilon,",
            ),
        ),
        ("tests/unit/holder_service/test_measuring.py::test_the_noise_of_a_step_costs_what_the_step_says",),
    ),
    Bug(
        "steps of a training that cost more than it is charged",
        (
            Edit(
                "holder_service/services/releases/priced_training.py",
                "PricedTraining.__post_init__",
                "if said != self.asked.charge:",
                "if False:",
            ),
        ),
        ("tests/unit/holder_service/test_priced_training.py::test_steps_that_do_not_come_to_the_charge_are_refused",),
    ),
    Bug(
        "a learner's sums change by those of one class alone",
        (
            Edit(
                _MEASURING,
                "largest_change",
                "return sum(int(of_cell[list(chosen)].max(initial=0)) for chosen in classes)",
                "return max(int(of_cell[list(chosen)].max(initial=0)) for chosen in classes)",
            ),
        ),
        (f"{_SUMS_TESTS}::test_the_largest_change_is_that_of_a_person_who_comes",),
    ),
    Bug(
        "a learner's sums may change by more than they say",
        (
            Edit(
                _MEASURING,
                "Measuring.sums",
                "classes, groups) > step.sensitivity:",
                "classes, groups) > 2 * step.sensitivity:",
            ),
        ),
        (f"{_PFLR_TESTS}::test_a_step_that_announces_too_little_ends_the_training",),
    ),
    Bug(
        "a covariance is around one half",
        (
            Edit(
                _PFLR,
                "_around_mean.covariance",
                "covariance = around_half - off_half * totals",
                "covariance = around_half - 0 * totals",
            ),
        ),
        (f"{_PFLR_TESTS}::test_without_noise_the_coefficients_are_those_of_the_people",),
    ),
    Bug(
        "a label counts against itself",
        (Edit(_PFLR, "_objective", "both_labels(label), (-1, 1), strict", "both_labels(label), (1, -1), strict"),),
        (f"{_PFLR_TESTS}::test_without_noise_the_coefficients_are_those_of_the_people",),
    ),
    Bug(
        "a penalty has no end",
        (
            Edit(
                "holder_service/learning/quadratic.py",
                "penalised_minimiser.pull",
                "pull = min(max(meets, -penalty), penalty)",
                "pull = meets",
            ),
        ),
        (f"{_PFLR_TESTS}::test_without_noise_the_model_minimises_the_objective",),
    ),
    Bug(
        "people who are nearly the same count apart",
        (Edit(_FAIR_GAIN, "fair_gain", "_entropy((near @ side > 0) @ counts)", "_entropy(side @ counts)"),),
        (f"{_FAIR_GAIN_TESTS}::test_without_noise_the_gain_is_that_of_the_people",),
    ),
    Bug(
        "a split leaves nobody on one side",
        (
            Edit(
                "holder_service/learning/nodes.py",
                "GrowingNode.candidates.parts",
                "{frozenset[int](), bins}",
                "{frozenset[int]()}",
            ),
        ),
        (f"{_FAIR_GAIN_TESTS}::test_features_that_are_used_up_leave_leaves_early",),
    ),
    Bug(
        "the tables of all features are charged as one",
        (
            Edit(
                _FAIR_LINEAR,
                "steps",
                'LearningStep(TABLES, "counts", tables_nano, len(features), of_tables)',
                'LearningStep(TABLES, "counts", tables_nano, 1, of_tables)',
            ),
        ),
        (f"{_FAIR_LINEAR_TESTS}::test_the_noise_and_what_it_costs_follow_from_the_relation",),
    ),
    Bug(
        "a score for the label has the points of the group",
        (Edit(_FAIR_LINEAR, "learn.points", "table.sum(axis=3 - axis)", "table.sum(axis=axis)"),),
        (f"{_FAIR_LINEAR_TESTS}::test_without_noise_points_are_the_log_odds_of_the_records",),
    ),
    Bug(
        "bands of a score begin a point too early",
        (Edit(_FAIR_LINEAR, "band_ends.ends", "quantiles) + lowest", "quantiles) + lowest - 1"),),
        (f"{_FAIR_LINEAR_TESTS}::test_bands_end_where_the_independent_total_says",),
    ),
    Bug(
        "a trained score is believed whatever it reads",
        (
            Edit(
                _VERIFIED_TRAINING,
                "_scored",
                "for term in terms] == [(axis,) for axis in axes]",
                "for term in terms] != [(axis,) for axis in axes[:-1]]",
            ),
        ),
        (f"{_VERIFIED_TRAINING_TESTS}::test_a_lie_about_scores_is_found_out",),
    ),
    Bug(
        "a mean of groups is taken from the records",
        (
            Edit(
                _PFLR,
                "learn.covariance",
                "    covariance = _around_mean(around_half, 8 * quadratic[0])\n",
                "    one = [Cell(id='one', any_of=(Rule(all_of=()),))]\n"
                "    true = measuring.engine.count(measuring.version, one, [[0]], training.sensitive)\n"
                "    true_0, true_1 = true.reveal_to_mechanism()[0].tolist()\n"
                "    around_half[0] = (true_1 - true_0) / 2\n"
                "    covariance = _around_mean(around_half, 8 * quadratic[0])\n",
            ),
        ),
        (f"{_LEARNERS_TESTS}::test_a_model_follows_from_what_was_measured_alone",),
    ),
    Bug(
        "a bin may go left twice",
        (Edit(_SPLITS, "ScoredSplits.of", "np.isin(table.left, (0, 1))", "np.isin(table.left, (0, 1, 2))"),),
        (f"{_MEASURING_TESTS}::test_choices_by_scores_that_one_person_moves_by_more_are_refused_unseen",),
    ),
    Bug(
        "bins of a split may have people in common",
        (
            Edit(
                _SPLITS,
                "ScoredSplits.of",
                "            if len(disjoint_classes([cells[index] for index in indices], schema)) > 1:",
                "            if len(disjoint_classes([cells[index] for index in indices], schema)) > len(cells):",
            ),
        ),
        (f"{_MEASURING_TESTS}::test_choices_by_scores_that_one_person_moves_by_more_are_refused_unseen",),
    ),
    Bug(
        "nodes of a choice may have people in common",
        (
            Edit(
                _SPLITS,
                "ScoredSplits.of",
                "enumerate(nodes)], schema)) > 1:",
                "enumerate(nodes)], schema)) > len(nodes):",
            ),
        ),
        (f"{_MEASURING_TESTS}::test_choices_by_scores_that_one_person_moves_by_more_are_refused_unseen",),
    ),
)
