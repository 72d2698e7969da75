"""The bugs of accounts in ρ and of receipts that belong together; `bugs` has all."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_KINDS: Final = "tests/integration/test_kinds_of_account.py"
_LIES: Final = "tests/attacks/test_lying_about_chains.py"
_OUTLOOK: Final = "tests/unit/auditor_client/test_insight.py"
_CHAINS: Final = "auditor_client/exchange/kept_chains.py"
_VERIFICATION: Final = "auditor_client/exchange/plan_verification.py"
_KIND: Final = "auditor_client/exchange/client_kind.py"
_ADDED_KIND: Final = "tests/integration/test_adding_a_kind.py"
_RECEIPTS: Final = f"{_LIES}::test_receipts_that_do_not_belong_together_are_found"

CHAIN_BUGS: Final = (
    Bug(
        "a cap of nothing is of no kind",
        (
            Edit(
                "holder_service/services/accounts/populations.py",
                "record_population",
                "            require_kind(connection, name, balance, declaration.cap)\n",
                "            if balance != Balance():\n"
                "                require_kind(connection, name, balance, declaration.cap)\n",
            ),
        ),
        (f"{_KINDS}::test_a_cap_that_a_restore_closed_keeps_its_kind_although_no_charge_is_left",),
    ),
    Bug(
        "an account of nothing stays of its kind",
        (
            Edit(
                "holder_service/domain/ledger.py",
                "Balance.alike.nothing",
                "nothing = self.limit.is_nothing and self.spent.is_nothing\n",
                "nothing = False\n",
            ),
        ),
        (
            f"{_KINDS}::test_budgets_that_were_revoked_in_other_terms_are_merged",
            f"{_KINDS}::test_who_was_granted_nothing_has_nothing_of_the_kind_of_the_account",
        ),
    ),
    Bug(
        "an outlook takes what rho is read as for what is left",
        (
            Edit(
                "auditor_client/planning/forecasting.py",
                "outlook.enough",
                "left is not None and _charge(put).fits_in(left)]",
                "left is not None and put.request.epsilon_nano <= left.epsilon_nano]",
            ),
        ),
        (f"{_OUTLOOK}::test_what_is_left_in_rho_pays_what_costs_no_more_rho",),
    ),
    Bug(
        "a curve of rho grows like one of epsilon",
        (
            Edit(
                "auditor_client/planning/forecasting.py",
                "_multiples",
                "loss.rho_nano * factor**2 for factor",
                "loss.rho_nano * factor for factor",
            ),
        ),
        (f"{_OUTLOOK}::test_what_was_asked_in_rho_is_compared_with_larger_rho",),
    ),
    Bug(
        "two receipts refine one answer, and nobody says so",
        (Edit(_CHAINS, "chain_faults", "            require(other == release.id,", "            require(True,"),),
        (_RECEIPTS,),
    ),
    Bug(
        "a receipt's difference is not computed again",
        (Edit(_CHAINS, "_require_link", "release.charge == charge,", "True,"),),
        (_RECEIPTS,),
    ),
    Bug(
        "a receipt may refine an answer to another question",
        (Edit(_CHAINS, "_require_link", "        require_refines(release.plan, earlier.plan)\n", "        pass\n"),),
        (_RECEIPTS,),
    ),
    Bug(
        "receipts of a watch are looked at one by one",
        (Edit(_CHAINS, "_watch_faults", "            require_own_answers(answers, watch)\n", "            pass\n"),),
        (_RECEIPTS,),
    ),
    Bug(
        "any rho of a batch is believed",
        (
            Edit(
                _VERIFICATION,
                "_price",
                "rho_nano is not None and rho_nano % classes == 0 and rho_nano // classes in expected,",
                "True,",
            ),
        ),
        (f"{_LIES}::test_a_lie_about_rho_gives_no_answer",),
    ),
    Bug(
        "a batch that was to keep its answer may have another",
        (
            Edit(
                _VERIFICATION,
                "check_plan_release",
                "            require(answered.cells == kept,",
                "            require(True,",
            ),
        ),
        (f"{_LIES}::test_a_lie_about_a_refinement_gives_no_answer",),
    ),
    Bug(
        "a release may answer another request than was asked",
        (Edit(_KIND, "PricedRequest.verified", "answered.document() == self.request.document()", "True"),),
        (f"{_ADDED_KIND}::test_a_lie_about_a_new_kind_is_found",),
    ),
    Bug(
        "what a kind checks of its releases is not asked",
        (
            Edit(
                _KIND,
                "PricedRequest.verified",
                "        self.kind.check_release(release, self.request, self.quote, self.context)\n",
                "",
            ),
        ),
        (f"{_ADDED_KIND}::test_a_lie_about_a_new_kind_is_found",),
    ),
    Bug(
        "what a kind checks of its quotes is not asked",
        (Edit(_KIND, "ClientKind.priced", "        self.check_quote(quote, request, context)\n", ""),),
        (f"{_ADDED_KIND}::test_a_quote_that_contradicts_a_new_kinds_request_is_found",),
    ),
)
