"""Bugs of sign-in by an identity provider: of what a token has to say, and of who gets in."""

from typing import Final

from checks.planted_bugs.bug import Bug, Edit

_TOKENS: Final = "holder_service/identity/tokens.py"
_SIGN_IN: Final = "holder_service/web/console/sign_in.py"
_ACCESS: Final = "holder_service/services/access.py"
_REFUSED: Final = "tests/unit/holder_service/test_tokens.py::test_any_other_token_is_refused"
_BEARER_TESTS: Final = "tests/integration/test_bearer_tokens.py"
_SIGN_IN_TESTS: Final = "tests/integration/test_sign_in.py"

SIGN_IN_BUGS: Final = (
    Bug(
        "a token of another issuer counts",
        (Edit(_TOKENS, 'iss={"essential": True, "value": self._settings.issuer}', 'iss={"essential": True}'),),
        (f"{_REFUSED}[another issuer]",),
    ),
    Bug(
        "a token says itself how it is checked",
        (
            Edit(_TOKENS, "algorithm not in ALGORITHMS:", 'algorithm == "":'),
            Edit(_TOKENS, "key.key_type == ALGORITHMS[algorithm]", "bool(key.key_type)"),
            Edit(_TOKENS, "_Algorithms(algorithms=list(ALGORITHMS))", "JWSRegistry(algorithms=[algorithm])"),
        ),
        (f"{_REFUSED}[algorithm none]",),
    ),
    Bug(
        "an expired token counts",
        (Edit(_TOKENS, "now_s, SKEW_S, iss", "now_s, 10**9, iss"),),
        (f"{_REFUSED}[expired]",),
    ),
    Bug(
        "a token for somebody else counts",
        (Edit(_TOKENS, 'if claims["aud"] not in (self._settings.audience, [self._settings.audience]):', "if False:"),),
        (f"{_REFUSED}[another audience]",),
    ),
    Bug(
        "an ID token of another sign-in counts",
        (Edit(_TOKENS, 'if claims.get("nonce") != nonce:', "if False:"),),
        (f"{_SIGN_IN_TESTS}::test_anybody_else_is_refused_and_no_secret_is_logged[another sign-in]",),
    ),
    Bug(
        "made-up key ids have the provider asked each time",
        (Edit("holder_service/identity/published.py", "self._clock() - self._tried_s < AGAIN_S", "False"),),
        ("tests/unit/holder_service/test_tokens.py::test_a_new_key_is_fetched_and_an_old_one_lapses",),
    ),
    Bug(
        "a role that the provider took away counts",
        (Edit(_ACCESS, " or (proof.roles is not None and account.role not in proof.roles)", ""),),
        (f"{_BEARER_TESTS}::test_who_has_no_account_in_their_role_is_refused_alike",),
    ),
    Bug(
        "a disabled account is open to its token",
        (Edit(_ACCESS, "account is None or account.disabled or", "account is None or"),),
        (f"{_BEARER_TESTS}::test_an_account_that_is_closed_is_closed_to_its_token_at_once",),
    ),
    Bug(
        "a sign-in is completed twice",
        (Edit(_SIGN_IN, "    logins.complete_sign_in(holder.store, secret, expires=until)\n", ""),),
        (f"{_SIGN_IN_TESTS}::test_a_sign_in_is_completed_once",),
    ),
    Bug(
        "a browser completes a sign-in that it did not begin",
        (Edit(_SIGN_IN, "opened(secret, state) if secret and", "opened(secret, state) if"),),
        (f"{_SIGN_IN_TESTS}::test_anybody_else_is_refused_and_no_secret_is_logged[no browser's]",),
    ),
)
