"""The `Content-Disposition` header, of a part of an upload (RFC 7578) and of an answer from the web (RFC 6266)."""

import re
from urllib.parse import unquote_to_bytes

_PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)')


def read_disposition(header: bytes) -> tuple[str | None, str | None]:
    """The field's and the file's name that a header states; `filename*` (RFC 8187) beats `filename`."""
    plain: dict[str, str] = {}
    for name, value in _PARAMETER.findall(header.decode("latin-1")):
        text = value.strip()
        if len(text) >= 2 and text[0] == text[-1] == '"':
            # Only these two are escapes to the browsers and tools that send them: a lone backslash is a Windows path.
            text = text[1:-1].replace("\\\\", "\\").replace('\\"', '"')
        plain.setdefault(name.lower(), text)
    field = plain.get("name")
    extended = _extended_value(plain.get("filename*", ""))
    filename = plain.get("filename")
    return (
        None if field is None else _utf8(field.encode("latin-1")),
        extended or (None if filename is None else _utf8(filename.encode("latin-1"))),
    )


def _extended_value(value: str) -> str | None:
    """An RFC 8187 value, `UTF-8''na%C3%AFve.txt`; None when it is none."""
    charset, first, rest = value.partition("'")
    _, second, encoded = rest.partition("'")
    if not (first and second and encoded):
        return None
    data = unquote_to_bytes(encoded)
    return data.decode("latin-1") if charset.lower() == "iso-8859-1" else _utf8(data)


def _utf8(data: bytes) -> str:
    """UTF-8, which all of today's clients send; else Latin-1, in which every byte is a character."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
