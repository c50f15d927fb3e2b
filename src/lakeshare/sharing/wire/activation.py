"""Activation links on the wire: a page with a button for people, the profile itself for programs.

Opening a link in a browser uses nothing up, so that what previews links in mail and chat does no harm; the button, a
POST, or a GET that asks for JSON by name, does.
"""

from html import escape

import orjson

from lakeshare.http.response import Response
from lakeshare.settings import Secret
from lakeshare.sharing.operations.activations import UseLink, use_link, waiting_link
from lakeshare.sharing.room import Room
from lakeshare.sharing.wire.call import Call, Route

FILE_NAME = "profile.share"
_SAFE = [
    ("cache-control", "no-store"),
    ("referrer-policy", "no-referrer"),
    ("x-robots-tag", "noindex"),
    ("x-frame-options", "DENY"),
]
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Your Delta Sharing profile</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:38rem;margin:4rem auto;padding:0 1rem;color:#222}}
button{{font:inherit;padding:.6rem 1.2rem;border:0;border-radius:.3rem;background:#1a5fb4;color:#fff}}</style></head>
<body><h1>Your Delta Sharing profile</h1>
<p>{text}</p>
<form method="post"><button type="submit">Download the profile</button></form>
<p>This works once. Keep the file safe: whoever has it can read what is shared with you.</p>
</body></html>
"""


def _decode(call: Call) -> UseLink:
    return UseLink(Secret(call.names["code"]))


async def _open(room: Room, call: Call, link: UseLink) -> Response:
    """Answer a GET: with the profile if JSON is asked for by name, else with the page."""
    if "application/json" in call.request.headers.get("accept", ""):
        return await _use(room, call, link)
    _, recipient = await waiting_link(room, link)
    whom = "you" if recipient.is_implicit else recipient.name
    headers = [
        ("content-type", "text/html; charset=utf-8"),
        ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"),
        *_SAFE,
    ]
    text = f"This link gives the profile that was made for {escape(whom)}."
    return Response(200, headers, _PAGE.format(text=text).encode())


async def _use(room: Room, _call: Call, link: UseLink) -> Response:
    """Use the link up, and answer with the profile as a file."""
    issued = await use_link(room, link)
    headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("content-disposition", f'attachment; filename="{FILE_NAME}"'),
        *_SAFE,
    ]
    return Response(200, headers, orjson.dumps(issued.profile.document(), option=orjson.OPT_INDENT_2))


ROUTES = (
    Route("ShowActivation", "GET", "/activate/{code}", _decode, _open, is_open=True),
    Route("UseActivation", "POST", "/activate/{code}", _decode, _use, is_open=True),
)
