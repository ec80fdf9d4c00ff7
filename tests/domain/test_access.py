import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.access import (
    ACCESS_SCOPES,
    SESSION_MS,
    AccessScope,
    ApiKey,
    Passphrase,
    in_order,
    key_digest,
    key_prefix,
    new_key_secret,
    throttled_source,
)

SECRET = bytes(range(32))
NOW_MS = 1_800_000_000_000


def key_with(*scopes: AccessScope) -> ApiKey:
    return ApiKey("key_1", "A key", "key_abc", scopes, NOW_MS, None)


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        (("read",), {"read"}),
        (("write",), {"read", "write"}),
        (("admin",), {"read", "write", "admin"}),
        (("read", "admin"), {"read", "write", "admin"}),
        ((), set()),
    ],
)
def test_each_scope_includes_those_below_it(scopes: tuple[AccessScope, ...], allowed: set[str]) -> None:
    assert {scope for scope in ACCESS_SCOPES if key_with(*scopes).allows(scope)} == allowed


def test_scopes_are_kept_in_order_and_once() -> None:
    assert in_order(["admin", "read", "admin"]) == ("read", "admin")


def test_secrets_are_long_random_and_shown_by_their_beginning() -> None:
    secrets = {new_key_secret() for _ in range(100)}
    assert len(secrets) == len({key_digest(secret) for secret in secrets}) == 100
    for secret in secrets:
        assert secret.startswith("key_") and len(secret) == 4 + 43
        assert secret.startswith(key_prefix(secret)) and len(key_prefix(secret)) == 12


def test_a_session_holds_for_thirty_days() -> None:
    passphrase = Passphrase("correct horse battery", SECRET)
    session = passphrase.new_session(NOW_MS)
    assert passphrase.holds(session, NOW_MS)
    assert Passphrase("correct horse battery", SECRET).holds(session, NOW_MS + SESSION_MS - 1), "in any process"
    assert not passphrase.holds(session, NOW_MS + SESSION_MS)


def test_another_passphrase_or_secret_ends_every_session() -> None:
    session = Passphrase("correct horse battery", SECRET).new_session(NOW_MS)
    assert not Passphrase("correct horse batterie", SECRET).holds(session, NOW_MS)
    assert not Passphrase("correct horse battery", bytes(32)).holds(session, NOW_MS)


@given(st.text(max_size=200))
def test_nothing_made_up_is_a_session(text: str) -> None:
    assert not Passphrase("correct horse battery", SECRET).holds(text, NOW_MS)


@given(st.data())
def test_no_character_of_a_session_can_be_changed(data: st.DataObject) -> None:
    passphrase = Passphrase("correct horse battery", SECRET)
    session = passphrase.new_session(NOW_MS)
    place = data.draw(st.integers(0, len(session) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda char: char != session[place]))
    assert not passphrase.holds(session[:place] + other + session[place + 1 :], NOW_MS)


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=50))
def test_a_passphrase_matches_itself_alone(text: str, other: str) -> None:
    passphrase = Passphrase(text, SECRET)
    assert passphrase.matches(text)
    assert not passphrase.matches(text + other)


def test_letters_match_however_a_keyboard_composes_them() -> None:
    assert Passphrase("Gr\u00fcner Tee", SECRET).matches("Gru\u0308ner Tee")
    assert not Passphrase("Gr\u00fcner Tee", SECRET).matches("Gruner Tee")
    assert Passphrase("\udce9t\udce9", SECRET).matches("\udce9t\udce9"), "bytes of an environment that are no UTF-8"


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_tries_are_counted_by_address_or_by_the_line_it_belongs_to(address: str, source: str) -> None:
    assert throttled_source(address) == source
