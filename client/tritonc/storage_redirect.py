"""Object storages that an answer may send the client to.

A server that lies could otherwise have the client ask what only this machine or its network
reaches: services on loopback, or the metadata of a cloud's machine, which has a link-local address.
"""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import httpx

_Address = IPv4Address | IPv6Address


def is_followed(location: str, service: httpx.URL) -> bool:
    """Return True if bytes may be read from `location`, which the service named.

    It must be of the service's scheme or https. It must not be this machine or its link, unless the
    service is there too. Names are looked up for http alone: https fails at a certificate of
    another name, before anything is asked. Raises httpx.InvalidURL.
    """
    url = httpx.URL(location)
    if url.scheme not in {service.scheme, "https"} or not url.host or url.userinfo:
        return False
    return _nearness(url.host, url.scheme) <= _nearness(service.host, "http")


def _nearness(host: str, scheme: str) -> set[str]:
    """Return which of `loopback` and `link` a host is, or may be."""
    return {
        kind
        for address in _addresses(host, scheme)
        for kind, is_so in (
            ("loopback", address.is_loopback or address.is_unspecified),
            ("link", address.is_link_local),
        )
        if is_so
    }


def _addresses(host: str, scheme: str) -> list[_Address]:
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return [ip_address("127.0.0.1")]
    try:
        return [_plain(ip_address(name.partition("%")[0]))]
    except ValueError:
        pass
    try:
        return [IPv4Address(socket.inet_aton(name))]  # 127.1 and 2130706433 are addresses, too
    except (OSError, UnicodeError):
        pass
    if scheme == "https":
        return []
    try:
        resolved = socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError):
        return []  # then it cannot be asked either
    return [_plain(ip_address(str(item[4][0]).partition("%")[0])) for item in resolved]


def _plain(address: _Address) -> _Address:
    """Return the IPv4 address that an IPv6 address maps to, or the address itself."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped
