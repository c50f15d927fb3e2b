"""Access keys, and the caller's own account, on the wire."""

from typing import Any

import orjson

from lakeshare.admin.errors import BadField
from lakeshare.admin.model.paging import Taken
from lakeshare.admin.operations import access_keys
from lakeshare.admin.operations.access_keys import (
    ANYONE,
    AccessKeyCall,
    Account,
    CreateAccessKey,
    GetAccount,
    ListAccessKeys,
    ShownAccount,
    owner_of,
)
from lakeshare.admin.wire import names
from lakeshare.admin.wire.call import PAGING, Call
from lakeshare.admin.wire.policies import DOCUMENT, document_text
from lakeshare.admin.wire.route import Route, Takes
from lakeshare.admin.wire.shapes import Choice, Field, Flag, Many, Maybe, Record
from lakeshare.admin.wire.users import SECRET_KEY, page_of, secret_of
from lakeshare.identity.accounts import AccountUpdate, MadeAccount, NewAccount
from lakeshare.identity.caller import CallerKind
from lakeshare.settings import Secret

KEY = Record(
    (
        Field("access_key", names.USER, required=True),
        Field("user", names.PLAIN, "The user whose rights it has.", required=True),
        Field("parent", names.PLAIN, "The key that it hangs below: the user's, or another access key.", required=True),
        Field("enabled", Flag(), required=True),
        Field("name", names.ANY, required=True),
        Field("description", names.ANY, required=True),
        Field("policy", Maybe(DOCUMENT), "What narrows it, if anything.", required=True),
        Field("expires_at", names.MAYBE_TIME, required=True),
        Field("created_at", names.TIME, required=True),
        Field("created_by", names.ANY, "The access key that made it.", required=True),
    )
)
KEYS = Record((Field("access_keys", Many(KEY, 1000), required=True), Field("next", names.PLAIN)))
NEW_KEY = Record(
    (
        Field("user", names.PLAIN, "Whose it shall be; the caller's own if it is not given."),
        Field("access_key", names.USER, "Made if it is not given."),
        Field("secret_key", names.SECRET, "Made if it is not given."),
        Field("policy", Maybe(DOCUMENT), "What narrows it."),
        Field("expires_at", names.MAYBE_TIME),
        Field("name", names.SHORT),
        Field("description", names.SHORT),
    )
)
UPDATE = Record(
    (
        Field("policy", Maybe(DOCUMENT), "Null takes it away."),
        Field("secret_key", names.SECRET),
        Field("enabled", Flag()),
        Field("expires_at", names.MAYBE_TIME, "Null takes it away."),
        Field("name", names.SHORT),
        Field("description", names.SHORT),
    )
)
REMOVED = Record((Field("removed", names.NAMES, "The access keys that are gone.", required=True),))
ACCOUNT = Record(
    (
        Field("access_key", names.PLAIN, required=True),
        Field("kind", Choice(tuple(kind.value for kind in CallerKind)), required=True),
        Field("user", names.PLAIN, required=True),
        Field("groups", names.NAMES, required=True),
        Field("policies", names.NAMES, "Those of the user and of its groups.", required=True),
        Field("root", Flag(), "Whether the rights are root's.", required=True),
        Field("limited", Flag(), "Whether a policy of the key or session narrows them.", required=True),
        Field("session", names.ANY, "The session's name."),
        Field("expires_at", names.TIME),
    )
)
_QUERY = (
    Field("user", names.PLAIN, "The user whose keys to list."),
    Field("all", Flag(), "List everyone's."),
    *PAGING,
)


def _key(shown: ShownAccount) -> dict[str, Any]:
    account = shown.account
    return {
        "access_key": account.access_key,
        "user": shown.user,
        "parent": shown.parent,
        "enabled": account.enabled,
        "name": account.name,
        "description": account.description,
        "policy": None if account.policy is None else orjson.Fragment(account.policy),
        "expires_at": account.expires_at,
        "created_at": account.created_at,
        "created_by": account.created_by,
    }


