"""The image in use, started as the compose files say."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from postgres_server import PostgresServer
from server_use import Client
from steps import StepError, expect

from image_proof.building import Image
from image_proof.compose import seconds, services
from image_proof.container import Container, new_volume

SAMPLES = ("care-of-the-lamp.pdf", "volunteer-handbook.docx", "visitor-guide.md")
LOCAL_URL = "http://127.0.0.1:3000"
WORKER_PORT = "3001"  # all processes share one loopback here
FILLED_IN = {
    "POSTGRES_PASSWORD": "0123456789abcdef",
    "DASHBOARD_PASSPHRASE": "correct horse battery",
    "DOCUMENT_CURSOR_SECRET": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
}
NO_RIGHTS = "0000000000000000"
Said = list[tuple[str, str]]


def prove_local(project: Path, image: Image, work: Path) -> Said:
    """compose.local.yaml: use it, stop it, start it again; all is there."""
    (service,) = services(project / "compose.local.yaml", {}).values()
    volumes = {"/data": new_volume(image.root, "/data", work / "data")}
    container = Container("local", image.root, image.config, variables(service), volumes, work).start()
    said = [("local: healthy after the start", f"{container.wait_healthy():.1f} s")]
    client = Client(LOCAL_URL)
    client.wait_ready()
    started = time.monotonic()
    documents = client.upload([project / "src/mcp_knowledge/samples" / name for name in SAMPLES])
    said.append((f"local: {len(documents)} documents uploaded and read", f"{time.monotonic() - started:.1f} s"))
    found = client.search()
    expect(bool(found) and "quay" in client.ask_over_mcp(), "search and MCP find nothing")
    container.execute(["mcp-knowledge", "doctor"])
    container.execute(["mcp-knowledge", "backup", "/data/backup.tar"])
    check_confinement(container)
    said.append(stopped("local", container, service))
    container.start()
    said.append(("local: healthy after a restart", f"{container.wait_healthy():.1f} s"))
    client.wait_ready()
    expect(client.search() == found, "a restart has changed what is found")
    said.append(stopped("local again", container, service))
    return said


def prove_team(project: Path, image: Image, work: Path) -> Said:
    """compose.yaml: an API process and a worker share PostgreSQL and the volume of originals."""
    found = services(project / "compose.yaml", FILLED_IN)
    originals = new_volume(image.root, "/data/documents", work / "originals")
    with PostgresServer(work / "postgres", durable=True) as database:
        containers = {}
        for role in ("api", "worker"):
            volumes = {"/data": new_volume(image.root, "/data", work / role), "/data/documents": originals}
            env = {**variables(found[role]), "DATABASE_URL": database.dsn()}
            if role == "worker":
                env["PORT"] = WORKER_PORT
            containers[role] = Container(role, image.root, image.config, env, volumes, work).start()
        said = [(f"team: {role} healthy", f"{each.wait_healthy():.1f} s") for role, each in containers.items()]
        for each in containers.values():
            check_confinement(each)
        made = containers["api"].execute(["mcp-knowledge", "keys", "create", "proof", "--scope", "write", "--json"])
        client = Client(LOCAL_URL, json.loads(made)["secret"])
        client.wait_ready()
        started = time.monotonic()
        client.upload([project / "src/mcp_knowledge/samples" / name for name in SAMPLES])
        said.append((f"team: {len(SAMPLES)} documents uploaded and read", f"{time.monotonic() - started:.1f} s"))
        expect("quay" in client.ask_over_mcp() and bool(client.search()), "search and MCP find nothing")
        expect(len([path for path in originals.rglob("*") if path.is_file()]) >= len(SAMPLES), "no originals")
        said += [stopped(f"team: {role}", each, found[role]) for role, each in containers.items()]
    return said


def variables(service: Mapping[str, Any]) -> dict[str, str]:
    """The environment of a service, which has to be confined as this proof confines it."""
    expect(service["read_only"] is True and service["cap_drop"] == ["ALL"], "the compose file grants too much")
    expect(service["tmpfs"] == ["/tmp:size=1g"], "another tmpfs than the one of this proof")
    return dict(service["environment"])


def check_confinement(container: Container) -> None:
    """No right, no way to one, no place to write but the volume and /tmp.

    Raises:
        StepError: there is one.
    """
    status = container.status()
    expect(status["NSpid"].split()[-1] == "1", "the program is not process 1")
    expect(status["Uid"].split() == ["10001"] * 4 and status["Groups"] == "", "not the image's user")
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        expect(status[field] == NO_RIGHTS, f"{field} is {status[field]}")
    expect(status["NoNewPrivs"] == "1", "a program could gain rights")
    for place in ("/", "/app", "/etc", "/usr/local", "/var/tmp"):
        expect(not writable(container, place), f"{place} can be written")
    expect(writable(container, "/tmp") and writable(container, "/data"), "there is no place to write")


def writable(container: Container, folder: str) -> bool:
    """Whether a file can be made in a folder of a container."""
    try:
        container.execute(["/bin/sh", "-c", f"echo > {folder}/proof && rm {folder}/proof"])
    except StepError:
        return False
    return True


def stopped(name: str, container: Container, service: Mapping[str, Any]) -> tuple[str, str]:
    """What there is to say of a stop.

    Raises:
        StepError: it took longer than the compose file grants, or ended with a fault.
    """
    code, took_s = container.stop(seconds(service["stop_grace_period"]))
    expect(code == 0, f"{name} ended with {code}:\n{container.log.read_text()[-2000:]}")
    return f"{name}: ended after the stop signal", f"{took_s:.1f} s"
