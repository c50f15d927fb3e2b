"""table: tables, and whom they are shared with."""

from lakeshare.cli.groups import lazy_group

table = lazy_group(
    r"""Share tables with others, in place, over Delta Sharing.

    \b
    lakeshare table share create lake/sales HR "employees:delta:analytics:employees/"
    lakeshare table share token create lake/sales --expires 90d
    """,
    {
        "share": ("lakeshare.cli.commands.table.share", "Shares, what is in them, and their tokens."),
    },
)