def _keys(found: Taken[ShownAccount]) -> dict[str, Any]:
    return page_of("access_keys", [_key(shown) for shown in found.items], found.next)


def _made(made: tuple[ShownAccount, MadeAccount]) -> dict[str, Any]:
    return _key(made[0]) | {"secret_key": made[1].secret.reveal()}


def _removed(gone: tuple[str, ...]) -> dict[str, Any]:
    return {"removed": gone}


def _account(account: Account) -> dict[str, Any]:
    caller = account.caller
    shown: dict[str, Any] = {
        "access_key": caller.name,
        "kind": caller.kind.value,
        "user": caller.user,
        "groups": caller.groups,
        "policies": account.policies,
        "root": caller.of_root,
        "limited": bool(caller.limits),
    }
    shown |= {"session": caller.session} if caller.session else {}
    return shown | ({} if caller.expires_at is None else {"expires_at": caller.expires_at})


def _list(call: Call) -> ListAccessKeys:
    user, everyone = call.query.get("user"), call.query.get("all", False)
    if user and everyone:
        raise BadField("all", "give either a user or all")
    return ListAccessKeys(ANYONE if everyone else user or call.caller.user, call.page)


def _create(call: Call) -> CreateAccessKey:
    given = call.body
    policy = given.get("policy")
    new = NewAccount(
        user=given.get("user", ""),
        access_key=given.get("access_key", ""),
        secret=secret_of(given.get("secret_key")),
        policy=None if policy is None else document_text(policy),
        expires_at=given.get("expires_at"),
        name=given.get("name", ""),
        description=given.get("description", ""),
    )
    return CreateAccessKey(call.caller, new)


def _update(call: Call) -> AccessKeyCall:
    given = dict(call.body)
    if given.get("policy") is not None:
        given["policy"] = document_text(given["policy"])
    if "secret_key" in given:
        given["secret"] = Secret(given.pop("secret_key"))
    access_key = call.names["access_key"]
    return AccessKeyCall(call.caller, access_key, owner_of(call.view, access_key), _UPDATE, AccountUpdate(**given))


def _asking(action: str) -> Any:
    def decode(call: Call) -> AccessKeyCall:
        access_key = call.names["access_key"]
        return AccessKeyCall(call.caller, access_key, owner_of(call.view, access_key), action)

    return decode


_LIST, _CREATE = "admin:ListServiceAccounts", "admin:CreateServiceAccount"
_GET, _UPDATE, _REMOVE = "admin:GetServiceAccount", "admin:UpdateServiceAccount", "admin:RemoveServiceAccount"
_ONE = "/access-keys/{access_key}"

# fmt: off
ROUTES = (
    Route("GetAccount", "GET", "/account", "admin:GetUser", "Say who signed: name, kind, user, groups, policies.",
          lambda call: GetAccount(call.caller), access_keys.get_account, _account, ACCOUNT),
    Route("ListAccessKeys", "GET", "/access-keys", _LIST, "List access keys of oneself, of a user, or all.",
          _list, access_keys.list_access_keys, _keys, KEYS, query=_QUERY),
    Route("CreateAccessKey", "POST", "/access-keys", _CREATE, "Make an access key.",
          _create, access_keys.create_access_key, _made, KEY.plus(SECRET_KEY), 201, body=NEW_KEY, takes=Takes.JSON),
    Route("GetAccessKey", "GET", _ONE, _GET, "Show an access key.",
          _asking(_GET), access_keys.get_access_key, _key, KEY),
    Route("UpdateAccessKey", "PATCH", _ONE, _UPDATE, "Change an access key.",
          _update, access_keys.update_access_key, _key, KEY, body=UPDATE, takes=Takes.JSON),
    Route("RemoveAccessKey", "DELETE", _ONE, _REMOVE, "Remove an access key and those made with it.",
          _asking(_REMOVE), access_keys.remove_access_key, _removed, REMOVED),
)
# fmt: on
