"""The names of resources in policies, and the way back from a name to what it names."""

S3 = "arn:aws:s3:::"
TABLES = "arn:aws:s3tables:::bucket/"
IAM = "arn:aws:iam:::"
SHARING = "arn:aws:deltasharing:::"
EVERYTHING = "*"


def bucket_arn(bucket: str) -> str:
    """Name a bucket."""
    return S3 + bucket


def object_arn(bucket: str, key: str) -> str:
    """Name an object."""
    return f"{S3}{bucket}/{key}"


def warehouse_arn(warehouse: str) -> str:
    """Name a warehouse."""
    return TABLES + warehouse


def table_arn(warehouse: str, table_uuid: str) -> str:
    """Name a table by its UUID, so that a rename changes no one's access."""
    return f"{TABLES}{warehouse}/table/{table_uuid}"


def view_arn(warehouse: str, view_uuid: str) -> str:
    """Name a view by its UUID."""
    return f"{TABLES}{warehouse}/view/{view_uuid}"


def user_arn(user: str) -> str:
    """Name a user; what a user does with its own keys and sessions is asked of this name."""
    return f"{IAM}user/{user}"


def group_arn(group: str) -> str:
    """Name a group."""
    return f"{IAM}group/{group}"


def policy_arn(policy: str) -> str:
    """Name a policy."""
    return f"{IAM}policy/{policy}"


def share_arn(share: str, schema: str = "", table: str = "") -> str:
    """Name a share, a schema of it, or a table."""
    return f"{SHARING}share/{'/'.join(filter(None, (share, schema, table)))}"


def recipient_arn(recipient: str) -> str:
    """Name a recipient."""
    return f"{SHARING}recipient/{recipient}"


def source_arn(source: str) -> str:
    """Name a remote source."""
    return f"{SHARING}source/{source}"


def share_and_rest(arn: str) -> tuple[str, str] | None:
    """Return the share that a name of sharing's has, and what follows it."""
    start = f"{SHARING}share/"
    if not arn.startswith(start):
        return None
    share, _, rest = arn[len(start) :].partition("/")
    return share, rest


def bucket_and_key(arn: str) -> tuple[str, str] | None:
    """Return the bucket and the key that an S3 name has; the key is empty for the bucket itself."""
    if not arn.startswith(S3):
        return None
    bucket, _, key = arn[len(S3) :].partition("/")
    return bucket, key


def folder_of(prefix: str) -> str:
    """Return a prefix with a slash at its end, so that `t1` never reaches `t10`; empty is the whole bucket."""
    return prefix + "/" if prefix and not prefix.endswith("/") else prefix
