"""The address guard: which IP addresses a crawl may connect to.

Rules:

1. An address is public if IANA's registries call it globally reachable unicast. Not public are, among others: private, shared
   (100.64.0.0/10), loopback, link-local, documentation, benchmarking, multicast, reserved and unspecified addresses. Nor is the one
   by which a cloud tells its machines their secrets although the registries call it global. (The other clouds use addresses that are not.)
2. An IPv6 address that carries an IPv4 address (mapped, compatible, 6to4, NAT64) is public if that one is; Teredo never is.
3. The host of a seed (name or IP literal) may have addresses that are not public if all its first ones are such: the user
   sent us there. A seed that was public first stays so, over restarts too, hence its owner cannot rebind the name to our network.
   No other host may, whatever links or name servers say, unless ``allow_private``; with ``public_only`` no host may.
4. The guard is asked twice: for each address before connecting, and for the peer of the connection that was made.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_NOT_PUBLIC_6 = (
    IPv6Network("64:ff9b:1::/48"),  # local-use NAT64, RFC 8215
    IPv6Network("100::/64"),  # discard, RFC 6666
    IPv6Network("2001::/23"),  # protocol assignments, RFC 2928; Teredo is in it
    IPv6Network("2001:db8::/32"),
    IPv6Network("3fff::/20"),  # documentation, RFC 9637
    IPv6Network("5f00::/16"),  # segment routing, RFC 9602
    IPv6Network("fec0::/10"),  # site-local, RFC 3879
)


def is_public(address: str) -> bool:
    """Tell whether an IP address (literal; an IPv6 zone makes it local) is public by rules 1 and 2."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _is_public_4(parsed)
    carried = _carried(parsed)
    if carried is not None:
        return _is_public_4(carried)
    return (
        parsed.is_global
        and not parsed.is_multicast
        and not parsed.is_reserved
        and parsed.scope_id is None
        and not any(parsed in network for network in _NOT_PUBLIC_6)
    )


def _is_public_4(address: IPv4Address) -> bool:
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.packed.startswith(_NOT_PUBLIC_4)
    )


# is_global of older Python versions does not know all of these; the last one is global to IANA.
_NOT_PUBLIC_4 = (
    b"\x00",  # "this network"
    b"\xc0\x00\x00",  # 192.0.0.0/24, protocol assignments
    b"\xc0\x58\x63",  # 192.88.99.0/24, 6to4 relays, RFC 7526
    b"\xa8\x3f\x81\x10",  # 168.63.129.16, the host of an Azure machine
)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64 or address in _COMPATIBLE:
        return IPv4Address(address.packed[12:])
    return None


class AddressGuard:
    """Decides which addresses a host may have.

    Args:
        allow_private: let every host have any address.
        public_only: let no host have another address than a public one, not even that of a seed. Not with ``allow_private``.
    """

    def __init__(self, *, allow_private: bool = False, public_only: bool = False) -> None:
        assert not (allow_private and public_only)
        self._allow_private = allow_private
        self._public_only = public_only
        self._seeds: dict[str, bool | None] = {}

    def trust(self, seeds: dict[str, bool | None]) -> None:
        """Let the hosts of seeds have addresses that are not public, if their first ones are such.

        Args:
            seeds: by host, whether it may. None: its addresses were not seen yet; when they are, that is noted here.
        """
        self._seeds = seeds

    def admitted(self, host: str, addresses: list[str]) -> list[str]:
        """Return those of the addresses that a connection for ``host`` may go to, in their order."""
        if self._allow_private:
            return addresses
        public = [address for address in addresses if is_public(address)]
        if host in self._seeds and not self._public_only:
            if self._seeds[host] is None:
                self._seeds[host] = not public
            if self._seeds[host]:
                return addresses
        return public
