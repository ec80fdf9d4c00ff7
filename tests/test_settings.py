"""What settings refuse, one line for each fault, and what a profile sets."""

import base64
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mcp_knowledge.settings import SettingsError, load_settings, without_password

SECRET = base64.b64encode(bytes(range(32))).decode()
PASSPHRASE = "correct horse battery"
POSTGRES = {"database_driver": "postgres", "database_url": "postgresql://db.example/knowledge"}
SERVER: dict[str, Any] = {
    "app_profile": "server",
    "database_url": "postgresql://app:hush-hush@db.example:5432/knowledge",
    "storage_driver": "local",
    "dashboard_passphrase": PASSPHRASE,
    "document_cursor_secret": SECRET,
}


def faults_of(**values: Any) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(**values)
    return caught.value.faults


@pytest.mark.parametrize(
    ("values", "mentions"),
    [
        ({"database_driver": "postgres"}, [["DATABASE_URL", "postgresql://"]]),
        ({"database_driver": "postgres", "database_url": "file:app.db"}, [["DATABASE_URL", "'postgresql://'"]]),
        ({"database_driver": "postgres", "database_url": "mysql://h/d"}, [["DATABASE_URL", "'postgresql://'"]]),
        ({**POSTGRES, "database_url": "postgresql://h:port/d"}, [["DATABASE_URL", "host:port"]]),
        ({"database_url": "postgresql://h/d"}, [["DATABASE_URL", "'file:'", "DATABASE_DRIVER=postgres"]]),
        ({"role": "api"}, [["ROLE=api", "DATABASE_DRIVER=postgres"]]),
        ({"role": "worker", "database_driver": "libsql"}, [["ROLE=worker", "DATABASE_DRIVER=postgres"]]),
        ({"role": "master"}, [["ROLE", "'all', 'api' or 'worker'"]]),
        ({"app_profile": "cloud"}, [["APP_PROFILE", "'local' or 'server'"]]),
        ({"database_driver": "oracle"}, [["DATABASE_DRIVER", "'sqlite', 'libsql' or 'postgres'"]]),
        ({**SERVER, "dashboard_passphrase": None}, [["DASHBOARD_PASSPHRASE", "12"]]),
        ({**SERVER, "dashboard_passphrase": "eleven char"}, [["DASHBOARD_PASSPHRASE", "12"]]),
        ({**SERVER, "document_cursor_secret": None}, [["DOCUMENT_CURSOR_SECRET", "32 bytes"]]),
        ({**SERVER, "document_cursor_secret": "c2hvcnQ="}, [["DOCUMENT_CURSOR_SECRET", "32 bytes"]]),
        (
            {"app_profile": "server", "storage_driver": "local", "role": "api", "chunk_max_tokens": 500},
            [["CHUNK_MAX_TOKENS"], ["DATABASE_URL"], ["DASHBOARD_PASSPHRASE"], ["DOCUMENT_CURSOR_SECRET"]],
        ),
    ],
)
def test_what_cannot_work_is_named_in_a_line_of_its_own(values: dict[str, Any], mentions: list[list[str]]) -> None:
    faults = faults_of(**values)
    assert len(faults) == len(mentions), faults
    for fault, words in zip(faults, mentions, strict=True):
        assert all(word in fault for word in words), fault


def test_no_fault_shows_a_secret() -> None:
    shown = "\n".join(
        faults_of(
            app_profile="server",
            storage_driver="local",
            database_url="mysql://app:hush-hush@h/d",
            dashboard_passphrase="hush",
            document_cursor_secret="hush",
        )
    )
    assert "DATABASE_URL" in shown and "hush" not in shown


