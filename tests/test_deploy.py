"""What the configurations for systemd, nginx and Caddy say of the service, and of each other, is so."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from front_door import missing_tool

from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.serving import GRACEFUL_SHUTDOWN_S
from mcp_knowledge.settings import MIB, Settings, SettingsError, load_settings

DEPLOY = Path(__file__).parent.parent / "deploy"
GUIDE = DEPLOY.parent / "docs" / "operating.md"
FORM_BYTES = MIB  # around the file
SECRETS = {"dashboard_passphrase": "four or five words", "document_cursor_secret": "A" * 43 + "="}


def directives(path: str) -> dict[str, list[str]]:
    """A unit's or settings file's `Name=value` lines by name."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", (DEPLOY / path).read_text(), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


SERVICE = directives("systemd/mcp-knowledge.service")
BACKUP = directives("systemd/mcp-knowledge-backup.service")
NGINX = (DEPLOY / "nginx" / "mcp-knowledge.conf").read_text()
CADDY = (DEPLOY / "caddy" / "Caddyfile").read_text()


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings file, once the operator has filled in the two secrets."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    return load_settings(_env_file=DEPLOY / "systemd" / "mcp-knowledge.env", **SECRETS)


def test_the_settings_file_names_settings_only_and_starts_nothing_without_its_secrets(shipped: Settings) -> None:
    names = {name.lower() for name in directives("systemd/mcp-knowledge.env")}
    assert names <= {*Settings.model_fields} and shipped.app_profile == "server"
    with pytest.raises(SettingsError) as caught:
        load_settings(_env_file=DEPLOY / "systemd" / "mcp-knowledge.env")
    assert len(caught.value.faults) == len(SECRETS)


def test_the_units_agree_with_the_settings_with_each_other_and_with_the_guide(shipped: Settings) -> None:
    for unit in (SERVICE, BACKUP):
        assert unit["User"] == unit["Group"] == ["knowledge"]
        assert Path("/var/lib", unit["StateDirectory"][0]) == shipped.data_dir and unit["StateDirectoryMode"] == [
            "0700"
        ]
        assert unit["EnvironmentFile"] == [f"{unit['WorkingDirectory'][0]}/.env"]
        assert unit["ProtectSystem"] == ["strict"] and unit["NoNewPrivileges"] == ["true"] and unit["UMask"] == ["0077"]
    program = SERVICE["ExecStart"][0].split()[0]
    assert f"{program} backup " in BACKUP["ExecStart"][0]
    folder = BACKUP["ReadWritePaths"][0]
    assert f'"{folder}/mcp-knowledge-' in BACKUP["ExecStart"][0] and folder in BACKUP["ExecStartPost"][0]
    guide = GUIDE.read_text()
    for path in (program, folder, *SERVICE["EnvironmentFile"], str(shipped.data_dir)):
        assert path in guide, path
    for file in DEPLOY.glob("systemd/*"):
        assert f"deploy/systemd/{file.name}" in guide, file.name


def test_the_units_give_the_service_what_it_needs() -> None:
    assert int(SERVICE["TimeoutStopSec"][0]) > GRACEFUL_SHUTDOWN_S
    assert SERVICE["KillMode"] == ["mixed"]  # else its parsers die before it has handed back their work
    assert SERVICE["RestartPreventExitStatus"] == ["2"]
    filters = " ".join(SERVICE["SystemCallFilter"] + BACKUP["SystemCallFilter"])
    assert "~@resources" not in filters  # parsers bound themselves by setrlimit
    assert "AF_UNIX" in SERVICE["RestrictAddressFamilies"][0]


def test_the_proxies_pass_on_to_where_the_service_listens_under_the_name_that_it_allows(shipped: Settings) -> None:
    upstream = f"{shipped.host}:{shipped.port}"
    assert f"server {upstream};" in NGINX and f"reverse_proxy {upstream} {{" in CADDY
    assert {*re.findall(r"proxy_pass http://([^;]+);", NGINX)} == {"mcp_knowledge", upstream}
    (name,) = shipped.allowed_hosts
    assert {*re.findall(r"server_name ([^;]+);", NGINX)} == {name} and f"\n{name} {{" in CADDY


def test_the_limits_of_the_proxies_are_those_of_the_service(shipped: Settings) -> None:
    (size,) = re.findall(r"client_max_body_size (\d+)m;", NGINX)
    assert int(size) * MIB == shipped.max_upload_bytes + FORM_BYTES
    waits = re.findall(r"(?:proxy_read_timeout|response_header_timeout) (\d+)s", NGINX + CADDY)
    assert len(waits) == 2 and all(int(seconds) * 1000 > 2 * shipped.url_fetch_timeout_ms for seconds in waits)
    assert "proxy_request_buffering off;" in NGINX and "proxy_set_header Host $http_host;" in NGINX


def test_what_nginx_refuses_itself_has_the_services_form_codes_and_statuses() -> None:
    answers = re.findall(r"return (\d+) '(\{.+\})';", NGINX)
    assert len(answers) == 3
    for status, body in answers:
        error = json.loads(body)["error"]
        assert {*error} == {"code", "message", "requestId"}
        assert ERROR_CODES[error["code"]].status == int(status)
        assert ERROR_CODES[error["code"]].message == error["message"]


def test_systemd_knows_every_line_of_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        missing_tool("systemd-analyze is not installed")
        return
    for unit in (*DEPLOY.glob("systemd/*.service"), *DEPLOY.glob("systemd/*.timer")):
        text = unit.read_text().replace("/opt/mcp-knowledge/current/bin/mcp-knowledge", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    units = sorted(str(path) for path in tmp_path.iterdir())
    assert len(units) == 3
    result = subprocess.run([analyze, "verify", "--man=no", *units], capture_output=True, text=True, timeout=60)
    assert not [line for line in result.stderr.splitlines() if "mcp-knowledge" in line], result.stderr
