"""Decides which web addresses may be fetched for a model: public ones over http or https, nothing else.

A model chooses the address. So names are resolved here, every address is checked, and the connection goes to exactly
the checked address, even if a second resolution differs. Each redirect is checked again.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

PORTS = frozenset({80, 443, 8000, 8080, 8443})
MAX_URL_CHARS = 4_000

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


class Refused(ValueError):
    """The address must not be fetched; the text has the reason and may be shown to the model."""


@dataclass(frozen=True, slots=True)
class Target:
    """A checked address: connect to ``address`` and ``port``, and name ``host`` in TLS and in the Host header."""

    url: str
    scheme: str
    host: str
    port: int
    address: str

    @property
    def host_header(self) -> str:
        """The Host header: with the port unless it is the scheme's own."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _DEFAULT_PORT[self.scheme] else f"{name}:{self.port}"


_DEFAULT_PORT = {"http": 80, "https": 443}


def checked(url: str, resolve: Resolve | None = None) -> Target:
    """The target of a URL. Raises `Refused` for anything but a public web address, `OSError` for unknown names.

    If a name has several addresses, all must be public; the first is used.
    """
    if len(url) > MAX_URL_CHARS:
        raise Refused(f"the address has {len(url):,} characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Refused(f"not a web address: {error}") from None
    if parts.scheme not in _DEFAULT_PORT:
        raise Refused(f"only http and https can be fetched, not {parts.scheme or 'an address without a scheme'!r}")
    if not host or parts.username is not None or parts.password is not None:
        raise Refused("the address must name a host and no user")
    port = port or _DEFAULT_PORT[parts.scheme]
    if port not in PORTS:
        raise Refused(f"port {port} is not a web port")
    addresses = list((resolve or resolved)(host, port))
    if not addresses:
        raise OSError(f"the name {host} has no address")
    for address in addresses:
        if not is_public(address):
            raise Refused(f"{host} is not a public address")
    return Target(url, parts.scheme, host, port, addresses[0])


def resolved(host: str, port: int) -> list[str]:
    """Every address that the system knows for a name, in its order. Raises `OSError`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # labels too long for IDNA
        raise OSError(f"not a host name: {error}") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(text: str) -> bool:
    """Whether an address belongs to the public internet.

    False for private, loopback, link-local, shared, multicast, reserved and unspecified addresses, and for IPv6
    addresses that wrap such an IPv4 address (mapped, compatible, 6to4, Teredo, NAT64).
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return "%" not in text and all(_is_global(each) for each in _layers(address))


def _layers(address: Address) -> list[Address]:
    """The address and the IPv4 addresses inside it."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    inside: list[Address] = [address]
    if address.sixtofour is not None:
        inside.append(address.sixtofour)
    if address.teredo is not None:
        inside.extend(address.teredo)
    if address in _NAT64:
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    if int(address) >> 32 == 0:  # IPv4-compatible, long deprecated
        inside.append(ipaddress.IPv4Address(int(address)))
    return inside


def _is_global(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return not any(address in block for block in SPECIAL[address.version])


SPECIAL: dict[int, tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]] = {
    4: tuple(map(ipaddress.IPv4Network, (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",  # private use
        "100.64.0.0/10",  # shared address space of carriers
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, where clouds keep their metadata
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24",  # documentation
        "192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24",  # AS112, AMT
        "192.88.99.0/24",  # relays of 6to4, deprecated
        "198.18.0.0/15",  # benchmarking
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and the limited broadcast
    ))),
    6: tuple(map(ipaddress.IPv6Network, (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarking and others
        "2001:db8::/32", "3fff::/20",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
    ))),
}  # fmt: skip
"""IANA's special-purpose registries of both families: addresses outside the public web, in any Python version.

IPv6 addresses outside 2000::/3 (global unicast) are never public and not listed."""
