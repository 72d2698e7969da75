"""The largest things that a caller may send; public, and the same for everybody (2-privacy §7).

A limit bounds work before any is done, so the holder checks the cheap ones (bytes) first. The unit
is in each name. `shared.contract.datasets.Limits` is what `GET /v1/datasets/{dataset}` shows of them.
"""

from typing import Final

HEAD_BYTES_MAX: Final = 64 * 1024
BODY_BYTES_MAX: Final = 4 * 1024 * 1024
BODY_READ_S: Final = 60.0
LISTS_AND_OBJECTS_PER_BODY_MAX: Final = 131_072
"""The largest plan has some 75 000; a body of nothing but empty lists would take fifty times its size in memory."""
FIELDS_PER_OBJECT_MAX: Final = 32
BATCHES_PER_PLAN_MAX: Final = 16
CELLS_PER_PLAN_MAX: Final = 4096
RULES_PER_PLAN_MAX: Final = 8192
PREDICATES_PER_PLAN_MAX: Final = 24_576
"""A tree of 1 024 leaves that was grown on Adult has some 17 000."""
PREDICATES_PER_RULE_MAX: Final = 256
VALUES_PER_PREDICATE_MAX: Final = 1024
VALUES_PER_PLAN_MAX: Final = 65_536
CUTS_PER_COLUMN_MAX: Final = 2 * RULES_PER_PLAN_MAX
"""No tree comes near it: a split makes one cut, or two if it is `eq`, and there are fewer splits than rules."""
COUNTS_PER_PLAN_MAX: Final = 16_384
FEATURES_PER_TRAINING_MAX: Final = 64
CUTS_PER_FEATURE_MAX: Final = 64
TRAINED_DEPTH_MAX: Final = 8
POINTS_PER_UNIT_MAX: Final = 50
"""Of a trained score; with as many features as there may be, its whole range has fewer than 65 536 values."""
QUANTILES_MAX: Final = 20
"""Of a trained score: one less than its bands."""
CELLS_PER_STEP_MAX: Final = 8192
"""Of one look of a training at the records: nodes times bins times both labels."""
COORDINATES_PER_TRAINING_MAX: Final = 256
"""Of a linear score: bins but for each feature's first. The work afterwards grows with the cube."""
GROUPS_PER_WATCH_MAX: Final = 24
"""The groups of a watch: every two are compared."""
MARGIN_MAX: Final = 1_000_000_000
WATCHES_OPEN_MAX: Final = 100
"""Watches of one auditor about one dataset that have further answers."""
STEP_EPSILON_NANO_MIN: Final = 10_000
"""Of each class of disjoint cells of a training's step, in units of 10⁻⁹: with less, noise would be all there is."""
RELEASE_S_MAX: Final = 300
"""How long the work on a plan may be supposed to take, as a function of its size and the declared `records_max`."""
BODIES_WAITING_MAX: Final = 8
"""Requests of one auditor that cost nothing and wait to be read."""
RELEASE_QUEUE_S_MAX: Final = 600
"""How long the requests of one auditor that wait to be drawn may be supposed to take together, and likewise one answer
of each of an auditor's open watches."""
SENSITIVE_COLUMNS_PER_PLAN_MAX: Final = 8
DRAW_MAX: Final = 1000
REFINING_STEP_NANO_MIN: Final = 1_000_000
"""By how much a refined batch raises epsilon at least, in units of 10⁻⁹: as much as the least epsilon of a batch."""
NEARLY_FREE_EPSILON_NANO: Final = 1_000_000
NEARLY_FREE_RHO_NANO: Final = 100_000
"""Answers that are charged less, in ε or in ρ, count as free: a cap would end them too late (`FREE_BYTES_MAX`)."""
FREE_BYTES_MAX: Final = 256 * 1024 * 1024
"""All answers about one dataset that one auditor has for nothing, or nearly: no budget ends them soon enough."""
NAME_CHARACTERS_MAX: Final = 64
TEXT_CHARACTERS_MAX: Final = 200
PARAGRAPH_CHARACTERS_MAX: Final = 4000
METADATA_VALUES_MAX: Final = 20_000
"""Values of all columns of a dataset that have words."""
METADATA_BYTES_MAX: Final = 1024 * 1024
"""Of a dataset's metadata as JSON: every description of the dataset carries them."""
COLUMNS_PER_DATASET_MAX: Final = 1000
CATEGORIES_PER_COLUMN_MAX: Final = 10_000
BLOCKS_MAX: Final = 10_000
"""The most blocks of people that a column may declare."""
BLOCKS_PER_PERSON_MAX: Final = 1000
BLOCK_RANGES_PER_REQUEST_MAX: Final = 32
"""The most separate ranges of blocks that a request may be charged for: each is looked up under the ledger's lock."""
BANDS_PER_COLUMN_MAX: Final = 100
"""Of a sensitive column of numbers, without that of missing values."""
APPROVAL_DAYS_DEFAULT: Final = 14
APPROVAL_DAYS_MAX: Final = 90
"""How long a request that needs an approval stands."""
APPROVALS_OPEN_MAX: Final = 100
"""Requests of one auditor that wait for an approval, or have one."""
APPROVAL_BYTES_MAX: Final = 64 * 1024 * 1024
"""What is asked in all of them together."""
FREE_ENTRIES_PER_DAY_MAX: Final = 1000
"""Requests for approval of one auditor about one population within a day, and derived columns likewise: what is
withdrawn or deleted counts too, for its entries stay."""
RECORDS_MAX_DEFAULT: Final = 1_000_000
RECORDS_MAX_MAX: Final = 1_000_000_000
INVENTED_PEOPLE_DEFAULT: Final = 10_000
INVENTED_PEOPLE_MAX: Final = 100_000
"""Of a rehearsal: they are invented while an administrator waits."""
PARTS_PER_MARGINAL_MAX: Final = 1000
REHEARSAL_BYTES_MAX: Final = 128 * 1024
"""Of how the people of a rehearsal are invented, as JSON: every description of it carries that."""
UPPER_MAX: Final = RECORDS_MAX_MAX
INTEGER_MAX: Final = 2**53
COLUMN_BODY_BYTES_MAX: Final = 32 * 1024 * 1024
"""Of a request for a derived column, which holds a score document."""
LISTS_AND_OBJECTS_PER_COLUMN_MAX: Final = 524_288
"""Of the same; 10 000 trees whose tests have a column each have some 120 000."""
DERIVED_COLUMNS_PER_AUDITOR_MAX: Final = 32
"""Of one dataset."""
DERIVED_BYTES_PER_AUDITOR_MAX: Final = 2 * 1024 * 1024 * 1024
"""Of one dataset: score documents and files of linked values together."""
COLUMN_S_MAX: Final = 3600
"""How long a derived column may be supposed to take, as a function of its size and the declared `records_max`."""
COLUMN_QUEUE_S_MAX: Final = 7200
"""How long all columns that are to be made may be supposed to take together; one auditor's have half of it."""
DERIVED_COLUMNS_PER_PLAN_MAX: Final = 8
LINKED_BYTES_MAX: Final = 1024 * 1024 * 1024
LINKED_ROWS_MAX: Final = 20_000_000
SCORE_NUMBER_MAX: Final = 1e30
SCORE_NUMBERS_MAX: Final = 65_536
"""In one list of a score document."""
SCORE_TESTS_MAX: Final = 65_536
SCORE_CUTS_PER_COLUMN_MAX: Final = 262_144
"""Of all trees of a document or of one class: two for each number that a test compares a column with."""
SCORE_TREES_MAX: Final = 10_000
SCORE_TREE_DEPTH_MAX: Final = 256
SCORE_NODES_MAX: Final = 524_288
SCORE_TERMS_MAX: Final = 16_384
SCORE_UNITS_MAX: Final = 4096
SCORE_LAYERS_MAX: Final = 64
SCORE_CLASSES_MAX: Final = 256
SCORE_WEIGHT_MAX: Final = 1_048_576
"""Nodes, leaves, numbers in tables, weights, predicates of rules and items of lists together."""
COLUMNS_PER_SCHEMA_MAX: Final = COLUMNS_PER_DATASET_MAX + DERIVED_COLUMNS_PER_PLAN_MAX
"""Declared ones, and the derived ones of a plan behind them."""
