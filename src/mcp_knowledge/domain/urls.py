"""Web addresses as people and servers write them: taken apart by one strict reader, and judged.

Nobody reads the text a second time: who connects uses the parts that were judged here. Host names are only judged by
name (the addresses behind them are judged when they are looked up); numbers in any form that C libraries accept for an
IPv4 address are read as such.
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from mcp_knowledge.domain.addresses import public

MAX_URL_CHARS = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_HOST_CHARS = 253  # RFC 1035 section 2.3.4, without the last dot
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_KEPT_IN_PATH = "%/:@!$&'()*+,;=~-._[]|"  # percent signs stay: what is encoded already is not encoded again

# Names that stand for this machine or for its surroundings (RFC 6761, RFC 6762, RFC 8375, ICANN's reserved .internal).
_LOCAL_DOMAINS = ("localhost", "localdomain", "local", "internal", "home.arpa", "localhost6", "localdomain6")
# Names of clouds' metadata services beside those, some of which lead to public addresses.
_METADATA_HOSTS = (
    *("metadata", "instance-data", "rancher-metadata", "metadata.goog", "metadata.azure.com"),
    *("metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com"),
)


class UnusableUrl(ValueError):
    """The text is no web address; the message says what is wrong with it, for a person."""


class RefusedUrl(ValueError):
    """A web address that is not fetched, for safety; the message says why, for a person."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A judged address.

    Args:
        host: lower-case ASCII name without a last dot, or the canonical text of an IP address.
        ip: the host is an IP address and needs no look-up.
        target: path and query, percent-encoded ASCII, as they go into a request.
    """

    scheme: str
    host: str
    ip: bool
    port: int
    target: str

    @property
    def host_header(self) -> str:
        """The host as a request names it, with the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host_header}{self.target}"


def read_url(text: str) -> WebAddress:
    """Take an address apart and judge it.

    Raises:
        UnusableUrl: it is no complete web address.
        RefusedUrl: its scheme, host or a password in it is not allowed.
    """
    text = _plain(text)
    scheme = _SCHEME.match(text)
    if scheme is None:
        raise UnusableUrl("An address begins with http:// or https://.")
    if scheme[1].lower() not in DEFAULT_PORTS:
        raise RefusedUrl("Only http and https addresses are fetched.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise UnusableUrl("The host or the port of this address is not valid.") from None
    if "@" in parts.netloc:
        raise RefusedUrl("An address with a user name or password in it is not fetched.")
    if not parts.hostname:
        raise UnusableUrl("This address has no host.")
    bracketed = parts.netloc.startswith("[")
    if port == 0 or (bracketed and parts.netloc.partition("]")[2][:1] not in ("", ":")):
        raise UnusableUrl("The host or the port of this address is not valid.")
    host, is_ip = _host(parts.hostname, bracketed=bracketed)
    target = quote(parts.path or "/", safe=_KEPT_IN_PATH)
    if parts.query:
        target += "?" + quote(parts.query, safe=_KEPT_IN_PATH + "?")
    return WebAddress(parts.scheme, host, is_ip, port or DEFAULT_PORTS[parts.scheme], target)


def follow(base: WebAddress, location: str) -> WebAddress:
    """Where a redirect leads, judged anew. Raises UnusableUrl, RefusedUrl."""
    try:
        joined = urljoin(str(base), _plain(location))
    except ValueError:
        raise UnusableUrl("The redirect leads to no web address.") from None
    return read_url(joined)


def without_fragment(text: str) -> str:
    """An address as it was given, without the part that is never sent."""
    return text.strip().partition("#")[0]


def _plain(text: str) -> str:
    text = text.strip(" \t\r\n")
    if len(text) > MAX_URL_CHARS:
        raise UnusableUrl(f"An address may have {MAX_URL_CHARS:,} characters.")
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text) or "\\" in text:
        raise UnusableUrl("This address has a character that no address may have.")
    return text


def _host(raw: str, *, bracketed: bool) -> tuple[str, bool]:
    """A host in its canonical form, and whether it is an IP address. Raises UnusableUrl, RefusedUrl."""
    if bracketed:
        return _ip_host(_ipv6(raw)), True
    host = _ascii_host(raw)
    numbers = host.split(".")
    if _NUMBER.fullmatch(numbers[-1]):
        return _ip_host(_ipv4(numbers)), True
    if len(host) > _MAX_HOST_CHARS or not all(_LABEL.fullmatch(label) for label in numbers):
        raise UnusableUrl("The host of this address is not valid.")
    if any(host == name or host.endswith(f".{name}") for name in (*_LOCAL_DOMAINS, *_METADATA_HOSTS)):
        raise RefusedUrl("This name belongs to a local network, which is not fetched from.")
    return host, False


def _ip_host(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if not public(address):
        raise RefusedUrl("This address is not on the public internet and is not fetched.")
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if mapped is None:
        return str(address)
    upper, lower = divmod(int(mapped), 1 << 16)  # Python 3.13 writes the mapped address with dots, 3.11 does not
    return f"::ffff:{upper:x}:{lower:x}"


def _ipv6(raw: str) -> ipaddress.IPv6Address:
    try:
        return ipaddress.IPv6Address(raw.replace("%25", "%"))  # RFC 6874 writes a zone after an encoded percent sign
    except ValueError:
        raise UnusableUrl("The host of this address is not valid.") from None


def _ipv4(numbers: list[str]) -> ipaddress.IPv4Address:
    """The address that one to four decimal, octal or hexadecimal numbers name, as C's `inet_aton` reads them."""
    try:
        values = [_number(text) for text in numbers]
        if len(values) > 4 or any(value > 255 for value in values[:-1]):
            raise ValueError
        total = sum(value << 8 * (3 - place) for place, value in enumerate(values[:-1]))
        if values[-1] >= 256 ** (5 - len(values)):
            raise ValueError
        return ipaddress.IPv4Address(total + values[-1])
    except ValueError:
        raise UnusableUrl("The host of this address is not valid.") from None


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text) or len(text) > 64:
        raise ValueError
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8 if text.startswith("0") and len(text) > 1 else 10)


def _ascii_host(raw: str) -> str:
    """A host name in ASCII and lower case: compatibility forms folded (full-width digits, other dots), other scripts
    in Punycode (RFC 3492), as IDNA 2008 without transitional mappings does.
    """
    folded = unicodedata.normalize("NFKC", "".join(char.lower() for char in unicodedata.normalize("NFKC", raw)))
    folded = folded.replace("\u3002", ".").removesuffix(".")
    if folded.isascii():
        return folded
    return ".".join(_punycode(label) for label in folded.split("."))


def _punycode(label: str) -> str:
    if label.isascii():
        return label
    allowed = all(char in "-_" or unicodedata.category(char)[0] in "LMN" for char in label)
    if not allowed or label.isdecimal():  # digits of another script are no name, and an address to nobody but attackers
        raise UnusableUrl("The host of this address is not valid.")
    return "xn--" + label.encode("punycode").decode("ascii")
