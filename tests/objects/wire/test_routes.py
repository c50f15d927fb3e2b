"""The table of S3's operations."""

import pytest

from lakeshare.identity.policy.actions import KNOWN_ACTIONS
from lakeshare.objects.errors import CorsForbidden, LakeshareError, MethodNotAllowed, NotImplementedYet
from lakeshare.objects.wire.call import Call, Target
from lakeshare.objects.wire.routes import COPY, ROUTES, find

TARGETS = {"service": Target(), "bucket": Target("bucket"), "key": Target("bucket", "key")}
DOCUMENTS = {
    "DeleteObjects": b"<Delete><Object><Key>k</Key></Object></Delete>",
    "PutBucketTagging": b"<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>",
    "PutObjectTagging": b"<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>",
    "CompleteMultipartUpload": b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>e</ETag></Part>"
    b"</CompleteMultipartUpload>",
    "PutBucketPolicy": b'{"Version": "2012-10-17", "Statement": []}',
}


def call_for(route):
    marker = route.marker.removesuffix(COPY)
    params = {marker: "2" if marker == "list-type" else "x"} if marker else {}
    params |= {"partNumber": "1"} if route.name.startswith("UploadPart") else {}
    headers = {"x-amz-copy-source": "other/source"} if route.marker.endswith(COPY) else {}
    headers |= {"x-amz-acl": "private"} if route.name.endswith("Acl") else {}
    headers |= {"x-amz-object-attributes": "ETag"} if route.name == "GetObjectAttributes" else {}
    return Call(TARGETS[route.scope], params, headers, signed=True, document=DOCUMENTS.get(route.name, b""))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_is_found_and_asks_for_its_action(route):
    """A request for an operation finds its route, and the decoded value needs the action of the table first."""
    call = call_for(route)
    assert find(route.method, call.target, call.params, call.headers) is route
    needs = route.decode(call).requires()
    assert needs[0].action == route.action
    assert all(need.action in KNOWN_ACTIONS for need in needs)
    assert all(need.resource.startswith("arn:aws:s3:::") for need in needs)


def test_copies_need_their_source():
    """A copy, of an object or of a part, needs to read its source as well as to write its target."""
    for name in ("CopyObject", "UploadPartCopy"):
        route = next(route for route in ROUTES if route.name == name)
        needs = {(need.action, need.resource) for need in route.decode(call_for(route)).requires()}
        assert ("s3:GetObject", "arn:aws:s3:::other/source") in needs
        assert ("s3:PutObject", "arn:aws:s3:::bucket/key") in needs


def test_a_bulk_delete_needs_every_key():
    """Each key of a bulk delete is a need of its own, and a version another action."""
    route = next(route for route in ROUTES if route.name == "DeleteObjects")
    document = b"<Delete><Object><Key>a</Key></Object><Object><Key>b</Key><VersionId>v</VersionId></Object></Delete>"
    needs = route.decode(Call(Target("bucket"), {"delete": ""}, {}, document=document)).requires()
    assert [(need.action, need.resource[13:]) for need in needs] == [
        ("s3:DeleteObject", "bucket/a"),
        ("s3:DeleteObjectVersion", "bucket/b"),
    ]


def test_names_are_unique():
    """No two operations have the same name, and none the same place in the table."""
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert len({(route.method, route.scope, route.marker) for route in ROUTES}) == len(ROUTES)


@pytest.mark.parametrize(
    ("method", "scope", "params", "error"),
    [
        ("GET", "bucket", {"inventory": ""}, NotImplementedYet),
        ("PUT", "bucket", {"metrics": "", "id": "x"}, NotImplementedYet),
        ("POST", "key", {"restore": ""}, NotImplementedYet),
        ("POST", "key", {"select": "", "select-type": "2"}, NotImplementedYet),
        ("POST", "bucket", {}, NotImplementedYet),
        ("PUT", "key", {"retention": ""}, NotImplementedYet),
        ("OPTIONS", "bucket", {}, CorsForbidden),
        ("PATCH", "key", {}, MethodNotAllowed),
        ("PUT", "service", {}, MethodNotAllowed),
        ("DELETE", "service", {}, MethodNotAllowed),
    ],
)
def test_what_is_not_offered_is_refused_by_name(method, scope, params, error):
    """A feature that is not there is refused, never ignored."""
    with pytest.raises(error):
        find(method, TARGETS[scope], params, {})


def test_unknown_parameters_are_no_operations():
    """Parameters that S3 does not know, such as a client's own, change nothing."""
    assert find("GET", TARGETS["key"], {"x-id": "GetObject"}, {}).name == "GetObject"
    assert find("GET", TARGETS["bucket"], {"metadata": "true"}, {}).name == "ListObjects"


def test_refusals_are_ours():
    """Every refusal is one that the wire can say."""
    assert issubclass(NotImplementedYet, LakeshareError)
