"""Users on the wire."""

from typing import Any

from lakeshare.admin.model.paging import Taken
from lakeshare.admin.operations import users
from lakeshare.admin.operations.users import CreateUser, ListUsers, MadeUser, SetSecret, UserCall, UserPolicy
from lakeshare.admin.wire import names
from lakeshare.admin.wire.call import PAGING, Call
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.shapes import Field, Flag, Many, Record
from lakeshare.identity.records import User
from lakeshare.identity.users import MAX_POLICIES
from lakeshare.settings import Secret

USER = Record(
    (
        Field("name", names.USER, "The user's name, which is its access key.", required=True),
        Field("enabled", Flag(), "Whether it is let in.", required=True),
        Field("policies", names.NAMES, "The policies attached to it.", required=True),
        Field("groups", names.NAMES, "The groups it is in.", required=True),
        Field("created_at", names.TIME, required=True),
    )
)
SECRET_KEY = Field("secret_key", names.SECRET, "The secret key, told this once.", required=True)
USERS = Record((Field("users", Many(USER, 1000), required=True), Field("next", names.PLAIN)))
NEW_USER = Record(
    (
        Field("name", names.USER, required=True),
        Field("secret_key", names.SECRET, "Made if it is not given."),
        Field("policies", Many(names.PLAIN, MAX_POLICIES), "Policies to attach at once."),
    )
)
NEW_SECRET = Record((Field("secret_key", names.SECRET, "Made if it is not given."),))
SECRET = Record((Field("name", names.USER, required=True), SECRET_KEY))


def secret_of(given: str | None) -> Secret | None:
    """Return a secret as a type that does not print."""
    return None if given is None else Secret(given)


def page_of(name: str, items: list[Any], after: str) -> dict[str, Any]:
    """Write a page of a list."""
    return {name: items} | ({"next": after} if after else {})


def _user(user: User) -> dict[str, Any]:
    return {
        "name": user.name,
        "enabled": user.enabled,
        "policies": user.policies,
        "groups": user.groups,
        "created_at": user.created_at,
    }


def _users(found: Taken[User]) -> dict[str, Any]:
    return page_of("users", [_user(user) for user in found.items], found.next)


def _made(made: MadeUser) -> dict[str, Any]:
    return _user(made.user) | {"secret_key": made.secret.reveal()}


def _secret(made: MadeUser) -> dict[str, Any]:
    return {"name": made.user.name, "secret_key": made.secret.reveal()}


def _create(call: Call) -> CreateUser:
    return CreateUser(call.body["name"], secret_of(call.body.get("secret_key")), call.body.get("policies", ()))


def _set_secret(call: Call) -> SetSecret:
    return SetSecret(call.names["user"], secret_of(call.body.get("secret_key")))


def _policy(call: Call) -> UserPolicy:
    return UserPolicy(call.names["user"], call.names["policy"])


def _asking(action: str) -> Any:
    return lambda call: UserCall(call.names["user"], action)


_LIST, _CREATE, _GET, _DELETE = "admin:ListUsers", "admin:CreateUser", "admin:GetUser", "admin:DeleteUser"
_ENABLE, _DISABLE, _REVOKE = "admin:EnableUser", "admin:DisableUser", "admin:RevokeSessions"
_ATTACH = users.ATTACH

# fmt: off
ROUTES = (
    Route("ListUsers", "GET", "/users", _LIST, "List users.",
          lambda call: ListUsers(call.page), users.list_users, _users, USERS, query=PAGING),
    Route("CreateUser", "POST", "/users", _CREATE, "Make a user.",
          _create, users.create_user, _made, USER.plus(SECRET_KEY), 201, body=NEW_USER, takes=Takes.JSON),
    Route("GetUser", "GET", "/users/{user}", _GET, "Show a user.",
          _asking(_GET), users.get_user, _user, USER),
    Route("DeleteUser", "DELETE", "/users/{user}", _DELETE, "Remove a user with its access keys and sessions.",
          _asking(_DELETE), users.delete_user, status=204, gives=Gives.NOTHING),
    Route("SetUserSecret", "PUT", "/users/{user}/secret", _CREATE, "Give a user another secret key; its sessions end.",
          _set_secret, users.set_secret, _secret, SECRET, body=NEW_SECRET, takes=Takes.JSON),
    Route("EnableUser", "POST", "/users/{user}/enable", _ENABLE, "Let a user in.",
          _asking(_ENABLE), users.enable_user, _user, USER),
    Route("DisableUser", "POST", "/users/{user}/disable", _DISABLE,
          "Keep a user out, with its access keys and sessions.",
          _asking(_DISABLE), users.disable_user, _user, USER),
    Route("RevokeSessions", "DELETE", "/users/{user}/sessions", _REVOKE,
          "End every session of a user and of its access keys.",
          _asking(_REVOKE), users.revoke_sessions, status=204, gives=Gives.NOTHING),
    Route("AttachUserPolicy", "PUT", "/users/{user}/policies/{policy}", _ATTACH, "Attach a policy to a user.",
          _policy, users.attach_policy, _user, USER),
    Route("DetachUserPolicy", "DELETE", "/users/{user}/policies/{policy}", _ATTACH, "Detach a policy from a user.",
          _policy, users.detach_policy, _user, USER),
)
# fmt: on
