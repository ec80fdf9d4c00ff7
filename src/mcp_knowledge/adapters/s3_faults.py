"""What an S3 server's refusals mean, in sentences for whoever runs the service."""

import re
from typing import Final

from mcp_knowledge.adapters.s3_connection import Bucket

# The XML body of a refusal, and what obstore writes before it (obstore keeps neither as a field).
_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3})|returned error response: (\d{3})")
_THROTTLED: Final = 429
_FIRST_SERVER_FAULT: Final = 500
_REDIRECT: Final = "Received redirect"
_NO_LIST: Final = "Got invalid list response"
_INSTANCE_ROLES: Final = "169.254.169.254"  # where a machine in the cloud asks for the credentials of its role
# Codes of https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
NO_BUCKET: Final = "NoSuchBucket"
_UNKNOWN_CREDENTIALS = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "TokenRefreshRequired"}
)
_WRONG_REGION = frozenset({"AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException"})


def code_of(error: BaseException) -> str:
    """The server's code, such as NoSuchKey; empty when there is none."""
    match = _CODE.search(str(error))
    return match.group(1) if match else ""


def is_refusal(error: BaseException) -> bool:
    """Whether a server that is well says no, so that asking again is of no use."""
    text = str(error)
    if any(mark in text for mark in (_REDIRECT, _NO_LIST, _INSTANCE_ROLES)):
        return True
    match = _STATUS.search(text)
    status = int(match.group(1) or match.group(2)) if match else _FIRST_SERVER_FAULT
    return status < _FIRST_SERVER_FAULT and status != _THROTTLED


def sentence_of(error: BaseException, bucket: Bucket) -> str:
    """What is wrong with the settings, naming them but no secret."""
    code, text = code_of(error), str(error)
    if _INSTANCE_ROLES in text:
        return (
            "There are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "or give this machine a role."
        )
    if code == NO_BUCKET:
        return (
            f"There is no bucket '{bucket.name}' at {bucket.address}: create it, or correct S3_BUCKET or S3_ENDPOINT."
        )
    if code in _UNKNOWN_CREDENTIALS:
        return (
            f"The S3 server at {bucket.address} does not know these credentials ({code}): "
            "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN."
        )
    if code == "RequestTimeTooSkewed":
        return f"The clock of this machine differs too much from that of the S3 server at {bucket.address}."
    if code in _WRONG_REGION or _REDIRECT in text:
        return f"The bucket '{bucket.name}' (S3_BUCKET) is in another region: set S3_REGION to its own."
    if "status code: 403" in text:
        return (
            f"The credentials (AWS_ACCESS_KEY_ID) lack a right to the bucket '{bucket.name}' (S3_BUCKET): "
            "list the bucket, and read, write and delete objects."
        )
    return (
        f"The server at {bucket.address} (S3_ENDPOINT) does not answer as S3 does for the bucket '{bucket.name}' "
        f"(S3_BUCKET){f': {code}' if code else ''}."
    )
