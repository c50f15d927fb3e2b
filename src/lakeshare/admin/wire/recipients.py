"""Recipients, their tokens, OAuth clients and activation links, on the wire."""

from typing import Any

from lakeshare.admin.errors import BadField
from lakeshare.admin.model.paging import Taken
from lakeshare.admin.operations.sharing import Paged, in_pages, on_shares
from lakeshare.admin.wire import names
from lakeshare.admin.wire import sharing_shapes as shapes
from lakeshare.admin.wire.call import Call
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.shapes import Field, Flag, Many, Record, Text
from lakeshare.admin.wire.users import page_of
from lakeshare.sharing.model.names import folded
from lakeshare.sharing.model.recipients import MAX_GRANTS, MAX_NETWORKS, Activation, CredentialKind
from lakeshare.sharing.model.spans import read_lifetime, read_overlap
from lakeshare.sharing.operations import activations, recipients, tokens
from lakeshare.sharing.operations.activations import (
    DEFAULT_LINK_SECONDS,
    CreateActivation,
    Link,
    ListActivations,
    RemoveActivation,
)
from lakeshare.sharing.operations.recipients import (
    CreateRecipient,
    Grant,
    ListRecipients,
    RecipientCall,
    ShownRecipient,
    UpdateRecipient,
)
from lakeshare.sharing.operations.tokens import (
    CREATE,
    DELETE,
    LIST,
    CreateRecipientToken,
    CreateShareToken,
    ListTokens,
    NewCredential,
    RotateToken,
    ShownCredential,
    TokenCall,
)

DEFAULT_OVERLAP = "24h"
_IP_LIST = Field("ip_list", Many(Text(64, 1), MAX_NETWORKS), "Addresses and networks that it may come from.")
_KIND = Field("kind", shapes.KIND, "A bearer token, or an OAuth client; bearer if it is not given.")
NEW_RECIPIENT = Record(
    (
        Field("name", shapes.RECIPIENT_NAME, required=True),
        Field("description", shapes.DESCRIPTION),
        Field("shares", Many(shapes.NAME, MAX_GRANTS), "What is shared with it."),
        _IP_LIST,
        Field("oauth_only", Flag(), "Refuse bearer tokens."),
    )
)
UPDATE_RECIPIENT = Record(
    (
        Field("name", shapes.RECIPIENT_NAME),
        Field("description", shapes.DESCRIPTION),
        _IP_LIST,
        Field("oauth_only", Flag()),
    )
)
NEW_TOKEN = Record((*shapes.NEW_TOKEN_FIELDS, _KIND))
NEW_SHARE_TOKEN = NEW_TOKEN.plus(Field("recipient", shapes.RECIPIENT_NAME, "Whose it shall be; made if not given."))
ROTATION = Record(
    (
        Field(
            "overlap",
            shapes.LIFETIME,
            f"How long the old one goes on, 0m for not at all; {DEFAULT_OVERLAP} if not given.",
        ),
        *shapes.NEW_TOKEN_FIELDS,
    )
)
NEW_LINK = Record(
    (
        *(field for field in shapes.NEW_TOKEN_FIELDS if field.name != "expires_at"),
        _KIND,
        Field("link_expires", shapes.LIFETIME, "How long the link waits to be used; 72h if it is not given."),
    )
)
LINK = Record(
    (
        Field("id", names.ANY, required=True),
        Field("kind", shapes.KIND, required=True),
        Field("description", names.ANY, required=True),
        Field("expires_at", names.TIME, "When the link ends.", required=True),
        Field("created_at", names.TIME, required=True),
        Field("created_by", names.ANY, required=True),
    )
)
LINKS = Record((Field("links", Many(LINK, 100_000), required=True),))
NEW_LINK_ANSWER = LINK.plus(Field("url", names.ANY, "The link, told this once.", required=True), shapes.WARNINGS)


def new_credential(call: Call, kind: CredentialKind | None = None) -> NewCredential:
    """Read what a new token or OAuth client shall be. Raises BadField, BadSpan."""
    given = call.body
    if given.get("expires") and "expires_at" in given:
        raise BadField("expires_at", "give either expires or expires_at")
    return NewCredential(
        by=call.caller.name,
        origin=call.origin,
        kind=kind or CredentialKind(given.get("kind", CredentialKind.BEARER.value)),
        description=given.get("description", ""),
        lifetime=read_lifetime(given.get("expires", "")),
        expires_at=given.get("expires_at"),
        endpoint=given.get("endpoint", ""),
    )


