"""What our protocol and server lean on inside uvicorn: a new version that changes any of it fails here first.

When this fails after an upgrade, read uvicorn's `httptools_impl.py` and `server.py` beside our `protocol.py` and
`serve.py` before changing a line here.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable

import httptools
import pytest
import uvicorn
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import Server, ServerState

from lakeshare.http.patience import PatientProtocol
from lakeshare.http.protocol import EdgeProtocol
from lakeshare.http.serve import EdgeServer

OVERRIDDEN = {
    "connection_lost",
    "connection_made",
    "data_received",
    "on_body",
    "on_header",
    "on_headers_complete",
    "on_message_begin",
    "on_message_complete",
    "shutdown",
}
INHERITED = {"eof_received", "on_url", "pause_writing", "resume_writing"}
UNREACHED = {
    "_get_upgrade",
    "_should_upgrade",
    "_should_upgrade_to_ws",
    "_start_asgi_task",
    "_unset_keepalive_if_required",
    "_unsupported_upgrade_warning",
    "handle_websocket_upgrade",
    "on_response_complete",
    "send_400_response",
    "timeout_keep_alive_handler",
}


def assigned(function: Callable[..., object]) -> set[str]:
    """Return the attributes that a method gives itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }


def called(function: Callable[..., object]) -> list[str]:
    """Return what a method calls, in its order."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_the_version_is_the_one_that_was_read():
    """The subclass was written against this version."""
    assert uvicorn.__version__ == "0.54.0"


def test_the_protocol_has_the_methods_it_had():
    """Every method of uvicorn's protocol is overridden, inherited on purpose, or out of reach."""
    methods = {name for name, _ in inspect.getmembers(HttpToolsProtocol, inspect.isfunction) if name != "__init__"}
    assert methods == OVERRIDDEN | INHERITED | UNREACHED
    ours = {*vars(EdgeProtocol), *vars(PatientProtocol)}
    assert {name for name in methods if name in ours} == OVERRIDDEN


def test_nothing_inherited_reaches_what_was_left_behind():
    """The inherited methods call only what is there for them."""
    assert called(HttpToolsProtocol.eof_received) == []
    assert called(HttpToolsProtocol.on_url) == []
    assert called(HttpToolsProtocol.pause_writing) == ["self.flow.pause_writing"]
    assert called(HttpToolsProtocol.resume_writing) == ["self.flow.resume_writing"]


def test_the_protocol_has_the_state_it_had():
    """What our code reads is set by uvicorn's constructor and by the start of a connection."""
    used = {
        "config",
        "app",
        "loop",
        "parser",
        "app_state",
        "server_state",
        "connections",
        "tasks",
        "cycle",
        "transport",
        "flow",
    }
    assert used <= assigned(HttpToolsProtocol.__init__)
    assert {"transport", "flow", "server", "client", "scheme"} <= assigned(HttpToolsProtocol.connection_made)


def test_our_state_has_names_of_its_own():
    """No attribute of ours is one that uvicorn gives another meaning."""
    ours = assigned(EdgeProtocol.__init__) | assigned(PatientProtocol.__init__)
    assert ours & assigned(HttpToolsProtocol.__init__) == set()
    assert assigned(EdgeProtocol.__init__) & assigned(PatientProtocol.__init__) == set()


def test_the_constructor_takes_what_the_server_gives():
    """The server makes a protocol by these keywords."""
    wanted = ["self", "config", "server_state", "app_state", "_loop"]
    assert list(inspect.signature(HttpToolsProtocol.__init__).parameters) == wanted
    assert list(inspect.signature(EdgeProtocol.__init__).parameters) == wanted


def test_flow_control_has_its_verbs():
    """Back-pressure is asked for by these names."""
    assert {"pause_reading", "resume_reading", "pause_writing", "resume_writing", "drain"} <= set(vars(FlowControl))
    assert {"read_paused", "write_paused"} <= assigned(FlowControl.__init__)


def test_the_server_has_the_hooks_it_had():
    """Startup, tick, signals and shutdown are where our server hooks in."""
    assert called(Server.serve) == ["self.capture_signals", "self._serve"]
    assert "self.on_tick" in called(Server.main_loop)
    assert "asyncio.sleep" in called(Server.main_loop)
    assert inspect.iscoroutinefunction(Server.startup)
    assert {"servers", "started"} <= assigned(Server.startup)
    assert "self.startup" in called(Server._serve)
    assert "self.shutdown" in called(Server._serve)
    assert inspect.iscoroutinefunction(Server.on_tick)
    assert {"capture_signals", "startup", "on_tick"} <= set(vars(EdgeServer))
    assert {"should_exit", "force_exit", "server_state"} <= assigned(Server.__init__)
    assert "asyncio.sleep(0.1)" in inspect.getsource(Server.main_loop)
    assert "connection.shutdown" in called(Server.shutdown)
    assert "self.server_state.default_headers" in inspect.getsource(Server.on_tick)
    assert assigned(ServerState.__init__) == {"total_requests", "connections", "tasks", "default_headers"}


def test_the_configuration_takes_our_words():
    """Every keyword that our configuration gives is one that uvicorn takes."""
    wanted = {
        "http",
        "ws",
        "lifespan",
        "interface",
        "log_config",
        "access_log",
        "proxy_headers",
        "server_header",
        "headers",
    }
    wanted |= {"workers", "backlog", "timeout_keep_alive", "timeout_graceful_shutdown", "ssl_context_factory"}
    assert wanted <= set(inspect.signature(Config.__init__).parameters)


def test_the_parser_calls_back_as_it_did():
    """The callbacks are looked up by these names when a parser is made, and it raises what our code catches."""
    seen: list[str] = []

    class Callbacks:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *_: seen.append(name)

    parser = httptools.HttpRequestParser(Callbacks())
    parser.feed_data(b"PUT /a HTTP/1.1\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: u\r\n\r\n")
    wanted = [
        "on_message_begin",
        "on_url",
        "on_header",
        "on_header",
        "on_headers_complete",
        "on_chunk_header",
        "on_body",
    ]
    assert [name for name in seen if name != "on_chunk_complete"] == [
        *wanted,
        "on_chunk_header",
        "on_header",
        "on_message_complete",
    ]


def test_the_parser_carries_a_callback_s_error():
    """An exception of a callback is the context of the parser's own."""

    class Callbacks:
        def on_headers_complete(self) -> None:
            raise KeyError("why")

    parser = httptools.HttpRequestParser(Callbacks())
    with pytest.raises(httptools.HttpParserError) as raised:
        parser.feed_data(b"GET / HTTP/1.1\r\n\r\n")
    assert isinstance(raised.value.__context__, KeyError)


def test_a_new_parser_is_made_as_uvicorn_makes_one():
    """The parser that follows a large body has the leniency of the first."""
    source = inspect.getsource(HttpToolsProtocol.__init__)
    assert source.count("self.parser.set_dangerous_leniencies(lenient_data_after_close=True)") == 1
    assert source.count("leniencies") == 2
