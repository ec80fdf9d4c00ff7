"""Every setting, in one class. The configuration table in docs, `mcp-knowledge config` and the start-up checks
come from it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_serializer, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from mcp_knowledge.domain.access import MAX_PASSPHRASE_CHARS
from mcp_knowledge.domain.addresses import is_address, is_loopback
from mcp_knowledge.domain.cursors import secret_from

MODEL_DIR = Path(__file__).parent / "models" / "all-MiniLM-L6-v2"
MIB = 1024 * 1024
Positive = Annotated[int, Field(gt=0)]
SERVER_DEFAULTS = {"database_driver": "postgres", "storage_driver": "s3", "worker_concurrency": 4}
SERVER_PASSPHRASE_CHARS = 12
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]")
_ENDPOINT = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?/?")
_REGION = re.compile(r"[A-Za-z0-9-]+")
_HOST_TO_BIND = re.compile(r"[A-Za-z0-9._-]{1,253}")  # an IPv6 address is another matter
_HOST_NAME = re.compile(r"[A-Za-z0-9._:-]+|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")  # or an address; with a port or without
_CREDENTIAL = re.compile(r"[!-~]+")
# User and password, then hosts. An unescaped sign in a password would make a part of it a host or a name.
_HOST = r"(?:\[[^\[\]@/?]*\]|[^:@/?\[\]]*)(?::\d*)?"
_POSTGRES_URL = re.compile(rf"postgres(?:ql)?://(?:[^@/]*@)?{_HOST}(?:,{_HOST})*(?:/[^@?]*)?(?:\?.*)?")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_WHICH_FILE = "It is the one in the folder where the program was started; mend it, or start in another folder."
_MASK = "**********"  # as pydantic shows a secret
_PASSWORD = re.compile(r"^(\w+://[^:@]*:).*@")  # up to the last @: one of the password may not be escaped
_PASSWORD_IN_QUERY = re.compile(r"([?&](?:ssl)?password=)[^&#]*")


class SettingsError(Exception):
    """The configuration cannot work. `faults` has one line each, ready for the user."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


class Settings(BaseSettings):
    """Settings from environment variables and a `.env` file. A field's upper-case name is its variable."""

    model_config = SettingsConfigDict(
        env_file=".env", env_file_encoding="utf-8", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    app_profile: Literal["local", "server"] = Field(
        "local",
        description="`local`: one process, one file on this machine. `server`: many processes on PostgreSQL and S3, "
        "4 parser processes each (DATABASE_DRIVER, STORAGE_DRIVER, WORKER_CONCURRENCY) unless those say otherwise; "
        "needs DASHBOARD_PASSPHRASE and DOCUMENT_CURSOR_SECRET.",
    )
    role: Literal["all", "api", "worker"] = Field(
        "all",
        description="What this process does: answer requests (`api`), ingest (`worker`), or both; one without the "
        "other needs `DATABASE_DRIVER=postgres`.",
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(3000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(Path("./data"), description="Folder of the database and the originals.")

    database_driver: Literal["sqlite", "libsql", "postgres"] = Field(
        "sqlite",
        description="`libsql` opens the same file through the libsql package; `postgres` is a server that any number "
        "of processes share.",
    )
    database_url: str = Field(
        "",
        repr=False,  # it may hold a password
        description="Database address; empty means `file:<DATA_DIR>/app.db`. For PostgreSQL "
        "`postgresql://user:password@host:5432/database`.",
    )
    database_pool_size: int = Field(
        12,
        ge=3,
        le=1000,
        description="Most connections of one process to PostgreSQL, beside two for locks and messages.",
    )
    storage_driver: Literal["local", "s3"] = Field(
        "local", description="Where originals are kept: `local`, in a folder; `s3`, in a bucket."
    )
    storage_path: Path | None = Field(
        None, description="Folder of the originals (`local`); empty means `<DATA_DIR>/documents`."
    )
    s3_bucket: str = Field("", description="Bucket of the originals (`s3`), which nothing else uses.")
    s3_endpoint: str = Field("", description="`https://host[:port]` or `http://…` of the S3 server; empty means AWS.")
    s3_region: str = Field("", description="Region of the bucket; empty means AWS_REGION, else `us-east-1`.")
    aws_access_key_id: SecretStr | None = Field(
        None, description="Key for S3; empty, as the next two: the role of the machine or container."
    )
    aws_secret_access_key: SecretStr | None = Field(None, description="The key's secret.")
    aws_session_token: SecretStr | None = Field(None, description="Token of a key that is valid for a time.")

    dashboard_passphrase: SecretStr | None = Field(
        None, description="What people sign in with; empty: everyone who reaches the port may do everything."
    )
    document_cursor_secret: SecretStr | None = Field(
        None,
        description="Base64 of 32 bytes that sign cursors and sessions; empty: random ones, kept in the database.",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Host names clients may use, comma-separated, beside loopback names and HOST."
    )
    allow_insecure_bind: bool = Field(
        False,
        description="Listen beyond loopback all the same (a container whose port is published on loopback).",
    )

    embedding_model_path: Path = Field(MODEL_DIR, description="Folder with `model.onnx` and `tokenizer.json`.")
    embedding_dimensions: Positive = Field(384, description="Length of the model's vectors.")
    embedding_max_tokens: Positive = Field(256, description="Tokens the model reads.")
    embedding_batch_size: Positive = Field(32, description="Most texts in one model call.")

    chunk_target_tokens: Positive = Field(180, description="Size a chunk aims at, in model tokens.")
    chunk_min_tokens: Positive = Field(64, description="Smallest chunk where the text allows.")
    chunk_max_tokens: Positive = Field(220, description="Largest chunk.")
    chunk_overlap_tokens: int = Field(32, ge=0, description="Tokens that neighbouring chunks of one section share.")

    vector_candidates: Positive = Field(50, description="Candidates from the vector side.")
    lexical_candidates: Positive = Field(50, description="Candidates from the lexical side.")
    fusion: Literal["rrf", "relative"] = Field(
        "rrf", description="How the sides are fused unless a request says otherwise."
    )
    rrf_k: Positive = Field(60, description="The constant of reciprocal rank fusion.")
    max_collapse_candidates: Positive = Field(200, description="How far the pools may grow to fill a collapsed page.")

    default_search_limit: Positive = Field(8, description="Hits when a request names no limit.")
    max_search_limit_api: Positive = Field(50, description="Most hits over REST and in the dashboard.")
    max_search_limit_mcp: Positive = Field(20, description="Most hits over MCP.")
    max_list_limit: Positive = Field(100, description="Most items of a list page.")
    max_mcp_document_chars: Positive = Field(32_000, description="Most characters of a document page over MCP.")
    max_mcp_result_chars: Positive = Field(60_000, description="Most characters of a search result over MCP.")

    job_lease_ms: Positive = Field(300_000, description="Milliseconds a worker holds a job without renewing.")
    worker_concurrency: Positive = Field(1, description="Parser processes at work at once.")

    ingest_data_dir: Path | None = Field(
        None, description="Folder that is scanned at start: its files become documents; empty: none."
    )
    ingest_data_max_depth: int = Field(8, gt=0, le=256, description="How many folders deep the scan goes.")
    ingest_data_max_files: Positive = Field(10_000, description="Most files of one scan; the next one goes on there.")
    ingest_data_watch: bool = Field(False, description="Keep watching the folder after the scan.")
    ingest_data_prune: bool = Field(
        False,
        description="Remove documents whose files are gone from the folder, at most a tenth of them in one pass.",
    )

    url_fetch_timeout_ms: Positive = Field(30_000, description="Wall clock of fetching one URL, in milliseconds.")
    url_fetch_max_redirects: int = Field(3, ge=0, description="Most redirects that are followed.")

    max_upload_bytes: Positive = Field(64 * MIB, description="Largest upload.")
    max_extract_bytes: Positive = Field(8 * MIB, description="Most text taken from one file.")
    max_document_pages: Positive = Field(500, description="Most pages of one file.")
    max_spreadsheet_cells: Positive = Field(200_000, description="Most cells of one spreadsheet.")
    max_archive_uncompressed_bytes: Positive = Field(
        100 * MIB, description="Most bytes inside an archive or Office file."
    )
    max_archive_entries: Positive = Field(1024, description="Most entries of an archive or Office file.")
    max_archive_compression_ratio: Positive = Field(100, description="Highest compression ratio of an entry.")
    parser_timeout_ms: Positive = Field(30_000, description="Wall clock and CPU time of one parse, in milliseconds.")
    parser_memory_bytes: Positive = Field(2048 * MIB, description="Address space of a parser process.")
    ingestion_timeout_ms: Positive = Field(
        600_000, description="Wall clock of one ingestion, from its turn on, in milliseconds."
    )
    max_chunks_per_document: Positive = Field(20_000, description="Most chunks of one document.")

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="How much is logged.")
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", description="`auto`: text on a terminal, else JSON lines."
    )

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator(
        "ingest_data_dir",
        "dashboard_passphrase",
        "document_cursor_secret",
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        mode="before",
    )
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        return None if value == "" else value

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_profile(cls, values: Any) -> Any:
        is_server = isinstance(values, dict) and values.get("app_profile") == "server"
        return {**SERVER_DEFAULTS, **values} if is_server else values

    @field_serializer("database_url", when_used="json")
    def _masked(self, value: str) -> str:
        return without_password(value)

    @model_validator(mode="after")
    def _check(self) -> "Settings":
        faults = [*self._faults()]
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _faults(self) -> Iterator[str]:
        """What cannot work together, a line each."""
        if not self.chunk_min_tokens <= self.chunk_target_tokens <= self.chunk_max_tokens:
            yield "CHUNK_MIN_TOKENS, CHUNK_TARGET_TOKENS and CHUNK_MAX_TOKENS must rise in this order"
        if self.chunk_overlap_tokens >= self.chunk_target_tokens:
            yield "CHUNK_OVERLAP_TOKENS must be below CHUNK_TARGET_TOKENS"
        if self.chunk_max_tokens >= self.embedding_max_tokens:
            yield "CHUNK_MAX_TOKENS must be below EMBEDDING_MAX_TOKENS"
        yield from self._database_faults()
        if self.storage_driver == "s3":
            yield from self._s3_faults()
        if self.ingest_data_dir is not None and self._own_data_is_near(self.ingest_data_dir):
            yield "INGEST_DATA_DIR must not lie in the service's own data (DATA_DIR), nor hold it"
        yield from self._access_faults()

    def _database_faults(self) -> Iterator[str]:
        if self.database_driver == "postgres":
            if not self.database_url:
                yield "DATABASE_URL must be set for DATABASE_DRIVER=postgres: postgresql://user:password@host/database"
            elif not self.database_url.startswith(("postgresql://", "postgres://")):
                yield "DATABASE_URL must begin with 'postgresql://' for DATABASE_DRIVER=postgres"
            elif not _POSTGRES_URL.fullmatch(self.database_url):
                yield (
                    "DATABASE_URL must look like postgresql://user:password@host:port/database; signs such as @ and / "
                    "in user and password are written as %40 and %2F"
                )
            return
        if self.database_url and not self.database_url.startswith("file:"):
            yield (
                f"DATABASE_URL must begin with 'file:' for DATABASE_DRIVER={self.database_driver}; "
                "a PostgreSQL server needs DATABASE_DRIVER=postgres"
            )
        if self.role != "all":
            yield (
                f"ROLE={self.role} needs DATABASE_DRIVER=postgres: a database in a file has one server, "
                "which answers and ingests"
            )

    def _s3_faults(self) -> Iterator[str]:
        if not _BUCKET.fullmatch(self.s3_bucket):
            yield "S3_BUCKET must be the name of a bucket for STORAGE_DRIVER=s3: 3 to 63 letters, digits, dots, hyphens"
        if self.s3_endpoint and not _ENDPOINT.fullmatch(self.s3_endpoint):
            yield "S3_ENDPOINT must look like https://host or http://host:9000"
        if self.s3_region and not _REGION.fullmatch(self.s3_region):
            yield "S3_REGION must be a region's name, such as eu-central-1"
        if (self.aws_access_key_id is None) != (self.aws_secret_access_key is None):
            yield "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set both, or neither"
        for name in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token"):
            secret: SecretStr | None = getattr(self, name)
            if secret is not None and not _CREDENTIAL.fullmatch(secret.get_secret_value()):
                yield f"{name.upper()} must not hold blanks, line ends or letters beyond ASCII"

    def _access_faults(self) -> Iterator[str]:
        passphrase, secret = self.dashboard_passphrase, self.document_cursor_secret
        if passphrase:
            yield from _passphrase_faults(passphrase.get_secret_value())
        if not all(_HOST_NAME.fullmatch(name) for name in self.allowed_hosts):
            yield "ALLOWED_HOSTS must be host names or addresses, with a port or without: no * and no http://"
        if self.app_profile == "server":
            if passphrase is None or len(passphrase.get_secret_value()) < SERVER_PASSPHRASE_CHARS:
                yield f"DASHBOARD_PASSPHRASE needs {SERVER_PASSPHRASE_CHARS} characters or more in the server profile"
            if secret is None:
                yield "DOCUMENT_CURSOR_SECRET must be set in the server profile: the base64 of exactly 32 bytes"
        if secret is not None:
            try:
                secret_from(secret.get_secret_value())
            except ValueError as error:
                yield str(error)
        if not (_HOST_TO_BIND.fullmatch(self.host) or is_address(self.host)):
            yield "HOST must be an address or a host name alone: no http://, no port, no brackets"
        elif not (self.binds_loopback or passphrase or self.allow_insecure_bind):
            yield (
                f"HOST {self.host} is open to the network and nobody has to sign in: set DASHBOARD_PASSPHRASE, "
                "use a loopback address, or set ALLOW_INSECURE_BIND=true where something else protects the port"
            )

    def _own_data_is_near(self, folder: Path) -> bool:
        """Whether the folder is, holds or lies in one of the folders that the service writes to."""
        folder = folder.resolve()
        own = [path.resolve() for path in (self.data_dir, self.blobs_path)]
        holding = own if self.database_driver == "postgres" else [*own, self.database_path.parent.resolve()]
        return any(folder.is_relative_to(path) for path in own) or any(path.is_relative_to(folder) for path in holding)

    @property
    def binds_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        return self.host == "localhost" or is_loopback(self.host)

    @property
    def database_path(self) -> Path:
        """The embedded database's file; not for PostgreSQL."""
        return Path(self.database_url.removeprefix("file:")) if self.database_url else self.data_dir / "app.db"

    @property
    def blobs_path(self) -> Path:
        """The folder of the originals."""
        return self.storage_path or self.data_dir / "documents"

    @property
    def originals_address(self) -> str:
        """Where originals are kept, for people."""
        if self.storage_driver == "local":
            return str(self.blobs_path)
        return f"s3://{self.s3_bucket}" + (f" at {self.s3_endpoint}" if self.s3_endpoint else "")


def _passphrase_faults(passphrase: str) -> Iterator[str]:
    """Why nobody could sign in with it, or everybody."""
    if not passphrase.strip():
        yield "DASHBOARD_PASSPHRASE must not be blank"
    if len(passphrase) > MAX_PASSPHRASE_CHARS:
        yield f"DASHBOARD_PASSPHRASE may have {MAX_PASSPHRASE_CHARS:,} characters"
    if _CONTROLS.search(passphrase):
        yield "DASHBOARD_PASSPHRASE must not hold line ends or other control characters: nobody could type them"


def without_password(url: str) -> str:
    """A database's address as it may be shown."""
    return _PASSWORD_IN_QUERY.sub(rf"\1{_MASK}", _PASSWORD.sub(rf"\1{_MASK}@", url))


def load_settings(**overrides: Any) -> Settings:
    """Read the settings; overrides win over the environment. Raises SettingsError with one line per fault."""
    try:
        return Settings(**overrides)
    except ValidationError as error:
        faults = []
        for item in error.errors():
            name = ".".join(str(part) for part in item["loc"]).upper()
            lines = item["msg"].removeprefix("Value error, ").splitlines()
            faults += [f"{name}: {line}" if name else line for line in lines]
        raise SettingsError(faults) from None
    except OSError as error:
        raise SettingsError([f"The settings in .env cannot be read: {error.strerror}. {_WHICH_FILE}"]) from None
    except UnicodeDecodeError:
        raise SettingsError([f"The settings in .env cannot be read: they are no UTF-8. {_WHICH_FILE}"]) from None
