"""Bugs in reading models and tables that come from somebody else."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_TENSORS: Final = "auditor_client/models/readers/onnx/tensors.py"
_GIVEN_FILE_TESTS: Final = "tests/unit/auditor_client/test_only_the_given_file.py"
_RAW_INPUTS_TESTS: Final = "tests/unit/auditor_client/test_raw_inputs.py"
_SAVED_TESTS: Final = "tests/unit/auditor_client/formats/test_saved_boosters.py"
_BOOSTERS: Final = "auditor_client/models/readers/boosters/"
_FORMATS_TESTS: Final = "tests/unit/auditor_client/formats/"
_XGBOOST_TESTS: Final = "tests/unit/auditor_client/formats/test_xgboost.py"
_VOCABULARY: Final = "auditor_client/models/readers/pmml/vocabulary.py"
_DICTIONARY: Final = "auditor_client/models/readers/pmml/dictionary.py"
_PMML: Final = "auditor_client/models/readers/pmml/"
_MODELS: Final = f"{_PMML}models.py"
_CHAINS_TESTS: Final = "tests/unit/auditor_client/formats/test_pmml_chains.py"
_DICTIONARY_TESTS: Final = "tests/unit/auditor_client/formats/test_pmml_dictionary.py"
_VERSIONS_TESTS: Final = "tests/unit/auditor_client/formats/test_files_of_other_versions.py"

READER_BUGS: Final = (
    Bug(
        "an ONNX constant may be in another file",
        (
            Edit(
                _TENSORS,
                "_require_inside",
                "if tensor.data_location != 0 or tensor.external_data:",
                "if tensor.data_location != 0 and not tensor.external_data:",
            ),
        ),
        (f"{_GIVEN_FILE_TESTS}::test_onnx_reads_no_tensor_out_of_another_file",),
    ),
    Bug(
        "only an ONNX model's first parts are looked at",
        (Edit(_TENSORS, "require_own_data", "                waiting += ", "                _ = "),),
        (f"{_GIVEN_FILE_TESTS}::test_onnx_reads_no_tensor_out_of_another_file",),
    ),
    Bug(
        "a folder is read as a table",
        (
            Edit(
                "auditor_client/asking/data_files.py",
                "_parquet",
                'with path.open("rb") as content:',
                "for content in [path]:",
            ),
        ),
        (f"{_GIVEN_FILE_TESTS}::test_a_folder_is_not_a_table",),
    ),
    Bug(
        "a model of scaled numbers is read",
        (
            Edit(
                "auditor_client/models/raw_inputs.py",
                "require_raw",
                "if len(outside) == len(splits) or (narrow",
                "if len(outside) > len(splits) or (narrow and len(outside) < 0",
            ),
        ),
        (f"{_RAW_INPUTS_TESTS}::test_a_model_of_scaled_numbers_is_refused",),
    ),
    Bug(
        "nothing says that the auditor named the inputs of a file",
        (
            Edit(
                "auditor_client/models/readers/inputs.py",
                "ModelInputs.noted",
                "replace(provenance, inputs=inputs, fractional=fractional)",
                "replace(provenance, fractional=fractional)",
            ),
        ),
        (f"{_RAW_INPUTS_TESTS}::test_a_model_of_the_values_themselves_is_read_and_its_names_are_noted",),
    ),
    Bug(
        "nobody is warned of a model that accepts everybody",
        (Edit("auditor_client/report/model_warnings.py", "_alike", "return nobody or everybody", "return nobody"),),
        ("tests/unit/auditor_client/test_report.py::test_a_model_that_decides_alike_for_a_whole_group_is_warned_of",),
    ),
    Bug(
        "a booster in a skops file keeps the trees behind its best iteration",
        (
            Edit(
                "auditor_client/models/readers/boosters/saved_boosters.py",
                "_lightgbm",
                "if isinstance(best, int) and 0 < best",
                "if isinstance(best, int) and 0 > best",
            ),
        ),
        (f"{_SAVED_TESTS}::test_only_the_trees_up_to_the_best_iteration_decide",),
    ),
    Bug(
        "a number that XGBoost takes for missing is not looked at",
        (
            Edit(
                "auditor_client/models/readers/boosters/saved_boosters.py",
                "_xgboost",
                "math.isnan(missing)",
                "missing == missing or math.isnan(missing)",
            ),
        ),
        (f"{_SAVED_TESTS}::test_a_model_that_takes_a_number_for_missing_is_refused",),
    ),
    Bug(
        "an attribute that PMML does not have is ignored",
        (Edit(_VOCABULARY, "require_known", "if name not in names and", "if name == names and"),),
        (f"{_DICTIONARY_TESTS}::test_what_may_change_a_decision_is_refused_by_its_name",),
    ),
    Bug(
        "an element that PMML does not have is ignored",
        (
            Edit(_VOCABULARY, "require_known", "if attributes is None:", "if attributes is None and not element.tag:"),
            Edit(_VOCABULARY, "require_known", "attributes.split()", "(attributes or '').split()"),
        ),
        (f"{_DICTIONARY_TESTS}::test_what_may_change_a_decision_is_refused_by_its_name",),
    ),
    Bug(
        "a PMML output's constant is ignored",
        (Edit(_DICTIONARY, "predicted_number", "* slope + shift", "* slope"),),
        (f"{_DICTIONARY_TESTS}::test_a_number_is_the_one_that_the_file_gives",),
    ),
    Bug(
        "PMML's valid intervals are not looked at",
        (Edit(_DICTIONARY, "require_valid", 'treatment != "asIs" and', 'treatment == "asIs" and'),),
        (f"{_DICTIONARY_TESTS}::test_what_may_change_a_decision_is_refused_by_its_name",),
    ),
    Bug(
        "a list of valid values that a segment alone takes seriously is not looked at",
        (Edit(_DICTIONARY, "require_valid", 'if treatment != "asIs" else []', 'if treatment == "asMissing" else []'),),
        (f"{_DICTIONARY_TESTS}::test_codes_of_a_list_that_the_segment_alone_has_are_invalid",),
    ),
    Bug(
        "an Output of PMML that decides for itself is ignored",
        (Edit(_DICTIONARY, "require_plain_output", 'feature == "decision" or', 'feature == "decisions" and'),),
        (f"{_DICTIONARY_TESTS}::test_what_may_change_a_decision_is_refused_by_its_name",),
    ),
    Bug(
        "Targets of a part of a PMML chain are ignored",
        (Edit(_MODELS, "_require_no_targets", "!= (1.0, 0.0)", "== (1.0, 1.0)"),),
        (f"{_CHAINS_TESTS}::test_targets_that_a_chain_would_leave_out_are_refused",),
    ),
    Bug(
        "the constant of a missing number's density stays in a naive Bayes sum",
        (Edit(f"{_PMML}bayes.py", "_density", "value=-constant", "value=0.0"),),
        (f"{_CHAINS_TESTS}::test_a_missing_number_leaves_its_density_out",),
    ),
    Bug(
        "what stands for a missing truth value is compared for equality alone",
        (Edit(f"{_PMML}diagrams.py", "_of_replacement", "if not compares:", "if True:"),),
        (f"{_DICTIONARY_TESTS}::test_the_mean_of_truth_values_may_stand_for_a_missing_one",),
    ),
    Bug(
        "a parameter that scikit-learn has no more is ignored",
        (
            Edit(
                "auditor_client/models/older_sklearn.py",
                "require_todays_parameters",
                "if fitted or value not in _HARMLESS.get(attribute, ()):",
                "if value is _HARMLESS:",
            ),
        ),
        (f"{_VERSIONS_TESTS}::test_a_parameter_that_scikit_learn_has_no_more_is_not_ignored",),
    ),
    Bug(
        "the counts of an earlier scikit-learn's leaves are taken for probabilities",
        (Edit("auditor_client/models/older_sklearn.py", "_complete_tree", "if version < (1, 4):", "if not version:"),),
        ("tests/unit/auditor_client/formats/test_older_sklearn.py::test_decides_as_its_maker_did",),
    ),
    Bug(
        "a forest of an earlier scikit-learn decides about missing values, which it refused",
        (Edit("auditor_client/models/older_sklearn.py", "completed", "if without else ()", "if not version else ()"),),
        ("tests/unit/auditor_client/formats/test_older_sklearn.py::test_missing_values_that_it_refused_stay_refused",),
    ),
    Bug(
        "a tree of an ONNX graph takes doubles for single-precision numbers",
        (Edit("auditor_client/models/readers/onnx/graph.py", "Graph._take", "kind=kind", 'kind="single"'),),
        ("tests/unit/auditor_client/formats/test_onnx.py::test_a_double_is_compared_as_the_double_that_it_is",),
    ),
    Bug(
        "a split on one category of CatBoost goes the other way",
        (Edit(f"{_BOOSTERS}catboost.py", "_read", "!= category_hash", "== category_hash"),),
        ("tests/unit/auditor_client/formats/test_catboost.py::test_every_recorded_number_is_the_documents_own",),
    ),
    Bug(
        "the weights of dart's trees are ignored",
        (
            Edit(
                "auditor_client/models/readers/boosters/xgboost.py",
                "_weighted",
                "* np.float32(weight)",
                "* np.float32(1)",
            ),
        ),
        (f"{_XGBOOST_TESTS}::test_dart_is_read_as_each_way_of_predicting_adds_it",),
    ),
    Bug(
        "a number that an older file of XGBoost takes for missing is ignored",
        (
            Edit(
                f"{_BOOSTERS}xgboost_document.py",
                "_require_no_sentinel",
                "if missing is not None and",
                "if missing is True and",
            ),
        ),
        (f"{_XGBOOST_TESTS}::test_what_is_not_known_is_refused_by_name",),
    ),
    Bug(
        "a threshold on an ONNX graph's probabilities is about the numbers that its class is chosen by",
        (
            Edit(
                "auditor_client/models/readers/onnx/model.py",
                "_read",
                "if request.above is not None and chosen and not all(",
                "if request.above is None and chosen and not all(",
            ),
        ),
        (f"{_FORMATS_TESTS}test_onnx.py::test_a_threshold_is_about_the_probabilities_that_the_graph_gives",),
    ),
    Bug(
        "a chain of PMML takes a sum that its MiningSchema leaves out",
        (
            Edit(
                "auditor_client/models/readers/pmml/vocabulary.py",
                "require_declared_inputs",
                'of_output = part.tag != "FieldRef" and name in outputs',
                'of_output = part.tag == "FieldRef" and name not in outputs',
            ),
        ),
        (f"{_FORMATS_TESTS}test_pmml_chains.py::test_a_sum_that_the_mining_schema_leaves_out_is_refused",),
    ),
    Bug(
        "an attribute of an ONNX operator is ignored",
        (
            Edit(
                "auditor_client/models/readers/onnx/graph.py",
                "Graph._follow",
                "if vocabulary is not None and name not in vocabulary.split():",
                "if vocabulary is None and name in names and not name:",
            ),
        ),
        ("tests/unit/auditor_client/formats/test_onnx.py::test_what_is_not_known_is_refused_by_name",),
    ),
)
