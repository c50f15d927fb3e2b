"""How one request flows: which family has it, in which order it is asked, and what is told of it whatever happens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from lakeshare.errors import Kind, LakeshareError
from lakeshare.http.request import Message, Request
from lakeshare.http.response import Response
from lakeshare.identity.caller import Caller, CallerKind, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.errors import AccessDenied, SignatureMismatch
from lakeshare.identity.gate import Admission
from lakeshare.server.dispatch import CUT, FAILED, METRICS, S3, STS, Dispatcher, Witnesses
from lakeshare.telemetry.audit import AuditEvent
from lakeshare.telemetry.board import Board
from lakeshare.telemetry.metrics import IN_FLIGHT
from lakeshare.telemetry.requests import RequestMeter

FORM = "application/x-www-form-urlencoded"
CALLER = Caller(CallerKind.USER, "annie", user="annie")


@dataclass(frozen=True, slots=True)
class Do:
    """An operation that needs one thing."""

    def requires(self) -> tuple[Need, ...]:
        return (Need("s3:GetObject", "arn:aws:s3:::b/k"),)


class Stage:
    """A family and a doorkeeper that write down what they are asked, and fail where they are told to."""

    name = "Do"
    services = frozenset({"s3"})
    host_bucket = ""
    early_limit_bytes = 0

    def __init__(self, label: str, failing: dict[str, Exception] | None = None) -> None:
        self.label = label
        self.asked: list[str] = []
        self._failing = failing or {}

    def _step(self, name: str) -> None:
        self.asked.append(name)
        if name in self._failing:
            raise self._failing[name]

    def find(self, _request: Request) -> "Stage":
        self._step("find")
        return self

    async def authenticate(self, *_args: Any) -> Admission:
        self._step("authenticate")
        return Admission(CALLER, None, Circumstances(0.0))

    async def decode(self, _admission: Admission, _early: bytes) -> Do:
        self._step("decode")
        return Do()

    async def authorise(self, _admission: Admission, needs: Sequence[Need]) -> None:
        self._step("authorise")
        assert tuple(needs) == Do().requires()

    async def perform(self, _operation: Do) -> Response:
        self._step("perform")
        return Response(200)

    def refuse(self, error: LakeshareError, _request: Request) -> tuple[str, Response]:
        self._step("refuse")
        return type(error).__name__, Response(418)

    def finish(self, response: Response, _request: Request) -> Response:
        response.headers.append(("family", self.label))
        return response


@dataclass(slots=True)
class World:
    """A dispatcher over stages, and what it told."""

    dispatcher: Dispatcher
    stage: Stage
    events: list[AuditEvent]
    board: Board

    async def ask(self, method: str = "GET", path: str = "/b/k", query: str = "", **headers: str) -> Response:
        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.dispatcher(Request("ID", method, path, query, named, "http", "192.0.2.1", receive))

    @property
    def in_flight(self) -> float:
        return sum(series.numbers[0] for series in self.board.read() if series.metric is IN_FLIGHT)


def world(failing: dict[str, Exception] | None = None) -> World:
    stage, board, events = Stage(S3, failing), Board(1), list[AuditEvent]()
    families: dict[str, Any] = {name: Stage(name) for name in (STS, METRICS, "_admin")}
    witnesses = Witnesses(events.append, RequestMeter(board.meter(0)))
    return World(Dispatcher({S3: stage}, stage, families, {}, witnesses), stage, events, board)


async def test_steps_come_in_their_order():
    """Find, authenticate, decode, authorise, perform; the event is told once the answer has left, and not before."""
    here = world()
    answer = await here.ask(user_agent="tests")
    assert here.stage.asked == ["find", "authenticate", "decode", "authorise", "perform"]
    assert (here.events, here.in_flight) == ([], 1)
    assert answer.after is not None
    answer.after(5, True)
    (event,) = here.events
    assert (event.access_key, event.action, event.decision, event.status) == ("annie", "Do", "allow", 200)
    assert (event.resources, event.bytes_out, event.error) == (("arn:aws:s3:::b/k",), 5, "")
    assert here.in_flight == 0


async def test_what_is_denied_is_not_performed():
    """A refusal ends the way, in the family's words, and the event says that it was denied."""
    here = world({"authorise": AccessDenied("s3:GetObject", "arn:aws:s3:::b/k")})
    answer = await here.ask()
    assert "perform" not in here.stage.asked
    assert answer.status == 418
    assert answer.after is not None
    answer.after(0, True)
    assert [(event.decision, event.error) for event in here.events] == [("deny", "AccessDenied")]


async def test_the_key_that_was_claimed_is_told():
    """Where the signature does not hold, the event has the key that it claimed, and no decision."""
    here = world({"authenticate": SignatureMismatch("AKIACLAIMED")})
    answer = await here.ask()
    assert answer.after is not None
    answer.after(0, True)
    (event,) = here.events
    assert (event.access_key, event.decision, event.error) == ("AKIACLAIMED", "none", "SignatureMismatch")


@pytest.mark.parametrize("step", ["find", "authenticate", "decode", "authorise", "perform", "refuse"])
async def test_a_failure_of_ours_is_told_too(step: str):
    """Whatever breaks, and wherever, the request has its event and is in flight no more."""

    class Odd(LakeshareError):
        kind = Kind.INTERNAL

    broken: dict[str, Exception] = {step: RuntimeError("broken")}
    here = world(broken | ({"find": Odd("odd")} if step == "refuse" else {}))
    with pytest.raises(RuntimeError, match="broken"):
        await here.ask()
    (event,) = here.events
    assert (event.status, event.error) == (500, FAILED)
    assert here.in_flight == 0


async def test_an_answer_that_was_cut_is_told():
    """A client that leaves before the end of its answer is an event with an error."""
    here = world()
    answer = await here.ask()
    assert answer.after is not None
    answer.after(3, False)
    assert [(event.status, event.error, event.bytes_out) for event in here.events] == [(200, CUT, 3)]


@pytest.mark.parametrize(
    ("method", "path", "query", "content_type", "family"),
    [
        ("GET", "/", "", "", S3),
        ("POST", "/", "", FORM, STS),
        ("POST", "/", "", FORM + "; charset=utf-8", STS),
        ("POST", "/", "Action=AssumeRole&Version=2011-06-15", FORM, STS),
        ("POST", "/", "delete", FORM, S3),
        ("POST", "/", "delete=", "application/xml", S3),
        ("POST", "/", "", "multipart/form-data; boundary=x", S3),
        ("POST", "/bucket", "", FORM, S3),
        ("GET", "/_admin/v1/info", "", "", "_admin"),
        ("GET", "/_unknown/x", "", "", S3),
        ("GET", "/metrics", "", "", METRICS),
        ("GET", "/metricsbucket/key", "", "", S3),
    ],
)
async def test_each_request_has_its_family(method: str, path: str, query: str, content_type: str, family: str):
    """The path decides; of `POST /` a form is STS's, and a bulk delete under a bucket's own host name is S3's."""
    answer = await world().ask(method, path, query, content_type=content_type)
    assert ("family", family) in answer.headers
