"""Sessions and API keys."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from mcp_knowledge.domain.access import MAX_PASSPHRASE_CHARS, AccessScope
from mcp_knowledge.interfaces.rest.arguments import Arguments, NoControls
from mcp_knowledge.interfaces.rest.schemas.common import Shape, Timestamp
from mcp_knowledge.interfaces.rest.schemas.documented import SOME_LINE

KeyName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NoControls, SOME_LINE]


class Session(Shape):
    """How a client stands."""

    passphraseRequired: bool = Field(description="Whether a passphrase is set.")
    authenticated: bool = Field(description="Whether this client has a session or key, or needs none.")


class SignIn(Arguments):
    """Signing in."""

    passphrase: Annotated[str, StringConstraints(max_length=MAX_PASSPHRASE_CHARS)] = Field(
        description="DASHBOARD_PASSPHRASE."
    )


class SignedIn(Shape):
    """It worked."""

    authenticated: Literal[True]


class ApiKey(Shape):
    """An API key without its secret."""

    id: str
    name: str
    keyPrefix: str = Field(description="How the secret begins.")
    scopes: list[AccessScope]
    createdAt: Timestamp
    lastUsedAt: Timestamp | None = Field(description="To the minute.")


class NewApiKey(ApiKey):
    """An API key with its secret."""

    secret: str = Field(description="`key_…`; shown this one time.")


class ApiKeyPage(Shape):
    """API keys, newest first."""

    items: list[ApiKey]
    nextCursor: str | None


class ApiKeyCreate(Arguments):
    """A new API key."""

    name: KeyName = Field(description="What people know it by; need not be unique.")
    scopes: list[AccessScope] = Field(
        ["read"], min_length=1, description="`read` searches and reads, `write` also changes, `admin` also makes keys."
    )
