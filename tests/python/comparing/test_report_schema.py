"""The schema of reports: it is one, and it is complete."""

import copy

import gpu_reports
import pytest
from cudasim.comparing import report as parts

jsonschema = pytest.importorskip("jsonschema")


def test_the_schema_is_valid():
    schema = parts.schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def definitions(schema):
    yield schema
    yield from schema["$defs"].values()


def test_objects_name_all_their_members_and_every_definition_is_used():
    schema = parts.schema()
    for one in definitions(schema):
        if one.get("type") == "object":
            assert one["additionalProperties"] is False
            assert set(one["required"]) <= set(one["properties"])
    text = str(schema)
    assert not [name for name in schema["$defs"] if f"'#/$defs/{name}'" not in text]


def test_a_report_with_everything_has_every_member():
    """What no report of these tests has could not be wrong."""
    made = gpu_reports.report(
        gpu_reports.differing_launch(message="note", process=4242),
    )
    launch = made["launches"][0]
    properties = parts.schema()["$defs"]
    assert set(launch) == set(properties["launch"]["properties"])
    (out,) = [array for array in launch["arrays"] if array["name"] == "out"]
    assert set(out) == set(properties["array"]["properties"])
    assert set(out["elements"][0]) == set(properties["element"]["properties"]) - {"field"}
    assert set(launch["printed"]) == set(properties["printed"]["properties"])


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report["launches"][0].pop("arrays"),
        lambda report: report["launches"][0].update(verdict=None),
        lambda report: report["launches"][0].update(status="refused"),
        lambda report: report["launches"][0].update(more=1),
        lambda report: report["launches"][0]["arrays"][0].pop("verdict"),
        lambda report: report["launches"][0]["arrays"][2]["elements"][0].update(absolute="nan"),
        lambda report: report["launches"][0]["arrays"][2]["elements"][0]["writes"][0].update(thread=[1]),
        lambda report: report.update(version=2),
    ],
)
def test_wrong_reports_are_refused(change):
    made = copy.deepcopy(gpu_reports.report(gpu_reports.differing_launch()))
    change(made)
    with pytest.raises(jsonschema.ValidationError):
        gpu_reports.validate(made)
