"""Bugs of sign-in by an identity provider: of what a token has to say, and of who gets in."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_TOKENS: Final = "holder_service/identity/tokens.py"
_SIGN_IN: Final = "holder_service/web/console/sign_in.py"
_ACCESS: Final = "holder_service/services/accounts/access.py"
_OWN: Final = "auditor_client/exchange/sign_in.py"
_SESSIONS: Final = "auditor_client/exchange/sessions.py"
_OWN_TESTS: Final = "tests/unit/auditor_client/test_sign_in.py"
_DESK_TESTS: Final = "tests/unit/auditor_client/test_desk_sign_in.py"
_REFUSED: Final = "tests/unit/holder_service/test_tokens.py::test_any_other_token_is_refused"
_BEARER_TESTS: Final = "tests/integration/test_bearer_tokens.py"
_SIGN_IN_TESTS: Final = "tests/integration/test_sign_in.py"

SIGN_IN_BUGS: Final = (
    Bug(
        "a token of another issuer counts",
        (
            Edit(
                _TOKENS,
                "Tokens._of_this_time.rules",
                'iss={"essential": True, "value": self._settings.issuer}',
                'iss={"essential": True}',
            ),
        ),
        (f"{_REFUSED}[another issuer]",),
    ),
    Bug(
        "a token says itself how it is checked",
        (
            Edit(_TOKENS, "Tokens._verified", "algorithm not in ALGORITHMS:", 'algorithm == "":'),
            Edit(_TOKENS, "Tokens._key.named", "key.key_type == ALGORITHMS[algorithm]", "bool(key.key_type)"),
            Edit(
                _TOKENS,
                "Tokens._verified.token",
                "_Algorithms(algorithms=list(ALGORITHMS))",
                "JWSRegistry(algorithms=[algorithm])",
            ),
        ),
        (f"{_REFUSED}[algorithm none]",),
    ),
    Bug(
        "an expired token counts",
        (Edit(_TOKENS, "Tokens._of_this_time.rules", "now_s, SKEW_S, iss", "now_s, 10**9, iss"),),
        (f"{_REFUSED}[expired]",),
    ),
    Bug(
        "a token for somebody else counts",
        (
            Edit(
                _TOKENS,
                "Tokens.bearer",
                'if claims["aud"] not in (self._settings.audience, [self._settings.audience]):',
                "if False:",
            ),
        ),
        (f"{_REFUSED}[another audience]",),
    ),
    Bug(
        "an ID token of another sign-in counts",
        (Edit(_TOKENS, "Tokens.signed_in", 'if claims.get("nonce") != nonce:', "if False:"),),
        (f"{_SIGN_IN_TESTS}::test_anybody_else_is_refused_and_no_secret_is_logged[another sign-in]",),
    ),
    Bug(
        "made-up key ids have the provider asked each time",
        (
            Edit(
                "holder_service/identity/published.py",
                "KeptDocument._refresh",
                "self._clock() - self._tried_s < AGAIN_S",
                "False",
            ),
        ),
        ("tests/unit/holder_service/test_tokens.py::test_a_new_key_is_fetched_and_an_old_one_lapses",),
    ),
    Bug(
        "a role that the provider took away counts",
        (Edit(_ACCESS, "require_in_force", " or account.role not in proof.roles", ""),),
        (f"{_BEARER_TESTS}::test_who_has_no_account_in_their_role_is_refused_alike",),
    ),
    Bug(
        "without mapped roles a token opens any account",
        (Edit(_TOKENS, "Tokens._roles", "return UNMAPPED", 'return frozenset({"auditor", "administrator"})'),),
        (f"{_BEARER_TESTS}::test_where_no_roles_are_mapped_a_token_opens_auditors_accounts_alone",),
    ),
    Bug(
        "a disabled account is open to its token",
        (Edit(_ACCESS, "require_in_force", "account is None or account.disabled or", "account is None or"),),
        (f"{_BEARER_TESTS}::test_an_account_that_is_closed_is_closed_to_its_token_at_once",),
    ),
    Bug(
        "a sign-in is completed twice",
        (Edit(_SIGN_IN, "_session", "    logins.complete_sign_in(holder.store, secret, expires=until)\n", ""),),
        (f"{_SIGN_IN_TESTS}::test_a_sign_in_is_completed_once",),
    ),
    Bug(
        "a browser completes a sign-in that it did not begin",
        (
            Edit(
                _SIGN_IN,
                "_begun.begun",
                "opened(secret, state, Begun) if secret and",
                "opened(secret, state, Begun) if",
            ),
        ),
        (f"{_SIGN_IN_TESTS}::test_anybody_else_is_refused_and_no_secret_is_logged[no browser's]",),
    ),
    Bug(
        "an auditor's sign-in takes the answer to another one",
        (
            Edit(
                _OWN,
                "SignInBegun.is_answered_by",
                "hmac.compare_digest(state.encode(), self.state.encode()) and not",
                "not",
            ),
        ),
        (f"{_OWN_TESTS}::test_no_other_answer_signs_anybody_in[another state]",),
    ),
    Bug(
        "a sign-in goes without its proof key",
        (
            Edit(
                "shared/wire/identity_providers.py", "Discovery.authorization_url", ", **asked, **proof)", ", **asked)"
            ),
        ),
        (f"{_OWN_TESTS}::test_a_person_signs_in_asks_and_signs_out",),
    ),
    Bug(
        "all sign-ins have one verifier",
        (Edit(_OWN, "SignInBegun.verifier", "lambda: secrets.token_urlsafe(48)", 'lambda: "x" * 64'),),
        (f"{_OWN_TESTS}::test_a_code_of_another_browser_signs_nobody_in",),
    ),
    Bug(
        "an auditor's sign-in takes another provider's answer",
        (Edit(_OWN, "SignInBegun.complete", 'if not self.discovery.answered_by(query.get("iss")):', "if False:"),),
        (f"{_OWN_TESTS}::test_no_other_answer_signs_anybody_in[another issuer]",),
    ),
    Bug(
        "others can read what a sign-in left",
        (Edit("auditor_client/durable_files.py", "write_durably", "0o600", "0o644"),),
        (f"{_OWN_TESTS}::test_a_person_signs_in_asks_and_signs_out",),
    ),
    Bug(
        "a token for another service is sent to the holder",
        (
            Edit(
                _SESSIONS, "SignedIn.of", 'if claims.get("aud") not in (offer.audience, [offer.audience]):', "if False:"
            ),
        ),
        (f"{_OWN_TESTS}::test_a_token_that_others_take_is_not_sent_to_the_holder",),
    ),
    Bug(
        "each thread renews with the same token",
        (
            Edit(_SESSIONS, "KeptSignIn._alone", "with _renewing:", "if True:"),
            Edit(_SESSIONS, "KeptSignIn._alone", "fcntl.flock(descriptor, fcntl.LOCK_EX)", "pass"),
        ),
        (f"{_OWN_TESTS}::test_a_token_is_renewed_once_by_whoever_comes_first",),
    ),
    Bug(
        "the desk takes any browser back from a sign-in",
        (
            Edit(
                "auditor_client/desk/sign_in.py", "complete_sign_in", "not desk.door.is_back(request.headers)", "False"
            ),
        ),
        (f"{_DESK_TESTS}::test_nobody_else_completes_a_sign_in_or_sees_where_the_desk_is",),
    ),
)