def _create(call: Call) -> CreateRecipient:
    given = call.body
    return CreateRecipient(
        call.caller.name,
        given.get("name", ""),
        given.get("description", ""),
        given.get("shares", ()),
        given.get("ip_list", ()),
        given.get("oauth_only", False),
    )


def _update(call: Call) -> UpdateRecipient:
    given = call.body
    return UpdateRecipient(
        call.names["recipient"],
        given.get("name"),
        given.get("description"),
        given.get("ip_list"),
        given.get("oauth_only"),
    )


def _suspending(*, suspended: bool) -> Any:
    return lambda call: UpdateRecipient(call.names["recipient"], suspended=suspended)


def _grant(call: Call) -> Grant:
    return Grant(call.names["recipient"], call.names["share"])


def _share_token(call: Call) -> CreateShareToken:
    return CreateShareToken(call.names["share"], new_credential(call), call.body.get("recipient", ""))


def _recipient_token(call: Call) -> CreateRecipientToken:
    return CreateRecipientToken(call.names["recipient"], new_credential(call))


def _rotate(call: Call) -> RotateToken:
    given = call.body
    overlap = read_overlap(given.get("overlap") or DEFAULT_OVERLAP)
    keeps = not given.get("expires") and "expires_at" not in given
    return RotateToken(call.names["token"], overlap, new_credential(call), keeps)


def _link(call: Call) -> CreateActivation:
    waits = read_lifetime(call.body.get("link_expires", ""))
    return CreateActivation(call.names["recipient"], new_credential(call), waits or DEFAULT_LINK_SECONDS)


def _remove_link(call: Call) -> RemoveActivation:
    return RemoveActivation(call.names["recipient"], call.names["activation"])


def _recipients(found: Taken[ShownRecipient]) -> dict[str, Any]:
    return page_of("recipients", [shapes.recipient(each) for each in found.items], found.next)


def _tokens(found: Taken[ShownCredential]) -> dict[str, Any]:
    return page_of("tokens", [shapes.credential(each) for each in found.items], found.next)


def _shown_link(activation: Activation) -> dict[str, Any]:
    return {
        "id": activation.id,
        "kind": activation.kind.value,
        "description": activation.description,
        "expires_at": activation.expires_at,
        "created_at": activation.created_at,
        "created_by": activation.created_by,
    }


def _links(found: tuple[Activation, ...]) -> dict[str, Any]:
    return {"links": [_shown_link(each) for each in found]}


def _made_link(link: Link) -> dict[str, Any]:
    return _shown_link(link.activation) | {"url": link.url, "warnings": link.endpoint.warnings}


def _asking(action: str) -> Any:
    return lambda call: RecipientCall(call.names["recipient"], action)


def _token(action: str) -> Any:
    return lambda call: TokenCall(call.names["token"], action, call.origin)


def _listing(**about: str) -> Any:
    return lambda call: Paged(ListTokens(**{field: call.names[name] for field, name in about.items()}), call.page)


def _age(shown: ShownCredential) -> str:
    return f"{shown.credential.created_at:012d}{shown.credential.id}"


_ALL = in_pages(recipients.list_recipients, lambda shown: folded(shown.recipient.name))
_CREDENTIALS = in_pages(tokens.list_tokens, _age)
_GIVEN = (shapes.recipient, shapes.RECIPIENT)
_IMPLICIT = Field("all", Flag(), "Also those that stand for a token of one share.")

