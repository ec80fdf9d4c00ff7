import idna
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_knowledge.domain.urls import MAX_URL_CHARS, RefusedUrl, UnusableUrl, follow, read_url, without_fragment

READ = {
    "http://example.com": "http://example.com/",
    "HTTPS://Example.COM./Path?Q#frag": "https://example.com/Path?Q",
    "  https://example.com/a \n": "https://example.com/a",
    "https://example.com:443/": "https://example.com/",
    "https://example.com:8443/x": "https://example.com:8443/x",
    "http://example.com:080/": "http://example.com/",
    "http://example.com:/": "http://example.com/",
    "https://a_b.example.com/": "https://a_b.example.com/",
    "http://8.8.8.8/": "http://8.8.8.8/",
    "http://134744072/": "http://8.8.8.8/",
    "http://0x8.010.8.8./": "http://8.8.8.8/",
    "http://8.526344/": "http://8.8.8.8/",
    "http://[2606:4700::1111]:8080/x": "http://[2606:4700::1111]:8080/x",
    "http://[::ffff:8.8.8.8]/": "http://[::ffff:808:808]/",
    "https://straße.de/ä b?ü=ß": "https://xn--strae-oqa.de/%C3%A4%20b?%C3%BC=%C3%9F",
    "https://例え。テスト/": "https://xn--r8jz45g.xn--zckzah/",
    "https://ＥＸＡＭＰＬＥ．com/": "https://example.com/",
    "https://example.com/a%20b%2Fc": "https://example.com/a%20b%2Fc",
    "https://example.com/?a=b?c": "https://example.com/?a=b?c",
    'https://example.com/"<>`{}^': "https://example.com/%22%3C%3E%60%7B%7D%5E",
    "https://example.com/می\u200cخواهم": "https://example.com/%D9%85%DB%8C%E2%80%8C%D8%AE%D9%88%D8%A7%D9%87%D9%85",
    "https://localhost.example.com/": "https://localhost.example.com/",
    "https://example.com/@user": "https://example.com/@user",
}

REFUSED = """
http://127.0.0.1 http://127.0.0.1:8080/ http://127.1 http://127.0.1 http://2130706433 http://0x7f000001 http://0x7F.1
http://0177.0.0.1 http://0177.1 http://017700000001 http://0x7f.0x0.0x0.0x1 http://127.0.0.1. http://0 http://0.0.0.0
http://0x http://0x0 http://00 http://000000177.0.0.1 http://1 http://4294967295 http://10.1 http://192.168.257
http://169.254.169.254/latest/meta-data/ http://2852039166 http://0xA9FEA9FE http://0251.0376.0251.0376
http://169.254.43518 http://168.63.129.16 http://100.100.100.200
http://１２７.0.0.1 http://①②⑦.⓪.⓪.① http://127。0。0。1 http://127．0．0．1 http://127｡0｡0｡1 http://𝟏𝟐𝟕.𝟎.𝟎.𝟏 http://０ｘ７ｆ.1
http://[::1] http://[::] http://[0:0:0:0:0:0:0:1] http://[::ffff:127.0.0.1] http://[::ffff:7f00:1] http://[::127.0.0.1]
http://[fe80::1%25eth0] http://[fe80::1%eth0] http://[fd00:ec2::254] http://[64:ff9b::169.254.169.254]
http://[2002:7f00:1::] http://[2001:0:7f00:1:8000:63bf:f7f7:f7f7] http://[::ffff:0:127.0.0.1] http://[ff02::1]
http://localhost http://LocalHost http://localhost. http://ｌｏｃａｌｈｏｓｔ http://ⓛocalhost http://a.localhost http://localhost:3000
http://localhost.localdomain http://printer.local http://metadata.google.internal http://METADATA.google.internal.
http://metadata http://instance-data http://instance-data.ec2.internal http://router.home.arpa
http://user@example.com http://user:pass@example.com http://:@example.com http://127.0.0.1@example.com
http://example.com@127.0.0.1 http://example.com%40@127.0.0.1/
file:///etc/passwd FILE:///etc/passwd ftp://example.com gopher://example.com data:text/html,x javascript:alert(1)
ws://example.com blob:https://example.com/1 jar:http://example.com!/ view-source:http://example.com about:blank
"""

