"""The files for containers: every variable in them is known, and every process starts from them without a fault."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_knowledge.settings import Settings, SettingsError, load_settings

PROJECT = Path(__file__).parent.parent
SETTINGS = {name.upper() for name in Settings.model_fields}
# Of Compose, of PostgreSQL's client and of its image.
OTHERS = {"API_PORTS", "COMPOSE_PROFILES", "PGPASSWORD", "POSTGRES_PASSWORD", "POSTGRES_SHARED_BUFFERS"}
EXAMPLE = (PROJECT / ".env.example").read_text()
FILLED_IN = {
    "POSTGRES_PASSWORD": "0123456789abcdef",
    "DASHBOARD_PASSPHRASE": "correct horse battery",
    "DOCUMENT_CURSOR_SECRET": base64.b64encode(bytes(32)).decode(),
}
IN_A_BUCKET = {
    "STORAGE_DRIVER": "s3",
    "S3_BUCKET": "documents",
    "S3_REGION": "us-east-1",
    "S3_ENDPOINT": "http://s3:7070",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
}


def interpolated(text: str, values: dict[str, str]) -> str:
    """`${NAME}`, `${NAME:-default}` and `${NAME:?message}` as Compose reads them."""

    def value(match: "re.Match[str]") -> str:
        name, operator, rest = match.groups()
        found = values.get(name, "")
        assert found or operator != ":?", f"{name}: {rest}"
        return found or (rest if operator == ":-" else "")

    return re.sub(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}", value, text)


def services(name: str, values: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(interpolated((PROJECT / name).read_text(), values))["services"]
    return found


def of_the_image() -> dict[str, str]:
    """What the Dockerfile sets."""
    (line,) = re.findall(r"^ENV (PATH=.+)$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)
    return dict(pair.split("=", 1) for pair in line.split())


def example(changes: dict[str, str]) -> dict[str, str]:
    """A .env file made from the example."""
    lines = dict(re.findall(r"^([A-Z][A-Z0-9_]+)=(.*)$", EXAMPLE, re.MULTILINE))
    return {**lines, **changes}


def started(service: dict[str, Any], env_file: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of a container of this service."""
    variables = {**of_the_image(), **(env_file if "env_file" in service else {}), **service["environment"]}
    with monkeypatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        return load_settings()


def test_every_variable_in_the_files_is_known() -> None:
    named = {*re.findall(r"^#?([A-Z][A-Z0-9_]+)=", EXAMPLE, re.MULTILINE)}
    named |= {*re.findall(r"\$\{(\w+)", (PROJECT / "compose.yaml").read_text())}
    for file in ("compose.yaml", "compose.local.yaml"):
        for name, service in services(file, FILLED_IN).items():
            if name in ("api", "worker", "knowledge"):
                named |= {*service["environment"]}
    assert named <= SETTINGS | OTHERS
    unset = {name for name in of_the_image() if not name.startswith(("PATH", "PYTHON"))} - SETTINGS
    assert not unset


@pytest.mark.parametrize("changes", [{}, IN_A_BUCKET], ids=["originals in a volume", "originals in a bucket"])
def test_the_processes_of_a_team_start_with_the_settings_in_the_files(
    changes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    env_file = example({**FILLED_IN, **changes})
    found = services("compose.yaml", env_file)
    for role in ("api", "worker"):
        settings = started(found[role], env_file, monkeypatch)
        assert (settings.app_profile, settings.role, settings.database_driver) == ("server", role, "postgres")
        assert settings.storage_driver == env_file["STORAGE_DRIVER"]
        assert settings.worker_concurrency == 4
    originals = found["worker"]["volumes"][0].split(":")[1]
    assert settings.storage_driver == "s3" or str(settings.blobs_path) == originals


def test_a_team_cannot_start_with_the_example_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="set it in"):
        services("compose.yaml", example({}))
    found = services("compose.yaml", FILLED_IN)
    with pytest.raises(SettingsError, match="DASHBOARD_PASSPHRASE"):
        started({"environment": {**found["api"]["environment"], "DASHBOARD_PASSPHRASE": "short"}}, {}, monkeypatch)


def test_one_person_starts_without_any_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    (service,) = services("compose.local.yaml", {}).values()
    settings = started(service, {}, monkeypatch)
    assert (settings.database_driver, settings.role, str(settings.data_dir)) == ("sqlite", "all", "/data")
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])  # nobody has to sign in


def test_containers_have_no_rights_and_write_only_where_they_must() -> None:
    own = [*services("compose.local.yaml", {}).values()]
    own += [service for name, service in services("compose.yaml", FILLED_IN).items() if name in ("api", "worker")]
    for service in own:
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"]
    dockerfile = (PROJECT / "Dockerfile").read_text()
    assert re.search(r"^USER \d+:\d+$", dockerfile, re.MULTILINE)
    assert "HEALTHCHECK" in dockerfile