@pytest.mark.parametrize("password", ["hu@sh", "hu/sh", "hu?sh@", "hush/@"])
def test_a_password_that_is_not_escaped_is_taken_for_nothing_else(password: str) -> None:
    (fault,) = faults_of(**POSTGRES | {"database_url": f"postgresql://app:{password}@db.example:5432/knowledge"})
    assert "%40" in fault and "sh" not in fault


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "/d",
        "db.example",
        "app:hu%40sh:#!%2F@db.example:5432/d?sslmode=require&user=a@b",
        "app:hu?sh@db.example/d",
        "app@a:1,b:2/d",
        "[::1]:5432/d",
        "%2Frun%2Fpostgresql/d",
        "/d?host=/run/postgresql",
    ],
)
def test_every_form_of_an_address_of_postgresql_is_taken(rest: str) -> None:
    assert load_settings(**POSTGRES | {"database_url": f"postgresql://{rest}"}).database_url.endswith(rest)


_BEYOND_LOOPBACK = (
    *(
        "0.0.0.0",
        "0",
        "0.0",
        "00.0.0.0",
        "0x0",
        "::",
        "0:0::0",
        "::0",
        "::ffff:0.0.0.0",
        "::%lo",
        "192.0.2.1",
        "fe80::1%eth0",
    ),
    *("docs.example.org", "LOCALHOST.", "localhost.", "localhost.example.org", "ip6-localhost", "host.docker.internal"),
    *("127.1", "127.0.1", "0127.0.0.1", "0x7f000001", "2130706433", "127.0.0.1.", "128.0.0.1", "::127.0.0.1", "::2"),
)


def test_who_listens_to_the_network_needs_a_passphrase_or_says_that_it_does_not() -> None:
    for host in _BEYOND_LOOPBACK:
        (fault,) = faults_of(host=host)
        assert "DASHBOARD_PASSPHRASE" in fault and "ALLOW_INSECURE_BIND" in fault
        assert faults_of(host=host, dashboard_passphrase="") == [fault], "empty is unset"
        assert load_settings(host=host, dashboard_passphrase="tea").host == host
        assert load_settings(host=host, allow_insecure_bind=True).host == host
    for host in ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "localhost"):
        assert load_settings(host=host).binds_loopback
    assert faults_of(dashboard_passphrase="   ") == ["DASHBOARD_PASSPHRASE must not be blank"]


@pytest.mark.parametrize(
    "host",
    [
        "",
        " ",
        "127.0.0.1:3000",
        "[::1]",
        "http://localhost",
        "127.0.0.1 0.0.0.0",
        "a" * 254,
        "h\u00f6st",
        "*",
        "/tmp/s",
    ],
)
def test_what_is_no_address_to_listen_on_stops_the_start_with_and_without_a_passphrase(host: str) -> None:
    for values in ({}, {"dashboard_passphrase": PASSPHRASE}, {"allow_insecure_bind": True}):
        (fault,) = faults_of(host=host, **values)
        assert fault.startswith("HOST must be an address or a host name alone")


def test_every_unsafe_combination_has_a_line_for_each_fault() -> None:
    """Where each of these is at fault: HOST without a passphrase, the passphrase, the secret."""
    open_hosts, closed_hosts = {"host": "0.0.0.0"}, {"host": "127.0.0.1"}
    for profile, host, lifted, passphrase, secret in product(
        ("local", "server"),
        (open_hosts, closed_hosts),
        (True, False),
        (None, "hush-hush", PASSPHRASE),
        (None, "hush-hush", SECRET[:-4], f"{SECRET}{SECRET}", f"!{SECRET}", SECRET),
    ):
        is_server = profile == "server"
        expected = {
            "DASHBOARD_PASSPHRASE": is_server and passphrase != PASSPHRASE,
            "DOCUMENT_CURSOR_SECRET": secret != SECRET and (is_server or secret is not None),
            "HOST": host is open_hosts and passphrase is None and not lifted,
        }
        values: dict[str, Any] = {
            **(SERVER if is_server else {}),
            **host,
            "app_profile": profile,
            "allow_insecure_bind": lifted,
            "dashboard_passphrase": passphrase,
            "document_cursor_secret": secret,
        }
        if not any(expected.values()):
            assert load_settings(**values).app_profile == profile
            continue
        faults = faults_of(**values)
        assert [fault.split()[0] for fault in faults] == [name for name, wrong in expected.items() if wrong], values
        text = "\n".join(faults)
        assert "hush" not in text and SECRET[:-4] not in text and len(text.splitlines()) == len(faults)


