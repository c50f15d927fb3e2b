"""Who a request comes from, when proxies that the operator trusts stand in front.

X-Forwarded-* of anyone else is ignored: a client could write what it likes there.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from functools import lru_cache

from lakeshare.settings import BadSetting

HOP_LIMIT = 32
"""Most addresses of one X-Forwarded-For that are looked at."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Proxies:
    """The networks whose word on a client's address and scheme is taken."""

    def __init__(self, trusted: Iterable[str]) -> None:
        self._networks = tuple(_network(item) for item in trusted)
        self._trusts = lru_cache(maxsize=4096)(self._look_up)

    def __bool__(self) -> bool:
        """Say whether any proxy is trusted."""
        return bool(self._networks)

    def trusts(self, address: str) -> bool:
        """Say whether an address is a trusted proxy's."""
        return self._trusts(address)

    def origin(self, peer: str, scheme: str, fields: Mapping[str, str]) -> tuple[str, str]:
        """Return the client's address and scheme: the first hop from the right that is no trusted proxy."""
        if not self.trusts(peer):
            return peer, scheme
        for hop in reversed(fields.get("x-forwarded-for", "").split(",")[-HOP_LIMIT:]):
            address = _address(hop)
            if address is None:
                break
            peer = address
            if not self.trusts(address):
                break
        told = fields.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        return peer, told if told in {"http", "https"} else scheme

    def _look_up(self, address: str) -> bool:
        try:
            ip = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(ip in network for network in self._networks)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise BadSetting(
            "trusted_proxies", text, "write an address such as 10.0.0.1 or a network such as 10.0.0.0/8"
        ) from None


def _address(hop: str) -> str | None:
    """Read `192.0.2.1`, `192.0.2.1:1234`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:1234`."""
    text = hop.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip)
