"""How a bucket is reached."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from obstore.store import S3Store

from mcp_knowledge.settings import Settings

if TYPE_CHECKING:
    from obstore.store import S3Config

# Each pause is drawn between the first and `_GROWTH` times the one before. With less than e they shrink more often than
# they grow, and a thousand clients knock at a server that has just come back.
FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 3.0
_GROWTH = 3
_UNLIMITED_RETRIES = 1000  # time limits them
# Of a request with its body. A reader may take that long, and `read` goes on after it.
_LONGEST_REQUEST_S = 3600.0


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where originals are kept, and with what right.

    Args:
        endpoint: of the server, with its scheme; empty: AWS itself.
        region: empty: what AWS_REGION or AWS_DEFAULT_REGION says, else us-east-1.
        access_key_id: empty, as the other two: the role that the machine or container has.
    """

    name: str
    endpoint: str = ""
    region: str = ""
    access_key_id: str = field(default="", repr=False)
    secret_access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """For messages."""
        return self.endpoint or "AWS"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server may take, in seconds.

    Args:
        connect_s: to take a connection.
        silence_s: to say anything. A part has to go up in this time, which two at once do at 4.5 Mbit/s.
        retry_s: from the beginning of a request to the last time it is made again; 0: never. The default outlasts an
            outage of 10 s with room to spare, gives a second try to what met silence, and answers whoever uploads
            before browsers and proxies give up.
        check_s: to say whether the bucket is there.
    """

    connect_s: float = 5.0
    silence_s: float = 30.0
    retry_s: float = 60.0
    check_s: float = 5.0

    def once(self) -> "Patience":
        """The same for checks, which are not made again."""
        return replace(self, connect_s=min(self.connect_s, self.check_s / 2), silence_s=self.check_s, retry_s=0.0)


def bucket_of(settings: Settings) -> Bucket:
    """The bucket that the settings name."""
    secrets = (settings.aws_access_key_id, settings.aws_secret_access_key, settings.aws_session_token)
    revealed = [secret.get_secret_value() if secret else "" for secret in secrets]
    return Bucket(settings.s3_bucket, settings.s3_endpoint, settings.s3_region, *revealed)


def connect(bucket: Bucket, patience: Patience) -> S3Store:
    """A client of a bucket. Nothing is sent yet."""
    config: S3Config = {
        # A server of one's own has no name for each bucket, and a bucket with a dot would not match a certificate.
        "virtual_hosted_style_request": not bucket.endpoint and "." not in bucket.name,
        "disable_bulk_delete": True,  # not every server can delete several objects at once, and we never do
    }
    if bucket.endpoint:
        config["endpoint"] = config["aws_endpoint_url_s3"] = bucket.endpoint
    if bucket.region:
        config["region"] = bucket.region
    if bucket.access_key_id:
        config["access_key_id"] = bucket.access_key_id
        config["secret_access_key"] = bucket.secret_access_key
    if bucket.session_token:
        config["session_token"] = bucket.session_token
    return S3Store(
        bucket.name,
        config=config,
        client_options={
            "allow_http": bucket.endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=patience.connect_s),
            "read_timeout": timedelta(seconds=patience.silence_s),
            "timeout": timedelta(seconds=_LONGEST_REQUEST_S),
        },
        retry_config={
            "max_retries": _UNLIMITED_RETRIES if patience.retry_s else 0,
            "retry_timeout": timedelta(seconds=patience.retry_s),
            "backoff": {
                "init_backoff": timedelta(seconds=FIRST_PAUSE_S),
                "max_backoff": timedelta(seconds=_LONGEST_PAUSE_S),
                "base": _GROWTH,
            },
        },
    )
