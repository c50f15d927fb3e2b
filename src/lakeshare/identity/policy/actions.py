"""The actions that policies can name, and how two spellings of one action are the same."""

from lakeshare.identity.policy.pattern import Patterns, tokens_of

_S3 = """
AbortMultipartUpload BypassGovernanceRetention CreateBucket DeleteBucket DeleteBucketCORS DeleteBucketPolicy
DeleteBucketTagging DeleteBucketWebsite DeleteObject DeleteObjectTagging DeleteObjectVersion
DeleteObjectVersionTagging ForceDeleteBucket GetAccelerateConfiguration GetBucketAcl GetBucketCORS GetBucketLocation
GetBucketLogging GetBucketNotification GetBucketObjectLockConfiguration GetBucketOwnershipControls GetBucketPolicy
GetBucketPolicyStatus GetBucketPublicAccessBlock GetBucketRequestPayment GetBucketTagging GetBucketVersioning
GetBucketWebsite GetEncryptionConfiguration GetLifecycleConfiguration GetObject GetObjectAcl GetObjectAttributes
GetObjectLegalHold GetObjectRetention GetObjectTagging GetObjectVersion GetObjectVersionAcl
GetObjectVersionAttributes GetObjectVersionForReplication GetObjectVersionTagging GetReplicationConfiguration
HeadBucket ListAllMyBuckets ListBucket ListBucketMultipartUploads ListBucketVersions ListMultipartUploadParts
ListenBucketNotification ListenNotification PutAccelerateConfiguration PutBucketAcl PutBucketCORS PutBucketLogging
PutBucketNotification PutBucketObjectLockConfiguration PutBucketOwnershipControls PutBucketPolicy
PutBucketPublicAccessBlock PutBucketRequestPayment PutBucketTagging PutBucketVersioning PutBucketWebsite
PutEncryptionConfiguration PutLifecycleConfiguration PutObject PutObjectAcl PutObjectLegalHold PutObjectRetention
PutObjectTagging PutObjectVersionAcl PutObjectVersionTagging PutReplicationConfiguration RestoreObject
"""

_S3TABLES = """
GetConfig
CreateWarehouse DeleteWarehouse GetWarehouse ListWarehouses
PutWarehouseEncryption GetWarehouseEncryption DeleteWarehouseEncryption
PutWarehousePolicy GetWarehousePolicy DeleteWarehousePolicy
PutWarehouseMaintenanceConfiguration GetWarehouseMaintenanceConfiguration
TagWarehouse UntagWarehouse ListTagsForWarehouse
CreateNamespace DeleteNamespace GetNamespace ListNamespaces UpdateNamespaceProperties
CreateTable DeleteTable GetTable ListTables UpdateTable RenameTable RegisterTable
GetTableData PutTableData GetTableMetadataLocation UpdateTableMetadataLocation TableMetrics
PutTableEncryption GetTableEncryption DeleteTableEncryption PutTablePolicy GetTablePolicy DeleteTablePolicy
PutTableMaintenanceConfiguration GetTableMaintenanceConfiguration GetTableMaintenanceJobStatus
TagTable UntagTable ListTagsForTable
PutTableAnnotation GetTableAnnotation ListTableAnnotations DeleteTableAnnotation
CreateView DeleteView GetView ListViews UpdateView RenameView RegisterView
CreateFunction DeleteFunction GetFunction ListFunctions UpdateFunction RenameFunction RegisterFunction
"""

_ADMIN = """
CreateUser GetUser ListUsers EnableUser DisableUser DeleteUser
AddUserToGroup RemoveUserFromGroup GetGroup ListGroups EnableGroup DisableGroup
CreatePolicy GetPolicy ListPolicies DeletePolicy AttachUserOrGroupPolicy ListUserPolicies UpdatePolicyAssociation
CreateServiceAccount GetServiceAccount UpdateServiceAccount RemoveServiceAccount ListServiceAccounts
RevokeSessions ListTemporaryAccounts
ServerInfo StorageInfo DataUsageInfo ConfigRead ConfigUpdate AuditRead ServerTrace ConsoleLog Profiling TopLocksInfo
OBDInfo HealthInfo BandwidthMonitor Prometheus ServiceRestart ServiceStop
ExportState ImportState VerifyState Backup Heal ListJobs RunJob
DeltaSharing DeltaSharingCreateShare DeltaSharingGetShare DeltaSharingListShares DeltaSharingUpdateShare
DeltaSharingDeleteShare DeltaSharingCreateToken DeltaSharingListTokens DeltaSharingDeleteToken
"""

_STS = """
AssumeRole AssumeRoleWithWebIdentity GetCallerIdentity GetSessionToken
"""

SERVICES = {"s3": _S3, "s3tables": _S3TABLES, "admin": _ADMIN, "sts": _STS}

# Actions that are about the server or its identities: s3 and table resources say nothing of them.
UNSCOPED_SERVICES = frozenset({"admin", "sts"})

# The umbrella action covers every action of sharing, as in AIStor.
_UMBRELLA = "admin:deltasharing"

KNOWN_ACTIONS = frozenset(f"{service}:{name}" for service, names in SERVICES.items() for name in names.split())


def service_of(action: str) -> str:
    """Return the service that an action, or a pattern of actions, belongs to."""
    return action.partition(":")[0].lower()


def spellings(action: str) -> tuple[str, ...]:
    """Return every way a policy may write this action, in lower case; AIStor has TableBucket for Warehouse too."""
    lower = action.lower()
    if lower.startswith("s3tables:") and "warehouse" in lower:
        return lower, lower.replace("warehouse", "tablebucket")
    if lower.startswith("s3tables:") and "tablebucket" in lower:
        return lower, lower.replace("tablebucket", "warehouse")
    if lower.startswith(_UMBRELLA):
        return lower, _UMBRELLA
    return (lower,)


class _NoFacts:
    def values(self, key: str) -> tuple[str, ...]:  # noqa: ARG002 - there are none
        return ()


_NO_FACTS = _NoFacts()
_KNOWN_SPELLINGS = tuple(spelling for action in sorted(KNOWN_ACTIONS) for spelling in spellings(action))


class ActionPatterns:
    """The actions of one statement; case does not count."""

    __slots__ = ("_inverted", "_patterns")

    def __init__(self, actions: tuple[str, ...], *, inverted: bool = False) -> None:
        self._patterns = Patterns(tokens_of(action.lower(), variables=False) for action in actions)
        self._inverted = inverted

    def match(self, action: str) -> bool:
        """Whether the statement is about this action."""
        named = any(self._patterns.match(each, _NO_FACTS) for each in spellings(action))
        return named != self._inverted


def is_known(pattern: str) -> bool:
    """Whether an action pattern of a policy names at least one known action."""
    patterns = Patterns((tokens_of(pattern.lower(), variables=False),))
    return any(patterns.match(each, _NO_FACTS) for each in _KNOWN_SPELLINGS)
