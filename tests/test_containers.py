"""The files for containers: every variable in them is known, and every process starts from them without a fault."""

import base64
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from image_proof import compose
from image_proof.compose import UnsetVariableError, interpolated
from image_proof.dockerfile import Config, DockerfileError, configure, ignored, instructions, stages
from image_proof.linux import BUILD_PATH

from mcp_knowledge.settings import Settings, SettingsError, load_settings

PROJECT = Path(__file__).parent.parent
SETTINGS = {name.upper() for name in Settings.model_fields}
# Of Compose, of the image's build, of PostgreSQL's client and of its image.
OTHERS = {"API_PORTS", "COMPOSE_PROFILES", "EXTRA", "PGPASSWORD", "POSTGRES_PASSWORD", "POSTGRES_SHARED_BUFFERS"}
OTHERS |= {"OTEL_EXPORTER_OTLP_ENDPOINT"}  # read by the library that sends traces
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


def services(name: str, values: dict[str, str]) -> dict[str, Any]:
    return compose.services(PROJECT / name, values)


def image() -> Config:
    """What the Dockerfile says of how its last stage is run."""
    config = Config(env={"PATH": BUILD_PATH})
    for item in stages(PROJECT / "Dockerfile", {})[-1].instructions:
        configure(config, item, {})
    return config


def of_the_image() -> dict[str, str]:
    """The environment that the Dockerfile sets."""
    return image().env


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
    with pytest.raises(UnsetVariableError, match="set it in"):
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
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert all(mount.split(":")[1].startswith(image().volumes[0]) for mount in service["volumes"])


def test_the_image_says_how_it_is_run() -> None:
    found = image()
    assert found.user == "10001:10001" and found.workdir == "/data"
    assert (found.entrypoint, found.cmd, found.stop_signal) == (["mcp-knowledge"], ["serve"], "SIGTERM")
    assert found.ports == [found.env["PORT"]]


@pytest.mark.parametrize(("host", "status"), [("0.0.0.0", 200), ("::", 200), ("127.0.0.1", 500)])
def test_the_health_check_asks_where_the_server_listens_and_no_proxy(host: str, status: int) -> None:
    program, *arguments = image().health
    assert program == "python"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server, ThreadPoolExecutor(1) as pool:
        server.settimeout(30)
        asked = pool.submit(answer_once, server, status)
        env = {"HOST": host, "PORT": str(server.getsockname()[1]), "http_proxy": "http://127.0.0.1:9"}
        result = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, timeout=30)
        assert (result.returncode == 0) is (status == 200), result.stderr
        request = asked.result(30)
        assert request.startswith("GET /health ") and "Host: localhost" in request


def answer_once(server: socket.socket, status: int) -> str:
    """Answer one client, and give the head of its request."""
    connection, _ = server.accept()
    with connection:
        head = connection.recv(4096).decode()
        connection.sendall(f"HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n".encode())
    return head


def test_all_files_speak_of_the_version_of_the_package() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert image().labels["org.opencontainers.image.version"] == version
    for name in ("compose.yaml", "compose.local.yaml"):
        own = [service for service in services(name, FILLED_IN).values() if "build" in service]
        assert {service["image"] for service in own} == {f"mcp-knowledge:{version}"}


def test_every_stage_has_one_base_with_a_whole_version_and_can_have_another() -> None:
    for stage in stages(PROJECT / "Dockerfile", {}):
        assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm", stage.base)
    other = stages(PROJECT / "Dockerfile", {"PYTHON_IMAGE": "python@sha256:0123"})
    assert {stage.base for stage in other} == {"python@sha256:0123"}


def test_the_linter_has_nothing_to_say_of_the_dockerfile() -> None:
    program = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    assert program is not None
    result = subprocess.run([program, "Dockerfile"], cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_image_is_made_of_what_belongs_into_it() -> None:
    patterns = (PROJECT / ".dockerignore").read_text()
    for name in ("src/mcp_knowledge/app.py", "requirements/runtime.txt", "requirements/otel.txt", "pyproject.toml"):
        assert not ignored(name, patterns)
    for name in (".env", "data/app.db", ".git/config", "tests/front_door.py", "src/mcp_knowledge/__pycache__/app.pyc"):
        assert ignored(name, patterns)


@pytest.mark.parametrize("name", ["runtime", "otel", "build"])
def test_what_the_image_installs_is_pinned_with_hashes(name: str) -> None:
    lines = (PROJECT / "requirements" / f"{name}.txt").read_text().splitlines()
    pinned = [index for index, line in enumerate(lines) if re.match(r"[a-z]", line)]
    assert pinned and all("==" in lines[index] and "--hash=sha256:" in lines[index + 1] for index in pinned)


def test_traces_add_to_what_is_installed_and_change_nothing_of_it() -> None:
    packages = {
        name: set(re.findall(r"^[a-z].*==\S+", (PROJECT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE))
        for name in ("runtime", "otel")
    }
    assert packages["runtime"] < packages["otel"]
    assert any(line.startswith("opentelemetry-sdk==") for line in packages["otel"] - packages["runtime"])


def test_a_dockerfile_is_read_as_an_engine_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text(
        "ARG BASE=debian:12\nFROM ${BASE} AS first\n# a comment\nENV A=1 B=$A\nRUN one \\\n # within\n && two\n"
        'FROM first\nCOPY --from=first /a /b/\nWORKDIR /x\nWORKDIR y\nCMD ["p", "q r"]\n'
    )
    first, last = stages(path, {})
    assert (first.base, first.name, last.base, last.name) == ("debian:12", "first", "first", "1")
    assert [(item.name, item.value) for item in first.instructions][1] == ("RUN", "one && two")
    assert (last.instructions[0].flags, last.instructions[0].value) == ({"from": "first"}, "/a /b/")
    config = Config()
    for item in last.instructions:
        configure(config, item, {})
    assert (config.workdir, config.cmd) == ("/x/y", ["p", "q r"])


@pytest.mark.parametrize("text", ["ONBUILD RUN x", "CMD mcp-knowledge serve"], ids=["unknown", "shell form"])
def test_what_the_proof_cannot_carry_out_is_refused(text: str) -> None:
    with pytest.raises(DockerfileError):
        for item in instructions(text):
            configure(Config(), item, {})


def test_variables_of_compose_files_have_defaults_and_demands() -> None:
    assert interpolated("${A:-x} ${B:-y} ${C}", {"B": "b", "C": "c"}) == "x b c"
    with pytest.raises(UnsetVariableError, match="A: set it"):
        interpolated("${A:?set it}", {"A": ""})
