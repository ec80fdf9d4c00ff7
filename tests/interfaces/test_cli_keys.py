from pathlib import Path

import httpx2
import pytest
from access_kit import PASSPHRASE, bearer
from cli_kit import run, run_json
from front_door import Server
from rest_kit import API


def test_keys_are_made_listed_and_revoked_without_a_server(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    made = run(data_dir, "keys", "create", "Nightly script")
    assert made.returncode == 0 and made.stdout.startswith("key_") and made.stdout.count("\n") == 1
    assert made.stdout.strip() not in made.stderr and "only now" in made.stderr
    other = run_json(data_dir, "keys", "create", "Import", "--scope", "write", "--scope", "read")
    assert other["scopes"] == ["read", "write"] and other["secret"].startswith(other["keyPrefix"])

    table = run(data_dir, "keys", "list").stdout
    assert all(text in table for text in ("Import", "read, write", "never", other["id"], other["keyPrefix"]))
    assert other["secret"] not in table

    assert other["id"] in run(data_dir, "keys", "revoke", other["id"]).stdout
    assert [item["name"] for item in run_json(data_dir, "keys", "list")] == ["Nightly script"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["create", "Robot", "--scope", "everything"], 2, "must be one of read, write, admin"),
        (["create", "  "], 2, "1 to 200 characters"),
        (["create"], 2, "Missing argument"),
        (["revoke", "key_unknown"], 1, "API_KEY_NOT_FOUND"),
    ],
)
def test_misuse_ends_with_a_sentence(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    result = run(tmp_path / "data", "keys", *arguments)
    assert (result.returncode, message in result.stderr) == (code, True), result.stderr
    assert "Traceback" not in result.stderr


def walk(server: Server, revoked: dict[str, str]) -> None:
    """No route of the OpenAPI document but the doors answers a revoked key, or nobody."""
    other = bearer(run_json(server.data_dir, "keys", "create", "Reader")["secret"])
    paths = server.request("GET", "/openapi.json", headers=other).json()["paths"]
    doors = ("/health", "/ready", f"{API}/session")
    routes = [(method, path) for path, operations in paths.items() if path not in doors for method in operations]
    assert len(routes) > 50
    with httpx2.Client(base_url=server.url, timeout=30) as client:
        for method, path in [*routes, ("post", "/mcp"), ("get", "/mcp"), ("delete", "/mcp")]:
            address = path.replace("{", "").replace("}", "")
            for headers in (revoked, {}):
                assert client.request(method, address, headers=headers).status_code == 401, (method, path)


def test_a_running_server_knows_at_once_and_believes_no_header_about_addresses(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", {"DASHBOARD_PASSPHRASE": PASSPHRASE}).start()
    try:
        made = run_json(server.data_dir, "keys", "create", "Script")
        key = bearer(made["secret"])
        assert server.request("GET", f"{API}/documents", headers=key).status_code == 200
        assert server.request("GET", f"{API}/documents").status_code == 401
        assert run(server.data_dir, "keys", "revoke", made["id"]).returncode == 0
        assert server.request("GET", f"{API}/documents", headers=key).status_code == 401
        walk(server, key)

        for number in range(11):
            answer = server.request(
                "POST",
                f"{API}/session",
                json={"passphrase": "wrong"},
                headers={"X-Forwarded-For": f"192.0.2.{number}"},
            )
        assert answer.status_code == 429, "all came from this machine"
        log = server.log.read_text()
        assert made["secret"] not in log and PASSPHRASE not in log
    finally:
        server.stop()
