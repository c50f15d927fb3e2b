"""admin: what an operator does."""

from lakeshare.cli.groups import lazy_group

_HERE = "lakeshare.cli.commands.admin"

admin = lazy_group(
    r"""Users, policies, keys, settings, audit and state of a server.

    \b
    lakeshare admin info lake
    lakeshare admin user add lake ann
    lakeshare admin policy attach lake readonly --user ann
    lakeshare admin accesskey create lake --expiry-duration 30d
    lakeshare admin audit tail lake --follow
    """,
    {
        "user": (f"{_HERE}.user", "Users."),
        "group": (f"{_HERE}.usergroup:group", "Groups of users."),
        "policy": (f"{_HERE}.policy", "Policies, and who has them."),
        "accesskey": (f"{_HERE}.accesskey", "Access keys of users."),
        "whoami": (f"{_HERE}.info:whoami", "Say whose key an alias has, and what it may."),
        "info": (f"{_HERE}.info", "Show a server: version, uptime, disk, usage."),
        "settings": (f"{_HERE}.settings", "Settings of a running server."),
        "audit": (f"{_HERE}.audit", "Who did what."),
        "state": (f"{_HERE}.state", "Export, import and verify identities and other state."),
    },
    {"config": "settings"},
)
