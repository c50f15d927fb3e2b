"""The URL that recipients reach the server by: the one that is set, one given for a token, or as the operator came."""

from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from urllib.parse import urlsplit

from lakeshare.sharing.errors import BadEndpoint

PATH = "/_delta-sharing/v1"
TOKEN_PATH = f"{PATH}/oauth/token"
ACTIVATION_PATH = "/_delta-sharing/activate"
_OWN_PATHS = frozenset({"", "/_delta-sharing/v1", "/_delta-sharing", "/delta-sharing/v1", "/delta-sharing"})
MAX_CHARACTERS = 512


class Chosen(Enum):
    """What decided an endpoint."""

    GIVEN = "given"
    SETTING = "setting"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The base URL of a server as recipients see it, without a path."""

    url: str
    chosen: Chosen

    @property
    def sharing(self) -> str:
        """The URL that profiles hold."""
        return self.url + PATH

    @property
    def tokens(self) -> str:
        """The URL where OAuth clients get access tokens."""
        return self.url + TOKEN_PATH

    def activation(self, code: str) -> str:
        """Return the URL of an activation link."""
        return f"{self.url}{ACTIVATION_PATH}/{code}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what will keep recipients from reaching the server, or others from being kept out."""
        found: list[str] = []
        if self.chosen is Chosen.FALLBACK:
            found.append(
                f"delta_sharing_endpoint is not set: {self.url} is used, which recipients may not reach. "
                "Set it to the URL that they use"
            )
        if self.url.startswith("http://") and not is_loopback(self.url):
            found.append(f"{self.url} is plain http: tokens and data cross the network in the clear")
        return tuple(found)


def choose(given: str, setting: str, origin: str) -> Endpoint:
    """Return the endpoint that counts: the one given, else the one that is set, else the origin. Raises BadEndpoint."""
    if given:
        return Endpoint(check_endpoint(given), Chosen.GIVEN)
    if setting:
        return Endpoint(check_endpoint(setting), Chosen.SETTING)
    return Endpoint(check_endpoint(origin), Chosen.FALLBACK)


def check_endpoint(text: str) -> str:
    """Return a base URL as it is kept; the paths under which we serve sharing may follow it. Raises BadEndpoint."""
    if len(text) > MAX_CHARACTERS or not text.isascii() or not text.isprintable():
        raise BadEndpoint(text, f"write at most {MAX_CHARACTERS} ASCII characters")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise BadEndpoint(text, "its port is no number") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadEndpoint(text, "write a URL such as https://shares.example.net:9000")
    if parts.query or parts.fragment or "@" in parts.netloc or parts.path.rstrip("/") not in _OWN_PATHS:
        raise BadEndpoint(text, "write the server's URL without a path, a query or a user")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port is None else f":{port}")


def is_loopback(url: str) -> bool:
    """Say whether a URL is this machine's own."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
