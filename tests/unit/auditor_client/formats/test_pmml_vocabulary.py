"""PMML's vocabulary: each name of the standard's schema is used, irrelevant for a reason, or refused.

`pmml_schema.json` is written by `checks/foreign_models/pmml_schema.py` from a class model of the schema of PMML 4.4.
"""

import json
import re
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring  # written here, and not parsed

import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.pmml import vocabulary
from auditor_client.models.readers.pmml.vocabulary import IRRELEVANT, SKIPPED, VOCABULARY
from shared.contract.schema import Column, Schema

SCHEMA = json.loads((Path(__file__).parent / "pmml_schema.json").read_text())
OUTSIDE_OF_THE_SCHEMA = {"Indices", "REAL-Entries"}
"""Elements that the class model takes for texts."""
JPMML = {"x-missingPredictionTreatment", "x-mathContext", "x-baseVersion"}
REFUSED = sorted(set(SCHEMA) - set(VOCABULARY) - set(SKIPPED))
REFUSED_ATTRIBUTES = sorted(
    (name, attribute)
    for name, listed in VOCABULARY.items()
    for attribute in set(SCHEMA.get(name, ())) - set(listed.split())
)
REGRESSION = 'functionName="regression"'
READERS = [path.read_text() for path in Path(vocabulary.__file__).parent.glob("*.py") if path.name != "vocabulary.py"]


def pmml(change: str = "", attribute: tuple[str, str] | None = None) -> bytes:
    """A sound tree; with an element more, or an attribute of it."""
    root = Element("PMML", version="4.4", xmlns="http://www.dmg.org/PMML-4_4")
    dictionary = SubElement(root, "DataDictionary")
    SubElement(dictionary, "DataField", name="age", optype="continuous", dataType="double")
    SubElement(dictionary, "DataField", name="y", optype="categorical", dataType="string")
    tree = SubElement(root, "TreeModel", functionName="classification", noTrueChildStrategy="returnLastPrediction")
    mining = SubElement(tree, "MiningSchema")
    SubElement(mining, "MiningField", name="age")
    SubElement(mining, "MiningField", name="y", usageType="target")
    node = SubElement(tree, "Node", score="no")
    SubElement(node, "True")
    child = SubElement(node, "Node", score="yes")
    SubElement(child, "SimplePredicate", field="age", operator="greaterThan", value="40")
    if attribute is not None:
        extra = SubElement(child if attribute[0] != "MiningField" else mining, attribute[0])
        extra.set(attribute[1], "7")
    if change:
        SubElement(tree, change)
    return tostring(root)


def read(content: bytes) -> None:
    declared = Schema(person_key="id", columns=(Column(name="age", type="number"),))
    read_object(load_object(content, "m.pmml"), ModelRequest(declared, favourable=["yes"]))


def test_the_tree_by_itself_is_read() -> None:
    read(pmml())


def test_the_table_has_no_name_outside_of_the_standard() -> None:
    assert len(SCHEMA) > 290
    assert set(VOCABULARY) - set(SCHEMA) == OUTSIDE_OF_THE_SCHEMA
    assert set(SKIPPED) <= set(SCHEMA)
    for name, attributes in VOCABULARY.items():
        assert set(attributes.split()) <= {*SCHEMA.get(name, ()), *JPMML}, name


def test_each_attribute_is_used_by_a_reader_or_irrelevant_for_a_reason() -> None:
    literals = {literal for text in READERS for literal in re.findall(r'"([\w-]+)"', text)}
    listed = {attribute for attributes in VOCABULARY.values() for attribute in attributes.split()}

    assert listed - set(IRRELEVANT) <= literals
    assert set(IRRELEVANT) <= listed
    assert not set(IRRELEVANT) & literals
    assert all({**SKIPPED, **IRRELEVANT}.values())


@pytest.mark.parametrize("name", REFUSED)
def test_every_other_element_of_the_standard_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(ModelRefused, match=re.escape(f"'{name}'")):
        read(pmml(name))


