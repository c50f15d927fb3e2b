"""table: tables, and whom they are shared with."""

from lakeshare.cli.groups import lazy_group

_HERE = "lakeshare.cli.commands.table"

table = lazy_group(
    r"""Iceberg tables of a server's own catalog, and tables shared with others over Delta Sharing.

    \b
    lakeshare table warehouse create lake analytics
    lakeshare table namespace create lake analytics sales
    lakeshare table create lake analytics sales orders --schema @orders.json
    lakeshare table config lake analytics --spark
    lakeshare table share create lake/sales HR "employees:delta:analytics:employees/"
    lakeshare table share token create lake/sales --expires 90d
    """,
    {
        "warehouse": (f"{_HERE}.warehouse", "Buckets that hold tables."),
        "namespace": (f"{_HERE}.namespace", "What tables are sorted into."),
        "create": (f"{_HERE}.tables", "Make a table."),
        "list": (f"{_HERE}.tables:list_", "List tables."),
        "show": (f"{_HERE}.tables", "Show a table: columns, snapshots, properties."),
        "rename": (f"{_HERE}.tables", "Give a table another name."),
        "remove": (f"{_HERE}.tables", "Remove a table; its files stay without --purge."),
        "register": (f"{_HERE}.tables", "Give a table that is there already a name."),
        "history": (f"{_HERE}.tables", "Show the versions of a table."),
        "config": (f"{_HERE}.config", "Print what an engine must be told."),
        "view": (f"{_HERE}.view", "Queries that are kept beside tables."),
        "maintenance": (f"{_HERE}.maintenance", "Old snapshots, and files nothing refers to."),
        "share": ("lakeshare.cli.commands.table.share", "Shares, what is in them, and their tokens."),
    },
)
