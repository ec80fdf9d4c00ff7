"""The names of a zip archive's entries, in whichever encoding their program chose."""

import struct
import zipfile
import zlib

_UTF8_FLAG = 0x800  # APPNOTE.TXT 4.4.4, bit 11
_UNICODE_PATH = 0x7075  # APPNOTE.TXT 4.6.9: Info-ZIP Unicode Path Extra Field
_FIELD = struct.Struct("<HH")
_UNICODE_PATH_HEADER = struct.Struct("<BL")  # version, and the CRC-32 of the plain name that it stands for


def member_name(info: zipfile.ZipInfo) -> str:
    """The name as its writer meant it: UTF-8 where it says so or reads as such, else CP437."""
    if info.flag_bits & _UTF8_FLAG:
        return info.orig_filename
    raw = info.orig_filename.encode("cp437")  # which is how `zipfile` has read it, every byte a character
    stated = _unicode_path(info.extra, raw)
    if stated is not None:
        return stated
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return info.orig_filename


def _unicode_path(extra: bytes, raw: bytes) -> str | None:
    while len(extra) >= _FIELD.size:
        kind, length = _FIELD.unpack_from(extra)
        data, extra = extra[_FIELD.size : _FIELD.size + length], extra[_FIELD.size + length :]
        if kind != _UNICODE_PATH or len(data) < _UNICODE_PATH_HEADER.size:
            continue
        version, checksum = _UNICODE_PATH_HEADER.unpack_from(data)
        if version == 1 and checksum == zlib.crc32(raw):  # else the name was changed by a program that knows no field
            try:
                return data[_UNICODE_PATH_HEADER.size :].decode()
            except UnicodeDecodeError:
                return None
    return None