@pytest.mark.parametrize(("name", "attribute"), REFUSED_ATTRIBUTES)
def test_every_other_attribute_of_the_standard_is_refused_by_its_name(name: str, attribute: str) -> None:
    with pytest.raises(ModelRefused, match=re.escape(f"'{attribute}'")):
        read(pmml(attribute=(name, attribute)))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('<MiningField name="age" />', "", "'age', which its MiningSchema does not list"),
        ('<MiningField name="age" />', '<MiningField name="age" /><MiningField name="age" />', "twice"),
        ("<True />", "<True /><False />", "not exactly one predicate"),
        ("<True />", "", "no predicate"),
        ('functionName="classification"', 'functionName="classification" isScorable="false"', "is not read"),
        ('<MiningField name="age" />', '<MiningField name="age" optype="categorical" />', "another optype"),
        ('dataType="double" />', 'dataType="integer" />', "fractions are invalid"),
        ("<MiningSchema>", "<MiningSchema /><MiningSchema>", "twice"),
        ('<DataField name="age" optype="continuous"', '<DataField name="age"', "optype=None"),
        ('optype="continuous" dataType="double"', 'optype="continuous"', "dataType=None"),
        ('<DataField name="y" optype="categorical"', '<DataField name="y"', "optype=None"),
        ('<DataField name="age" optype="continuous" dataType="double" />', "", "not in the DataDictionary"),
        ('name="age" optype="continuous" dataType="double"', 'name="age" optype="continuous" dataType="boolean"',
         "dataType='boolean'"),
        ('dataType="string" />', 'dataType="string"><Value value="yes" /></DataField>', "'no' is not among"),
        ('<DataField name="age"', '<DataField name="age" dataType="double" /><DataField name="age"', "twice"),
    ],
)  # fmt: skip
def test_what_programs_read_differently_is_refused(old: str, new: str, says: str) -> None:
    """A field that no schema lists is missing to the standard's evaluators; of two they take the first or the last."""
    content = pmml().decode()
    assert old in content

    with pytest.raises(ModelRefused, match=says):
        read(content.replace(old, new, 1).encode())


@pytest.mark.parametrize(
    ("kind", "number", "says"),
    [("double", "0.5", ""), ("float", "0.5", ""), ("integer", "2", ""), ("float", "0.1", "float"),
     ("integer", "0.5", "integer"), ("string", "0.5", "string"), ("boolean", "1", "boolean")],
)  # fmt: skip
def test_a_constant_is_the_double_that_it_says(kind: str, number: str, says: str) -> None:
    content = (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><DataDictionary><DataField name="age" '
        'optype="continuous" dataType="double"/></DataDictionary><TransformationDictionary><DerivedField name="s" '
        'optype="continuous" dataType="double"><Apply function="*"><FieldRef field="age"/>'
        f'<Constant dataType="{kind}">{number}</Constant></Apply></DerivedField></TransformationDictionary>'
        '<RegressionModel functionName="regression"><MiningSchema><MiningField name="age"/></MiningSchema>'
        '<RegressionTable intercept="1"><NumericPredictor name="s" coefficient="1"/></RegressionTable>'
        "</RegressionModel></PMML>"
    ).encode()
    declared = Schema(person_key="id", columns=(Column(name="age", type="number"),))

    if says:
        with pytest.raises(ModelRefused, match=f"Constant {float(number)} of the type '{says}'"):
            read_object(load_object(content, "m.pmml"), ModelRequest(declared, above=2))
    else:
        assert read_object(load_object(content, "m.pmml"), ModelRequest(declared, above=2)).columns


@pytest.mark.parametrize("function", ["", 'functionName="classification"', f'{REGRESSION} isScorable="false"'])
def test_every_segment_predicts_what_the_model_does(function: str) -> None:
    segment = (
        '<Segment><True/><TreeModel {}><MiningSchema><MiningField name="age"/></MiningSchema><Node score="1"><True/>'
        "</Node></TreeModel></Segment>"
    )
    content = (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><DataDictionary><DataField name="age" '
        'optype="continuous" dataType="double"/></DataDictionary><MiningModel functionName="regression"><MiningSchema>'
        '<MiningField name="age"/></MiningSchema><Segmentation multipleModelMethod="sum">'
        f"{segment.format(REGRESSION)}{segment.format(function)}</Segmentation></MiningModel></PMML>"
    )
    declared = Schema(person_key="id", columns=(Column(name="age", type="number"),))

    with pytest.raises(ModelRefused, match=r"predicts something else|is not read"):
        read_object(load_object(content.encode(), "m.pmml"), ModelRequest(declared, above=2))


def test_a_category_is_added_once() -> None:
    table = (
        '<RegressionModel functionName="regression"><MiningSchema><MiningField name="age"/></MiningSchema>'
        '<RegressionTable intercept="1">{}</RegressionTable></RegressionModel>'
    )
    once = '<CategoricalPredictor name="age" value="1" coefficient="2"/>'
    content = (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><DataDictionary><DataField name="age" '
        f'optype="categorical" dataType="double"/></DataDictionary>{table.format(once + once)}</PMML>'
    )
    declared = Schema(person_key="id", columns=(Column(name="age", type="number"),))

    with pytest.raises(ModelRefused, match="twice the same 'CategoricalPredictor'"):
        read_object(load_object(content.encode(), "m.pmml"), ModelRequest(declared, above=2))