# fmt: off
ROUTES = (
    Route("ListShareTokens", "GET", "/shares/{share}/tokens", LIST, "List the tokens of a share.",
          _listing(share="share"), _CREDENTIALS, _tokens, shapes.CREDENTIALS, query=shapes.PAGING),
    Route("CreateShareToken", "POST", "/shares/{share}/tokens", CREATE, "Make a token for one share.",
          _share_token, on_shares(tokens.create_share_token), shapes.issued, shapes.ISSUED, 201,
          body=NEW_SHARE_TOKEN, takes=Takes.JSON),
    Route("ListTokens", "GET", "/tokens", LIST, "List all tokens and OAuth clients.",
          _listing(), _CREDENTIALS, _tokens, shapes.CREDENTIALS, query=shapes.PAGING),
    Route("GetToken", "GET", "/tokens/{token}", LIST, "Show a token, never its secret.",
          _token(LIST), on_shares(tokens.get_token), shapes.credential, shapes.CREDENTIAL),
    Route("DeleteToken", "DELETE", "/tokens/{token}", DELETE, "Revoke a token, and its data URLs, at once.",
          _token(DELETE), on_shares(tokens.remove_token), status=204, gives=Gives.NOTHING),
    Route("RotateToken", "POST", "/tokens/{token}/rotate", CREATE, "Make a token in place of one that soon ends.",
          _rotate, on_shares(tokens.rotate_token), shapes.issued, shapes.ISSUED, 201, body=ROTATION, takes=Takes.JSON),
    Route("GetTokenProfile", "GET", "/tokens/{token}/profile", LIST, "Show a token's profile without its secret.",
          _token(LIST), on_shares(tokens.get_profile), lambda profile: profile.document(), shapes.PROFILE),
    Route("ListRecipients", "GET", "/recipients", LIST, "List recipients.",
          lambda call: Paged(ListRecipients(call.query.get("all", False)), call.page), _ALL, _recipients,
          shapes.RECIPIENTS, query=(_IMPLICIT, *shapes.PAGING)),
    Route("CreateRecipient", "POST", "/recipients", CREATE, "Make a recipient.",
          _create, on_shares(recipients.create_recipient), *_GIVEN, 201, body=NEW_RECIPIENT, takes=Takes.JSON),
    Route("GetRecipient", "GET", "/recipients/{recipient}", LIST, "Show a recipient.",
          _asking(LIST), on_shares(recipients.get_recipient), *_GIVEN),
    Route("UpdateRecipient", "PATCH", "/recipients/{recipient}", CREATE, "Change a recipient.",
          _update, on_shares(recipients.update_recipient), *_GIVEN, body=UPDATE_RECIPIENT, takes=Takes.JSON),
    Route("DeleteRecipient", "DELETE", "/recipients/{recipient}", DELETE, "Remove a recipient with all its tokens.",
          _asking(DELETE), on_shares(recipients.remove_recipient), status=204, gives=Gives.NOTHING),
    Route("SuspendRecipient", "POST", "/recipients/{recipient}/suspend", CREATE, "Keep a recipient out for now.",
          _suspending(suspended=True), on_shares(recipients.update_recipient), *_GIVEN),
    Route("ResumeRecipient", "POST", "/recipients/{recipient}/resume", CREATE, "Let a recipient in again.",
          _suspending(suspended=False), on_shares(recipients.update_recipient), *_GIVEN),
    Route("GrantShare", "PUT", "/recipients/{recipient}/shares/{share}", CREATE, "Share a share with a recipient.",
          _grant, on_shares(recipients.grant_share), *_GIVEN),
    Route("TakeShare", "DELETE", "/recipients/{recipient}/shares/{share}", CREATE, "Take a share from a recipient.",
          _grant, on_shares(recipients.take_share), *_GIVEN),
    Route("ListRecipientTokens", "GET", "/recipients/{recipient}/tokens", LIST, "List the tokens of a recipient.",
          _listing(recipient="recipient"), _CREDENTIALS, _tokens, shapes.CREDENTIALS, query=shapes.PAGING),
    Route("CreateRecipientToken", "POST", "/recipients/{recipient}/tokens", CREATE,
          "Make a token for all that is shared with a recipient.",
          _recipient_token, on_shares(tokens.create_recipient_token), shapes.issued, shapes.ISSUED, 201,
          body=NEW_TOKEN, takes=Takes.JSON),
    Route("ListActivations", "GET", "/recipients/{recipient}/activations", LIST, "List links that were not used yet.",
          lambda call: ListActivations(call.names["recipient"]), on_shares(activations.list_activations),
          _links, LINKS),
    Route("CreateActivation", "POST", "/recipients/{recipient}/activations", CREATE,
          "Make a link that hands out a profile, once.",
          _link, on_shares(activations.create_activation), _made_link, NEW_LINK_ANSWER, 201,
          body=NEW_LINK, takes=Takes.JSON),
    Route("DeleteActivation", "DELETE", "/recipients/{recipient}/activations/{activation}", DELETE,
          "Take a link back before it is used.",
          _remove_link, on_shares(activations.remove_activation), status=204, gives=Gives.NOTHING),
)
# fmt: on
