"""What every answer of a JSON API carries."""

from lakeshare.http.request import Request
from lakeshare.http.response import Response


def identified(response: Response, request: Request) -> Response:
    """Add the id that the audit log names the request by, and that the answer is nothing but what it says it is."""
    response.headers += (("x-request-id", request.id), ("x-content-type-options", "nosniff"))
    return response
