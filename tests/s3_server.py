"""A real S3 server over HTTP for tests."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from mcp_knowledge.adapters.s3_connection import Bucket

KEY, SECRET = "AKIATESTTESTTEST", "a-secret-of-tests"
_REGION = "us-east-1"


class S3Server:
    """moto's server on a free port, in threads of this process. It asks for no credentials unless told to."""

    def __init__(self) -> None:
        from moto.server import ThreadedMotoServer  # a second, which few tests have to wait

        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        self.address: tuple[str, int] = self._server.get_host_and_port()
        self.url = f"http://{self.address[0]}:{self.address[1]}"

    def stop(self) -> None:
        """End the server."""
        self._server.stop()

    def new_bucket(self, endpoint: str | None = None) -> Bucket:
        """An empty bucket.

        Args:
            endpoint: where the store is to reach it; the server itself when omitted.
        """
        name = f"originals-{secrets.token_hex(8)}"
        self._call("PUT", f"/{name}", "s3")
        return Bucket(name, endpoint or self.url, _REGION, KEY, SECRET)

    def unfinished_uploads(self, bucket: Bucket) -> int:
        """Uploads in parts that were neither completed nor aborted."""
        return self._call("GET", f"/{bucket.name}?uploads", "s3").count("<UploadId>")

    def keys(self, bucket: Bucket) -> set[str]:
        """All that is in the bucket but the mark of its owner."""
        listed = re.findall("<Key>(.+?)</Key>", self._call("GET", f"/{bucket.name}?list-type=2", "s3"))
        return {*listed} - {"mcp-knowledge/owner"}

    def etag(self, bucket: Bucket, key: str) -> str:
        """An object's tag: with a hyphen and the number of parts when it went up in parts."""
        answer = httpx2.head(f"{self.url}/{bucket.name}/{key}", headers=_signed("s3"))
        return str(answer.headers["etag"]).strip('"')

    def new_user(self) -> tuple[str, str]:
        """Key and secret of somebody who may do nothing."""
        name = f"user-{secrets.token_hex(4)}"
        self._call("POST", "/", "iam", Action="CreateUser", UserName=name)
        answer = self._call("POST", "/", "iam", Action="CreateAccessKey", UserName=name)
        key, secret = (re.findall(rf"<{tag}>(.+?)</{tag}>", answer)[0] for tag in ("AccessKeyId", "SecretAccessKey"))
        return key, secret

    @contextmanager
    def asking_for_credentials(self) -> Iterator[None]:
        """From here on whoever asks must be known and have the right."""
        httpx2.post(f"{self.url}/moto-api/reset-auth", content=b"0").raise_for_status()
        try:
            yield
        finally:
            httpx2.post(f"{self.url}/moto-api/reset-auth", content=b"inf").raise_for_status()

    def _call(self, method: str, path: str, service: str, **form: str) -> str:
        answer = httpx2.request(method, self.url + path, data=form or None, headers=_signed(service))
        assert answer.status_code < 300, answer.text
        return answer.text


def _signed(service: str) -> dict[str, str]:
    """The header by which moto finds the service; it does not look at the signature."""
    credential = f"{KEY}/20260101/{_REGION}/{service}/aws4_request"
    return {"Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=0"}