@pytest.mark.parametrize("passphrase", ["x" * 1001, "from a file\n", "two\nlines", "a\tb"])
def test_a_passphrase_that_nobody_could_enter_stops_the_start(passphrase: str) -> None:
    (fault,) = faults_of(dashboard_passphrase=passphrase)
    assert fault.startswith("DASHBOARD_PASSPHRASE m") and passphrase not in fault


@pytest.mark.parametrize(
    "hosts", ["*", "*.example.org", "https://docs.example.org", "docs.example.org/", "a b", "ok,é.org"]
)
def test_a_host_name_that_no_request_could_have_stops_the_start(hosts: str) -> None:
    (fault,) = faults_of(allowed_hosts=hosts)
    assert fault.startswith("ALLOWED_HOSTS must be host names")


def test_host_names_may_have_ports_and_be_addresses() -> None:
    hosts = ("docs.example.org", "web_1:8443", "192.168.1.5:3000", "fe80::1", "[fe80::1]:3000")
    assert load_settings(allowed_hosts=",".join(hosts)).allowed_hosts == hosts


def test_the_server_profile_has_its_own_defaults_which_settings_override() -> None:
    server = load_settings(**SERVER)
    assert (server.database_driver, server.worker_concurrency) == ("postgres", 4)
    small = load_settings(**SERVER | {"database_driver": "sqlite", "database_url": "", "worker_concurrency": 2})
    assert (small.database_driver, small.worker_concurrency) == ("sqlite", 2)
    local = load_settings()
    assert (local.database_driver, local.worker_concurrency) == ("sqlite", 1)


def test_the_profile_may_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SERVER.items():
        monkeypatch.setenv(name.upper(), value)
    settings = load_settings()
    assert (settings.app_profile, settings.database_driver, settings.worker_concurrency) == ("server", "postgres", 4)


def test_one_process_may_do_all_in_either_database_and_a_role_of_its_own_needs_a_server() -> None:
    assert [load_settings(**POSTGRES, role=role).role for role in ("all", "api", "worker")] == ["all", "api", "worker"]


def test_the_database_of_a_server_needs_no_folder_outside_the_scanned_one(tmp_path: Path) -> None:
    folder = tmp_path / "letters"
    settings = load_settings(**POSTGRES, data_dir=tmp_path / "data", ingest_data_dir=folder)
    assert settings.ingest_data_dir == folder


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://app:pass@db:5432/k", "postgresql://app:**********@db:5432/k"),
        ("postgresql://app:p/a@s?s#@db/k", "postgresql://app:**********@db/k"),
        ("postgres://app@db/k", "postgres://app@db/k"),
        (
            "postgresql:///k?host=/run/db&password=p%20w&user=a",
            "postgresql:///k?host=/run/db&password=**********&user=a",
        ),
        ("postgresql://db/k", "postgresql://db/k"),
        ("file:/srv/app.db", "file:/srv/app.db"),
    ],
)
def test_a_database_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_neither_json_nor_repr_of_the_settings_shows_a_secret() -> None:
    settings = load_settings(**SERVER)
    assert (
        json.loads(settings.model_dump_json())["database_url"]
        == "postgresql://app:**********@db.example:5432/knowledge"
    )
    for text in (settings.model_dump_json(), repr(settings), str(settings)):
        assert "hush-hush" not in text and PASSPHRASE not in text and SECRET not in text


@pytest.mark.parametrize("content", ["PORT=4\n".encode("utf-16"), b"DASHBOARD_PASSPHRASE=\xe4\xf6\xfc"])
def test_a_settings_file_that_is_no_text_is_told_in_a_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        load_settings(_env_file=tmp_path / ".env")
    assert len(caught.value.faults) == 1 and ".env cannot be read: they are no UTF-8" in caught.value.faults[0]


@pytest.mark.skipif(sys.platform != "linux", reason="there are files that not even root can read")
def test_a_settings_file_that_cannot_be_read_is_told_in_a_line() -> None:
    with pytest.raises(SettingsError, match=r"\.env cannot be read: Input/output error"):
        load_settings(_env_file="/proc/self/mem")
