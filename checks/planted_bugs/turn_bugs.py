"""Bugs of what costs nothing: each gives it more of the processor than its share, or lets much of it pile up."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_ROOMS: Final = "holder_service/web/edge/release_rooms.py"
_QUEUE: Final = "holder_service/web/edge/public_times.py"
_TIMES: Final = "tests/unit/holder_service/test_public_times.py"
_FAIR: Final = "tests/integration/test_fair_turns.py"

TURN_BUGS: Final = (
    Bug(
        "nothing rests behind what costs nothing",
        (Edit("holder_service/domain/turns.py", "DrawTurns.begin", "done_s + turn.rest_s", "done_s"),),
        (f"{_TIMES}::test_what_costs_nothing_gets_a_quarter_of_the_time",),
    ),
    Bug(
        "the bodies of rehearsals are read at once",
        (Edit(_ROOMS, "ReleaseRooms.reading", "if quoted or room is self._rehearsed:", "if quoted:"),),
        (f"{_FAIR}::test_what_costs_nothing_is_read_in_its_turn",),
    ),
    Bug(
        "the bodies of quotes are read at once",
        (Edit(_ROOMS, "ReleaseRooms.reading", "if quoted or room is", "if room is"),),
        (f"{_FAIR}::test_what_costs_nothing_is_read_in_its_turn",),
    ),
    Bug(
        "any number of bodies of one auditor waits",
        (Edit(_QUEUE, "DrawQueue.reading", ">= limits.BODIES_WAITING_MAX", "< 0"),),
        (f"{_TIMES}::test_only_so_many_bodies_of_one_auditor_wait",),
    ),
    Bug(
        "nothing rests before the answers of free watches",
        (
            Edit(
                "holder_service/services/releases/watching.py",
                "_begin",
                "times = 1 + FREE_REST if rehearsed else 1",
                "times = 1",
            ),
        ),
        (f"{_FAIR}::test_a_rest_comes_before_each_answer_of_a_free_watch",),
    ),
)
