"""Bugs of loads by URL: each tells a caller of a file that they did not send more than they may learn."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_READS: Final = "holder_service/services/datasets/url_reads.py"
_SOURCES: Final = "holder_service/records/sources.py"
_TESTS: Final = "tests/integration/test_records_by_url.py"

LOAD_BUGS: Final = (
    Bug(
        "a load by URL answers with the lines that do not fit",
        (Edit(_READS, "errors_kept_at_home", "entry=read.entry", "entry=read.entry, errors=errors"),),
        (f"{_TESTS}::test_errors_stay_on_the_holders_machine_and_the_version_before_stays",),
    ),
    Bug(
        "any number of reads by URL is admitted",
        (Edit(_READS, "begin.work", "subject=root.url, maximum=per_day,", "subject=dataset, maximum=per_day,"),),
        (f"{_TESTS}::test_each_read_is_an_entry_before_it_and_few_are_made_of_one_root",),
    ),
    Bug(
        "a root of one dataset is read for another",
        (Edit(_READS, "require_admitted.own", "if root.dataset in (None, dataset))", 'if root.dataset != "")'),),
        (f"{_TESTS}::test_a_root_of_one_dataset_is_no_other_datasets",),
    ),
    Bug(
        "a URL with a NUL reaches the file system",
        (
            Edit(_SOURCES, "admitted", " or not decoded.isprintable():", ":"),
            Edit(
                _SOURCES,
                "admitted",
                "    except ValueError:\n        return None\n    for root",
                "    except ZeroDivisionError:\n        return None\n    for root",
            ),
        ),
        (f"{_TESTS}::test_a_text_that_cannot_be_a_path_is_refused[%00]",),
    ),
)
