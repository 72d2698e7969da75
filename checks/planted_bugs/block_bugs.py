"""Bugs of blocks of people: each lets somebody lose more than the cap that blocks promise, or a refusal say whom."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_CHARGES: Final = "holder_service/domain/block_charges.py"
_TREE: Final = "holder_service/domain/block_losses.py"
_PAIRS: Final = "holder_service/records/person_blocks.py"
_LOADS: Final = "holder_service/services/running/load_blocks.py"
_UNIT: Final = "tests/unit/holder_service/test_blocks.py"
_TESTS: Final = "tests/integration/test_blocks.py"

BLOCK_BUGS: Final = (
    Bug(
        "a cell that names no block is charged to one block",
        (Edit(_CHARGES, "blocks_of", "yield domain.first, domain.last", "yield domain.first, domain.first"),),
        (f"{_UNIT}::test_a_cell_is_charged_to_the_blocks_that_it_may_match",),
    ),
    Bug(
        "of the rules of overlapping cells a block pays for one",
        (Edit(_CHARGES, "block_losses", "under_way[batch] += 1", "under_way[batch] = 1"),),
        (f"{_UNIT}::test_overlapping_cells_cost_where_they_overlap",),
    ),
    Bug(
        "people who were taken away are forgotten with their blocks",
        (Edit(_PAIRS, "join_blocks", "mine = [] if own is None else [_Pairs.open(own)]", "mine: list[_Pairs] = []"),),
        (f"{_UNIT}::test_people_are_compared_with_everybody_who_was_ever_loaded",),
    ),
    Bug(
        "a changed record counts in its new block alone",
        (Edit(_LOADS, "join", "own = paths.pop(dataset.name, None)", "own = paths.pop(dataset.name, None) and None"),),
        (f"{_TESTS}::test_a_person_stays_in_their_blocks_for_ever",),
    ),
    Bug(
        "other datasets of the population are not looked at",
        (Edit(_LOADS, "join", "own, list(paths.values()),", "own, [],"),),
        (f"{_TESTS}::test_a_person_stays_in_their_blocks_for_ever",),
    ),
    Bug(
        "a cut file of people's blocks passes for a whole one",
        (
            Edit(
                "holder_service/records/files.py",
                "RecordFiles.blocks_of",
                " and path.stat().st_size >= 2 * people.stat().st_size",
                "",
            ),
        ),
        (f"{_TESTS}::test_a_cut_file_of_blocks_stops_loads",),
    ),
    Bug(
        "whoever may load asks about one person after another",
        (
            Edit(
                _LOADS, "_require_few_refusals", "len(recent) >= REFUSED_PER_DAY", "len(recent) > 10 * REFUSED_PER_DAY"
            ),
        ),
        (f"{_TESTS}::test_few_loads_are_refused_within_a_day",),
    ),
    Bug(
        "one person loses the delta of the block that loses most epsilon",
        (
            Edit(
                "shared/contract/blocks.py",
                "ChargedBlocks.person_loss",
                '(self._largest(name) for name in ("epsilon_nano", "delta_nano"))',
                '(self._largest("epsilon_nano"), first.delta_nano)',
            ),
        ),
        (f"{_UNIT}::test_one_person_loses_the_largest_delta_too",),
    ),
    Bug(
        "a charge to a range of blocks is not seen above it",
        (
            Edit(
                _TREE,
                "BlockTree._add",
                "state = replace(state, highest=_plus(state.added, _highest(below)))",
                "state = replace(state, highest=_plus(state.added, next(iter(below))))",
            ),
        ),
        (f"{_UNIT}::test_a_tree_says_what_every_block_lost",),
    ),
    Bug(
        "sums by block are not compared with the entries",
        (
            Edit(
                "holder_service/services/ledger/reading.py",
                "_verified",
                "            _check_blocks(connection, replay, facts, children)\n",
                "",
            ),
        ),
        (f"{_TESTS}::test_changed_sums_are_found",),
    ),
    Bug(
        "blocks are renamed under people who are in them",
        (
            Edit(
                "shared/contract/blocks.py",
                "BlockDomain.agrees",
                "return same and self.values[:shorter] == other.values[:shorter]",
                "return same and shorter >= 0",
            ),
        ),
        (f"{_TESTS}::test_blocks_can_only_grow",),
    ),
)
