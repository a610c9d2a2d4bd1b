"""The messages of remote write, read back by Google's own protobuf from the published definition."""

import math
import struct
from typing import Any

import cramjam
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.delivery import remotewrite
from jobmeter.delivery.samples import Points
from jobmeter.exporters.metric_names import Family, Type

FIELD = descriptor_pb2.FieldDescriptorProto


def _write_request() -> Any:
    """Build the classes of https://github.com/prometheus/prometheus/blob/main/prompb/{remote,types}.proto."""
    file = descriptor_pb2.FileDescriptorProto(name="remote.proto", package="prometheus", syntax="proto3")
    for name, fields in {
        "WriteRequest": [("timeseries", 1, ".prometheus.TimeSeries")],
        "TimeSeries": [("labels", 1, ".prometheus.Label"), ("samples", 2, ".prometheus.Sample")],
        "Label": [("name", 1, FIELD.TYPE_STRING), ("value", 2, FIELD.TYPE_STRING)],
        "Sample": [("value", 1, FIELD.TYPE_DOUBLE), ("timestamp", 2, FIELD.TYPE_INT64)],
    }.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            repeated = FIELD.LABEL_REPEATED if isinstance(kind, str) else FIELD.LABEL_OPTIONAL
            one = message.field.add(name=field, number=number, label=repeated)
            if isinstance(kind, str):
                one.type, one.type_name = FIELD.TYPE_MESSAGE, kind
            else:
                one.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)  # type: ignore[no-untyped-call]
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("prometheus.WriteRequest"))


WriteRequest = _write_request()
RSS = Family("jobmeter_rss_bytes", Type.GAUGE, "")


def decoded(points: Points, more: tuple[tuple[str, str], ...] = ()) -> Any:
    body = remotewrite.encode_request([remotewrite.encode_series(points, more)])
    return WriteRequest.FromString(body).timeseries[0]


def test_a_series_has_its_name_labels_in_order_and_samples() -> None:
    found = decoded(
        Points(RSS, (("host", "nöde"), ("run_id", "r-1")), [1794736201123, 1794736202123], [0.1, math.inf]),
        (("cluster", "blue"),),
    )
    assert [(one.name, one.value) for one in found.labels] == [
        ("__name__", "jobmeter_rss_bytes"),
        ("cluster", "blue"),
        ("host", "nöde"),
        ("run_id", "r-1"),
    ]
    assert [(one.timestamp, one.value) for one in found.samples] == [
        (1794736201123, 0.1),
        (1794736202123, math.inf),
    ]


@given(
    moment=st.integers(min_value=-(2**63), max_value=2**63 - 1),
    value=st.floats(),
    label=st.text(st.characters(codec="utf-8"), max_size=300),
)
def test_any_time_value_and_label_come_back_as_they_were(moment: int, value: float, label: str) -> None:
    found = decoded(Points(RSS, (("a", label),), [moment], [value]))
    assert found.samples[0].timestamp == moment
    assert struct.pack("<d", found.samples[0].value) == struct.pack("<d", value)
    assert found.labels[1].value == label


def test_half_a_character_does_not_spoil_a_request() -> None:
    assert decoded(Points(RSS, (("a", "\ud800"),), [1], [1.0])).labels[1].value == "?"


def test_the_body_is_a_snappy_block() -> None:
    body = remotewrite.encode_request([remotewrite.encode_series(Points(RSS, (), [1], [2.0]))])
    packed = bytes(cramjam.snappy.compress_raw(body))
    assert bytes(cramjam.snappy.decompress_raw(packed)) == body


@pytest.mark.parametrize(
    ("number", "encoded"), [(0, b"\x00"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02")]
)
def test_lengths_are_written_as_protobuf_does(number: int, encoded: bytes) -> None:
    found = remotewrite.encode_request([remotewrite.Encoded(b"x" * number, 1)])
    assert found[1 : 1 + len(encoded)] == encoded
