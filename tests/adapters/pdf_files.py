"""Small PDF files made in code: text at positions, pictures, encryption markers and document properties."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Courier"}


@dataclass
class Page:
    """A page: lines of text as (x, y from the bottom, size, text, font), whether a picture fills it, annotations."""

    lines: Sequence[tuple[float, float, float, str, str]] = ()
    picture: bool = False
    extra: str = ""
    annotations: Sequence[str] = ()

    def stream(self) -> bytes:
        parts = [f"BT /{font} {size} Tf {x} {y} Td ({_escaped(text)}) Tj ET" for x, y, size, text, font in self.lines]
        if self.picture:
            parts.append("q 612 0 0 792 0 0 cm /Im0 Do Q")
        return "\n".join([*parts, self.extra]).encode("cp1252")


def text_page(*paragraphs: str, heading: str = "", top: str = "", bottom: str = "") -> Page:
    """A page of wrapped paragraphs, with a heading in large bold, and a running header and footer."""
    lines: list[tuple[float, float, float, str, str]] = []
    y = 700.0
    if top:
        lines.append((72, 760, 9, top, "F1"))
    if heading:
        lines.append((72, y, 20, heading, "F2"))
        y -= 36
    for paragraph in paragraphs:
        for line in paragraph.split("\n"):
            lines.append((72, y, 11, line, "F1"))
            y -= 14
        y -= 14
    if bottom:
        lines.append((300, 30, 9, bottom, "F1"))
    return Page(lines)


def make_pdf(
    pages: Sequence[Page], info: dict[str, str] | None = None, owner: str = "", user: str | None = None
) -> bytes:
    """A PDF 1.4 file with these pages; encrypted (RC4, 40 bits) when a user password is given, which may be empty."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    add(b"")  # the catalogue and the page tree, filled in below
    add(b"")
    fonts = " ".join(
        f"/{key} {add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>'.encode())} 0 R"
        for key, name in FONTS.items()
    )
    entries = "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
    picture = add(_stream(b"\x80", entries))
    kids = []
    fields: list[str] = []
    for page in pages:
        content = add(_stream(page.stream(), ""))
        annotations = [f"{add(body.encode())} 0 R" for body in page.annotations]
        fields += [item for item, body in zip(annotations, page.annotations, strict=True) if "/Widget" in body]
        resources = f"<< /Font << {fonts} >> /XObject << /Im0 {picture} 0 R >> >>"
        entries = f"/Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R /Annots [{' '.join(annotations)}]"
        kids.append(add(f"<< /Type /Page {entries} /Resources {resources} >>".encode()))
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{' '.join(fields)}] >> >>".encode()
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>".encode()
    trailer = ""
    if info:
        entries = " ".join(f"/{key} ({_escaped(value)})" for key, value in info.items())
        trailer = f" /Info {add(f'<< {entries} >>'.encode('cp1252'))} 0 R"
    return _file(objects, trailer) if user is None else _encrypted(objects, trailer, owner, user)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _stream(data: bytes, entries: str) -> bytes:
    return f"<< {entries} /Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream"


def _file(objects: list[bytes], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R{trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _encrypted(objects: list[bytes], trailer: str, owner: str, user: str) -> bytes:
    """The standard security handler, revision 2 (ISO 32000-1, section 7.6.3), over the streams; strings stay plain."""
    file_id, permissions = b"0123456789abcdef", (-44).to_bytes(4, "little", signed=True)
    owner_entry = rc4(hashlib.md5(_padded(owner or user)).digest()[:5], _padded(user))
    key = hashlib.md5(_padded(user) + owner_entry + permissions + file_id).digest()[:5]
    locked = [_locked_stream(body, number, key) for number, body in enumerate(objects, 1)]
    owner_hex, user_hex = owner_entry.hex(), rc4(key, PASSWORD_PADDING).hex()
    locked.append(f"<< /Filter /Standard /V 1 /R 2 /O <{owner_hex}> /U <{user_hex}> /P -44 >>".encode())
    entries = f"{trailer} /Encrypt {len(locked)} 0 R /ID [<{file_id.hex()}> <{file_id.hex()}>]"
    return _file(locked, entries)


PASSWORD_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")


def _padded(password: str) -> bytes:
    return (password.encode("latin-1") + PASSWORD_PADDING)[:32]


def _locked_stream(body: bytes, number: int, key: bytes) -> bytes:
    head, mark, rest = body.partition(b">>\nstream\n")
    if not mark:
        return body
    object_key = hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[:10]
    return head + mark + rc4(object_key, rest.removesuffix(b"\nendstream")) + b"\nendstream"


def rc4(key: bytes, data: bytes) -> bytes:
    """The cipher, which is its own reverse."""
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
