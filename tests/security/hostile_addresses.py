"""Addresses that nothing may be fetched from, in every spelling that some program somewhere understands."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

# This machine, its neighbours, its cloud's metadata, and what is nobody's.
INNER = (
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
    *("100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
)
INNER_V6 = (
    *(
        "::1",
        "::",
        "0:0:0:0:0:0:0:1",
        "0000:0000:0000:0000:0000:0000:0000:0001",
        "fe80::1",
        "fe80::1%25lo",
        "fe80::1%lo",
    ),
    *("fc00::1", "fd00:ec2::254", "fd20:ce::254", "fec0::1", "ff02::1", "100::1", "2001:db8::1", "3fff::1", "5f00::1"),
    *("64:ff9b:1::808:808", "2001:2::1", "2001:10::1", "::ffff:0:0"),
)
NAMES = (
    *("localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost.localdomain"),
    *("metadata", "metadata.", "MetaData.Google.Internal", "metadata.google.internal.", "x.metadata.google.internal"),
    *("metadata.goog", "a.metadata.goog", "instance-data", "instance-data.ec2.internal", "metadata.azure.internal"),
    *("metadata.azure.com", "metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com"),
    *("kubernetes.default.svc.cluster.local", "printer.local", "router.home.arpa", "db.internal"),
    *(
        "ｌｏｃａｌｈｏｓｔ",
        "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
        "ℓocalhost",
        "localhoſt",
        "local\u00adhost",
        "localhost\u3002",
        "metadata。google。internal",
    ),
)
WIDE = str.maketrans("0123456789abcdefx", "０１２３４５６７８９ａｂｃｄｅｆｘ")
CIRCLED = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")
BOLD = str.maketrans("0123456789", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗")
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def spellings(text: str) -> Iterator[str]:
    """An IPv4 address as a host of a URL."""
    address = IPv4Address(text)
    number, parts = int(address), address.packed
    first, second, third, last = parts
    yield from (text, f"{text}.", str(number), f"{number}.", hex(number), hex(number).upper().replace("X", "x"))
    yield from (f"0X{number:X}", f"0{number:o}", f"000000{number:o}", f"0x00000000{number:x}")
    yield from (".".join(map(hex, parts)), ".".join(f"0{part:o}" for part in parts))
    yield from (".".join(f"0000{part:o}" for part in parts), f"{first:#x}.0{second:o}.{third}.{last:#x}")
    yield from (
        f"{first}.{number & 0xFFFFFF}",
        f"{first}.{second}.{number & 0xFFFF}",
        f"{first:#x}.{number & 0xFFFFFF:#x}",
    )
    for digits in (WIDE, CIRCLED, BOLD, ARABIC):
        yield text.translate(digits)
    yield from (hex(number).translate(WIDE), *(text.replace(".", dot) for dot in "。．｡"))
    yield from (f"{text}%00", f"{text}%2eexample.com", f"%31{text[1:]}", f"{text}\u200b", f"{text}\u00ad")
    yield from (f"[{form}]" for form in carriers(number))


def carriers(number: int) -> Iterator[str]:
    """IPv6 addresses that lead to an IPv4 address."""
    dotted, turned = IPv4Address(number), number ^ 0xFFFF_FFFF
    yield from (f"::ffff:{dotted}", f"::FFFF:{dotted}", f"0:0:0:0:0:ffff:{number >> 16:x}:{number & 0xFFFF:x}")
    yield from (
        f"::{dotted}",
        f"::ffff:0:{dotted}",
        f"64:ff9b::{dotted}",
        f"64:ff9b:1::{dotted}",
        f"::ffff:{dotted}%25lo",
    )
    carrying = (
        0x0064_FF9B << 96 | number,  # NAT64
        0x0064_FF9B_0001 << 80 | number,  # NAT64 of a site's own, RFC 8215
        0x2002 << 112 | number << 80,  # 6to4
        0x2002 << 112 | number << 80 | 0xFFFF << 64 | 1,
        0x2001_0000 << 96 | number << 64 | 0x8000_63BF_F7F7_F7F7,  # Teredo, as the server
        0x2001_0000_0808_0808_8000_63BF << 32 | turned,  # Teredo, as the client
        0x2606_4700 << 96 | 0x5EFE << 32 | number,  # ISATAP
        0x2606_4700 << 96 | 0x0200_5EFE << 32 | number,
        0xFE80 << 112 | 0x5EFE << 32 | number,
    )
    yield from (str(IPv6Address(value)) for value in carrying)


def around(host: str, port: int) -> Iterator[str]:
    """Addresses of web pages that seem to be elsewhere, and lead to a host, or to none."""
    yield from (
        f"http://{host}:{port}/",
        f"https://{host}:{port}/",
        f"HTTP://{host}:{port}",
        f" http://{host}:{port}/\n",
    )
    yield from (
        f"http://files.example@{host}:{port}/",
        f"http://files.example:80@{host}:{port}/",
        f"http://@{host}:{port}/",
    )
    yield from (f"http://files.example%40{host}:{port}/", f"http://{host}:{port}\\@files.example/")
    yield from (f"http://files.example\\@{host}:{port}/", f"http:\\\\{host}:{port}/", f"http:{host}:{port}/")
    yield from (
        f"http:/{host}:{port}/",
        f"http:///{host}:{port}/",
        f"//{host}:{port}/",
        f"{host}:{port}",
        f"h\nttp://{host}/",
    )
    yield from (
        f"http://{host}:{port}\t/",
        f"http://\t{host}:{port}/",
        f"http://{host}\n:{port}/",
        f"http://{host}\x00:{port}/",
    )
    yield from (
        f"http://{host}:{port}#@files.example/",
        f"http://{host}:{port}?@files.example/",
        f"http:// {host}:{port}/",
    )
    yield from (
        f"{scheme}://{host}:{port}/" for scheme in ("ftp", "gopher", "dict", "ws", "tftp", "ldap", "smb", "file")
    )
    yield from (f"jar:http://{host}:{port}!/", f"view-source:http://{host}:{port}/", f"blob:http://{host}:{port}/1")


def hostile_addresses(port: int) -> Iterator[str]:
    """The whole table; wherever a port can stand, it is this one."""
    for text in INNER:
        yield from (f"http://{host}:{port}/" for host in spellings(text))
    for host in (*(f"[{text}]" for text in INNER_V6), *NAMES):
        yield f"http://{host}:{port}/"
    for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1"):
        yield from around(host, port)
    yield from ("file:///etc/passwd", "file://localhost/etc/passwd", "data:text/plain,words", "javascript:1", "")
