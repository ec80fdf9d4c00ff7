"""The parts of the service in plain sentences: that each works, or what is wrong and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_knowledge.interfaces.web.wording import counted
from mcp_knowledge.services.status import SystemStatus


@dataclass(frozen=True, slots=True)
class Check:
    """One part.

    Args:
        name: for people.
        sentence: how it stands; where it is not healthy, with what to do.
    """

    name: str
    healthy: bool
    sentence: str


def checks(
    ready: Mapping[str, bool], storage_driver: str, model: str, system: SystemStatus | None, somebody_works: bool
) -> list[Check]:
    """Every part, in the order in which one rests on the other.

    Args:
        ready: what the process says of its parts.
        model: the name of the embedding model.
        system: None while the database does not answer; what only it knows is then left out.
        somebody_works: whether any process of this database takes jobs.
    """
    found = [_database(ready), _storage(ready, storage_driver)]
    if system is None:
        return [*found, _model(ready, model)]
    return [
        found[0],
        _tables(system, ready),
        found[1],
        _embedding(system, ready, model),
        _workers(system, somebody_works),
        _queue(system, somebody_works),
    ]


def _database(ready: Mapping[str, bool]) -> Check:
    if ready["database"]:
        return Check("Database", True, "Answers.")
    return Check(
        "Database",
        False,
        "It does not answer. Check that its disk is there and not full, or that the PostgreSQL server of DATABASE_URL "
        "runs. Everything goes on by itself once it answers.",
    )


def _tables(system: SystemStatus, ready: Mapping[str, bool]) -> Check:
    if ready["migrations"]:
        return Check("Tables", True, f"Up to date (version {system.database.migration}).")
    return Check(
        "Tables",
        False,
        "Their version could not be read. Restart the server: it brings them up to date when it starts.",
    )


def _storage(ready: Mapping[str, bool], driver: str) -> Check:
    where = "a folder of this server" if driver == "local" else "an S3 bucket"
    if ready["storage"]:
        return Check("Originals", True, f"Kept in {where}.")
    return Check(
        "Originals",
        False,
        f"They cannot be reached ({where}). Uploads are refused and work waits until they can; searches go on. Run "
        "“mcp-knowledge doctor” on the server: it says what is wrong.",
    )


def _model(ready: Mapping[str, bool], model: str) -> Check:
    if ready["embedding"]:
        return Check("Meaning", True, f"The model {model} is loaded. It runs on this server.")
    return Check(
        "Meaning",
        False,
        f"The model {model} could not be loaded, so searches find words only. Check EMBEDDING_MODEL_PATH.",
    )


def _embedding(system: SystemStatus, ready: Mapping[str, bool], model: str) -> Check:
    if ready["embedding"] and not system.embedding_healthy:
        return Check(
            "Meaning",
            False,
            f"The model is {model} now, but some documents were learned by another one and are found by their words "
            "only. Read them again, below.",
        )
    return _model(ready, model)


def _workers(system: SystemStatus, somebody_works: bool) -> Check:
    if not somebody_works:
        return Check(
            "Worker",
            False,
            "No process reads new files; they wait. Start a server with ROLE=all, or one with ROLE=worker on the same "
            "database.",
        )
    active = system.counts.active_workers
    return Check("Worker", True, f"{counted(active, 'process', 'processes')} at work right now." if active else "Idle.")


def _queue(system: SystemStatus, somebody_works: bool) -> Check:
    jobs = system.counts.jobs
    waiting, failed = jobs["queued"] + jobs["retrying"], jobs["failed"]
    parts = [f"{counted(waiting, 'job')} waiting" if waiting else "Nothing is waiting"]
    if failed:
        parts.append(f"{failed:,} failed")
    sentence = f"{', '.join(parts)}."
    if waiting and not somebody_works:
        return Check("Queue", False, f"{sentence} It moves as soon as a worker runs.")
    return Check("Queue", True, sentence)
