import ipaddress
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.addresses import is_loopback, is_public, public

PUBLIC = """
8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0
172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450:4001:80b::200e 2001:200::1 3ffe::1
::ffff:8.8.8.8 ::FFFF:808:808 64:ff9b::8.8.8.8 64:ff9b::808:808 2002:808:808::1 2002:0808:0808:1234::5678
2001:0:808:808:8000:63bf:f7f7:f7f7 2606:4700::5efe:8.8.8.8
"""

REFUSED = """
0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.0 127.0.0.1
127.255.255.255 168.63.129.16 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0 172.31.255.255
192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.170 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.0 192.168.255.255 198.18.0.0
198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.254 255.255.255.255
:: ::1 ::2 ::127.0.0.1 ::10.0.0.1 ::ffff:0:0 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.1.2.3 ::ffff:169.254.169.254
::ffff:0:127.0.0.1 ::ffff:0:10.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b:1::8.8.8.8
64:ff9b:1::7f00:1 64:ff9b:1:ffff::1 64:ff9b:0:1::1 100::1 100:0:0:1::1 2001::1 2001:1::1 2001:2::1 2001:10::1 2001:20::1
2001:db8::1 2002:7f00:1::1 2002:a00:1::1 2002:c0a8:101::1 2002:a9fe:a9fe::1 3fff::1 3fff:fff::1 4000::1 5f00::1 8000::1
fc00::1 fd00:ec2::254 fd20:ce::254 fdff::1 fe80::1 fe80::1%eth0 fe80::1%1 2606:4700::1%eth0 fec0::1 ff02::1 ff0e::1
2001:0:7f00:1:8000:63bf:f7f7:f7f7 2001:0:808:808:8000:63bf:80ff:fffe 2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:7f00:1
fe80::5efe:8.8.8.8 2002:808:808::5efe:10.0.0.1
"""


@pytest.mark.parametrize("text", PUBLIC.split())
def test_an_address_of_the_public_internet_passes(text: str) -> None:
    assert is_public(text)


@pytest.mark.parametrize("text", REFUSED.split())
def test_an_address_of_any_other_network_does_not(text: str) -> None:
    assert not is_public(text)


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "01.2.3.4", "1.2.3.4/32", "8.8.8.8 ", "[::1]", "١٢٧.٠.٠.١"])
def test_what_is_no_address_does_not_pass(text: str) -> None:
    assert not is_public(text)


def test_loopback_is_told_in_either_family() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1")))
    others = (
        "0.0.0.0",
        "::",
        "::ffff:0.0.0.0",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "127.1",
        "0x7f000001",
        "localhost",
        "",
    )
    assert not any(map(is_loopback, others))


@given(st.integers(0, 2**32 - 1))
def test_forms_that_carry_an_ipv4_address_are_judged_by_it(number: int) -> None:
    inner = ipaddress.IPv4Address(number)
    turned = number ^ 0xFFFF_FFFF
    for carrier in (
        0xFFFF << 32 | number,
        0x64_FF9B << 96 | number,
        0x2002 << 112 | number << 80 | 1,
        0x2001_0000 << 96 | number << 64 | turned,
    ):
        assert public(ipaddress.IPv6Address(carrier)) == public(inner)


@given(st.integers(0, 2**32 - 1) | st.sampled_from([1 << shift for shift in range(32)]))
def test_nothing_passes_that_this_python_calls_not_global(number: int) -> None:
    address = ipaddress.IPv4Address(number)
    assert not public(address) or address.is_global


@given(st.integers(0, 2**128 - 1))
def test_an_ipv6_address_passes_only_inside_the_space_that_is_given_out(number: int) -> None:
    address = ipaddress.IPv6Address(number)
    if public(address):
        carriers = ("2000::/3", "::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96")
        assert any(address in ipaddress.IPv6Network(network) for network in carriers)


@pytest.mark.parametrize("network", ["10.0.0.0/8", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7", "2001:db8::/32"])
def test_no_address_anywhere_in_a_refused_network_passes(network: str) -> None:
    block, pick = ipaddress.ip_network(network), random.Random(1)
    for _ in range(200):
        assert not public(block[pick.randrange(block.num_addresses)])
