"""The guard, by addresses that are only compared, never connected to."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from andante.fetch.guard import AddressGuard, _carried, is_public

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "::8.8.8.8",
    "2002:808:808::1",
    "64:ff9b::8.8.8.8",
]
NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.9",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2001:10::1",
    "2001:20::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:c0a8:101::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1111%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "",
    "localhost",
    "8.8.8",
    "010.8.8.8",
    "0x7f.1",
]
METADATA = [
    "169.254.169.254",  # most clouds
    "169.254.170.2",  # Amazon's containers
    "fd00:ec2::254",  # Amazon, by IPv6
    "fd20:ce::254",  # Google, by IPv6
    "168.63.129.16",  # Azure
    "100.100.100.200",  # Alibaba
    "192.0.0.192",  # Oracle, of old
]
"""Where clouds tell their machines who they are, passwords included."""


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address):
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", METADATA)
def test_what_a_cloud_tells_its_machines_is_not_public(address):
    assert not is_public(address)
    if ":" not in address:
        number = int(IPv4Address(address))
        assert not is_public(f"::ffff:{address}")
        assert not is_public(f"::ffff:0:{address}")
        assert not is_public(f"::{address}")
        assert not is_public(f"64:ff9b::{address}")
        assert not is_public(f"64:ff9b:1::{address}")
        assert not is_public(str(IPv6Address(0x2002 << 112 | number << 80 | 1)))
        assert not is_public(str(IPv6Address(0x20010000 << 96 | number ^ 0xFFFFFFFF)))  # Teredo


def test_only_that_one_address_of_its_network_is_no_public_one():
    assert is_public("168.63.129.15")
    assert is_public("168.63.129.17")


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_in_ipv6_clothes_is_what_it_is(number):
    inner = IPv4Address(number)
    expected = is_public(str(inner))
    assert is_public(f"::ffff:{inner}") is expected
    assert is_public(f"64:ff9b::{inner}") is expected
    assert is_public(f"::{inner}") is expected
    assert is_public(str(IPv6Address(0x2002 << 112 | number << 80 | 1))) is expected


@given(st.ip_addresses())
def test_what_is_public_is_global_unicast(address):
    assume(address.version == 4 or _carried(address) is None)  # those are the test above's
    if is_public(str(address)):
        assert address.is_global
        assert not (address.is_multicast)
        assert not (address.is_private)
        assert not (address.is_loopback)
        assert not (address.is_link_local)


def test_only_public_addresses_are_admitted():
    guard = AddressGuard()
    assert guard.admitted("a.example", ["10.0.0.1", "8.8.8.8", "::1"]) == ["8.8.8.8"]
    assert guard.admitted("a.example", ["127.0.0.1"]) == []


def test_all_addresses_are_admitted_where_the_user_allows_it():
    guard = AddressGuard(allow_private=True)
    assert guard.admitted("a.example", ["10.0.0.1", "8.8.8.8"]) == ["10.0.0.1", "8.8.8.8"]


def test_a_seed_at_a_private_address_is_admitted_there_and_nobody_else():
    guard = AddressGuard()
    guard.trust({"intranet.example": None})
    assert guard.admitted("intranet.example", ["10.0.0.1"]) == ["10.0.0.1"]
    assert guard.admitted("intranet.example", ["10.0.0.2"]) == ["10.0.0.2"]
    assert guard.admitted("other.example", ["10.0.0.1"]) == []
    assert guard.admitted("10.0.0.1", ["10.0.0.1"]) == []


def test_a_seed_by_address_is_admitted():
    guard = AddressGuard()
    guard.trust({"127.0.0.1": None})
    assert guard.admitted("127.0.0.1", ["127.0.0.1"]) == ["127.0.0.1"]


def test_a_public_seed_cannot_be_rebound_to_a_private_address():
    seeds = {"evil.example": None, "intranet.example": None}
    guard = AddressGuard()
    guard.trust(seeds)
    assert guard.admitted("evil.example", ["8.8.8.8", "10.0.0.1"]) == ["8.8.8.8"]
    assert guard.admitted("intranet.example", ["10.0.0.1"]) == ["10.0.0.1"]
    assert guard.admitted("evil.example", ["10.0.0.1"]) == []
    assert seeds == {"evil.example": False, "intranet.example": True}
    restarted = AddressGuard()
    restarted.trust(seeds)
    assert restarted.admitted("evil.example", ["10.0.0.1"]) == []
    assert restarted.admitted("intranet.example", ["10.0.0.1"]) == ["10.0.0.1"]


def test_no_seed_is_at_a_private_address_where_the_user_wants_public_ones_only():
    seeds = {"evil.example": None, "intranet.example": True, "127.0.0.1": None}
    guard = AddressGuard(public_only=True)
    guard.trust(seeds)
    assert guard.admitted("evil.example", ["10.0.0.1", "8.8.8.8"]) == ["8.8.8.8"]
    assert guard.admitted("evil.example", ["10.0.0.1"]) == []
    assert guard.admitted("intranet.example", ["10.0.0.1"]) == []
    assert guard.admitted("127.0.0.1", ["127.0.0.1"]) == []
    assert seeds == {"evil.example": None, "intranet.example": True, "127.0.0.1": None}