UNUSABLE = """
http:// http:/// http:///path http://? http://# http://: http://:80 https:example.com http:/example.com http://.
http://.. http://a..b http://.example.com http://example.com.. http://[::1 http://::1 http://[] http://[v1.x]
http://[1.2.3.4] http://[::1]x http://[g::1] http://example.com:99999 http://example.com:0 http://example.com:x
http://example.com:-1 http://example.com:+80 http://example.com:٨٠ http://1.2.3.4.5 http://256.1.1.1 http://1.256.1.1
http://4294967296 http://0xffffffffff http://08.1.1.1 http://0x7g.1 http://1.2.3.08 http://example.0x1 http://a.127
http://exa%6dple.com http://127.0.0.1%00.example.com http://example.com%2e http://-a.com http://a-.com http://a!b.com
http://℀.com http://a：80.com http://a／b http://😀.example
example.com //example.com /path www.example.com ://x 127.0.0.1 ?x
"""

UNUSABLE_TEXTS = [
    "",
    " ",
    "http://a b.com/",
    "http://example.com/a\nb",
    "http://exam\tple.com/",
    "http://example.com/\0",
    "http://example.com/\x7f",
    "http://example.com\\@127.0.0.1/",
    "http:\\\\example.com",
    "http://example.com/\ud800",
    "http://example.com/\u2028",
    "http://exam\u00adple.com/",
    "http://exam\u200bple.com/",
    f"http://{'a' * 64}.com/",
    f"http://{'a.' * 127}com/",
    "http://example.com/" + "a" * MAX_URL_CHARS,
    "http://" + "1" * 500,
]


@pytest.mark.parametrize(("text", "expected"), READ.items())
def test_an_address_is_read(text: str, expected: str) -> None:
    assert str(read_url(text)) == expected


@pytest.mark.parametrize("text", REFUSED.split())
def test_a_dangerous_address_is_refused(text: str) -> None:
    with pytest.raises(RefusedUrl):
        read_url(text)


@pytest.mark.parametrize("text", [*UNUSABLE.split(), *UNUSABLE_TEXTS])
def test_what_is_no_complete_address_is_not_read(text: str) -> None:
    with pytest.raises(UnusableUrl):
        read_url(text)


def test_the_host_header_names_the_port_only_where_it_is_not_the_usual_one() -> None:
    assert read_url("https://example.com:443/").host_header == "example.com"
    assert read_url("http://example.com:443/").host_header == "example.com:443"
    assert read_url("http://[2606:4700::1]:81/").host_header == "[2606:4700::1]:81"


@pytest.mark.parametrize(
    ("location", "expected"),
    {
        "/other?x": "https://example.com/other?x",
        "other": "https://example.com/a/other",
        "../up": "https://example.com/up",
        "?q=1": "https://example.com/a/b?q=1",
        "//cdn.example.org/x": "https://cdn.example.org/x",
        "http://example.org/": "http://example.org/",
        "/ä": "https://example.com/%C3%A4",
    }.items(),
)
def test_a_redirect_is_followed_from_where_it_was_met(location: str, expected: str) -> None:
    assert str(follow(read_url("https://example.com/a/b?old"), location)) == expected


@pytest.mark.parametrize("location", ["http://127.0.0.1/", "//localhost/", "file:///etc/passwd", "//x@example.com/"])
def test_a_redirect_is_judged_like_any_address(location: str) -> None:
    with pytest.raises(RefusedUrl):
        follow(read_url("https://example.com/"), location)


@pytest.mark.parametrize("location", ["http://", "http://[::1", "/\0", "\\\\127.0.0.1"])
def test_a_redirect_to_nowhere_is_not_followed(location: str) -> None:
    with pytest.raises(UnusableUrl):
        follow(read_url("https://example.com/"), location)


def test_the_fragment_is_not_part_of_where_a_document_came_from() -> None:
    assert without_fragment(" https://Example.com/A?b#c ") == "https://Example.com/A?b"


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    for candidate in (text, f"http://{text}", f"https://example.com/{text}", f"http://[{text}]/"):
        try:
            address = read_url(candidate)
        except (UnusableUrl, RefusedUrl) as error:
            assert str(error).endswith(".")
        else:
            assert str(address).isascii()
            assert str(read_url(str(address))) == str(address)


@given(st.text(st.sampled_from("aäßçżдéñ漢字한글ไทयήöÅÆİ"), min_size=1, max_size=12))
def test_names_in_other_scripts_are_written_as_the_idna_package_writes_them(label: str) -> None:
    try:
        expected = idna.encode(f"{label}.example", uts46=True, transitional=False).decode()
    except idna.IDNAError:
        assume(False)
    assert read_url(f"http://{label}.example/").host == expected
