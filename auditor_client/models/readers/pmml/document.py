"""PMML 4.0 to 4.4, as R, SAS, SPSS, KNIME and scikit-learn's converters write it.

The XML has no document type, no entity and nothing from outside, and is bounded in size and nesting. A prediction that
PMML leaves open (a record that no node of a tree takes) is refused where the dataset admits such a record. Records of
`ModelVerification` are compared with what was read; without them nothing is compared.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.etree.ElementTree import Element  # the type; defusedxml parses

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers
from auditor_client.models.favourable import favourable_classes
from auditor_client.models.raw_inputs import columns_of, named_inputs
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.decisions import compared
from auditor_client.models.readers.frames import installed
from auditor_client.models.readers.own.own_json import example_records
from auditor_client.models.readers.parsing import DocumentPart
from auditor_client.models.readers.pmml.dictionary import (
    require_both_types,
    require_listed_classes,
    require_no_defaults,
    require_readable_type,
    require_valid,
    write_labels_alike,
)
from auditor_client.models.readers.pmml.fields import Fields, same
from auditor_client.models.readers.pmml.models import MODELS, READ, decide
from auditor_client.models.readers.pmml.terms import PmmlModel
from auditor_client.models.readers.pmml.vocabulary import require_declared_inputs, require_known
from shared.contract.schema import Column

ELEMENTS_MAX: Final = 2_097_152
DEPTH_MAX: Final = 1_000
_AROUND: Final = ("Header", "MiningBuildTask", "DataDictionary", "TransformationDictionary", "Extension")


@dataclass(frozen=True, slots=True)
class PmmlFile:
    """A parsed PMML file, its elements without namespace."""

    root: Element


def load_file(content: bytes, name: str) -> PmmlFile:
    """Parse a file's XML.

    Raises:
        ModelRefused: It is damaged, too large, has entities or a document type, is of another version, or `defusedxml`
            is not installed.
    """
    parser = installed("defusedxml.ElementTree")
    if parser is None:
        raise ModelRefused(f"{name} is a PMML file: install pafer[auditor,pmml] to read it.")
    if content.count(b"<") > 2 * ELEMENTS_MAX:
        raise ModelRefused(f"{name} has more than {ELEMENTS_MAX} elements: a model that large is not read.")
    try:
        root = parser.fromstring(content, forbid_dtd=True, forbid_entities=True, forbid_external=True)
    except Exception as error:  # the parser's own errors, and those of defusedxml
        raise ModelRefused(f"{name} is not readable as XML: {type(error).__name__} {str(error)[:120]}.") from error
    _require_shallow(root, name)
    for element in root.iter():
        element.tag = str(element.tag).rpartition("}")[2]
    version = root.get("version", "none")
    if root.tag != "PMML" or not re.fullmatch(r"4\.[0-4](\.[0-9])?", version):
        raise ModelRefused(f"{name} is {root.tag[:40]!r} of the version {version[:20]!r}. {READ}")
    return PmmlFile(root)


def _require_shallow(root: Element, name: str) -> None:
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > DEPTH_MAX:
            raise ModelRefused(f"{name} is nested more than {DEPTH_MAX} deep.")
        level = [child for element in level for child in element]


def read_object(model: PmmlFile, request: ModelRequest) -> ReadModel:
    """Read a file over a dataset's columns.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    try:
        return _read(model.root, request)
    except ModelRefused:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelRefused(f"The PMML file contradicts itself ({reason}): save the model again.") from error


def _read(root: Element, request: ModelRequest) -> ReadModel:
    dictionary = root.find("DataDictionary")
    elements = [child for child in root if child.tag not in _AROUND]
    if dictionary is None or len(elements) != 1:
        raise ModelRefused(f"The file has no DataDictionary, or {len(elements)} models. {READ}")
    [element] = elements
    if element.tag not in MODELS or element.get("isScorable", "true") == "false":
        raise ModelRefused(f"{element.tag[:40]} is not read. {READ}")
    types, valid, entries = {}, {}, {}
    for data_field in dictionary.findall("DataField"):
        name = data_field.get("name", "")
        if name in entries:
            raise ModelRefused(f"The DataDictionary has the field {name[:40]!r} twice.")
        types[name] = data_field.get("dataType", "")
        entries[name] = data_field
        valid[name] = [
            value.get("value", "") for value in data_field.findall("Value") if value.get("property", "valid") == "valid"
        ]
    schema = element.find("MiningSchema")
    mining_fields = [] if schema is None else schema.findall("MiningField")
    mining = {field.get("name", ""): field for field in mining_fields}
    targets = [name for name, field in mining.items() if field.get("usageType") in ("target", "predicted")]
    if len(targets) > 1:
        raise ModelRefused(f"The model predicts {len(targets)} fields: read are models of one target.")
    target = targets[0] if targets else ""
    write_labels_alike(element, types.get(target, ""), valid.get(target, []))
    classes = valid.get(target, [])
    used = [name for name, field in mining.items() if field.get("usageType", "active") == "active"]
    names = _names(used, request)
    header = root.find("Header")
    application = None if header is None else header.find("Application")
    made_by = "" if application is None else f", made by {application.get('name', '')[:40]}"
    inputs = named_inputs(used, columns_of(used, request))
    provenance = Provenance(f"a PMML {root.get('version')} {element.tag}{made_by}", "pmml", inputs=inputs)
    fields = Fields(request, types, _derived(root, element, entries), mining, names)
    model = PmmlModel(element, fields, target, tuple(valid.get(target, [])), request, provenance)
    read = decide(model)
    require_known(root)
    require_declared_inputs(element, entries.keys() - {target})
    require_listed_classes(element, classes)
    require_no_defaults(element, fields.known.values())
    for name, entry in entries.items():
        if name == target or fields.is_used(name):
            require_both_types(entry)
        if fields.is_used(name):
            require_readable_type(types[name], fields[name].column)
            require_valid(entry, mining.get(name, Element("MiningField")), fields[name].column)
    for field in element.iter("MiningField"):
        name = field.get("name", "")
        if field.get("outliers", "asIs") != "asIs":
            raise ModelRefused(f"Field {name[:40]!r}: outliers as {field.get('outliers')!r} are not read.")
        if name in entries and fields.is_used(name):
            require_valid(entries[name], field, fields[name].column)
            _require_same_replacement(field, mining.get(name), fields[name].column)
    return _verified(read, model)


def _require_same_replacement(field: Element, outer: Element | None, column: Column) -> None:
    """Refuse a segment that replaces missing values or outliers otherwise than the whole model does."""
    whole = {} if outer is None else outer.attrib
    inner = field.get("missingValueReplacement")
    if inner is not None and column.nullable and whole.get("missingValueReplacement") is None:
        raise ModelRefused(
            f"Field {column.name!r}: a segment replaces missing values by {inner[:40]!r}, and the whole model does not."
        )


def _names(used: list[str], request: ModelRequest) -> dict[str, str]:
    if request.columns is None:
        return {}
    return dict(zip(used, columns_of(used, request), strict=True))


def _derived(root: Element, element: Element, entries: Mapping[str, Element]) -> dict[str, Element]:
    """All derived fields by their names; one inside of a segment is seen there only, and has a name of its own."""
    fields: dict[str, Element] = {}
    for around in (root.find("TransformationDictionary"), *element.iter("LocalTransformations")):
        for field in around.findall("DerivedField") if around is not None else ():
            name = field.get("name", "")
            if name in entries or (name in fields and not _alike(fields[name], field)):
                raise ModelRefused(f"The file has the field {name[:40]!r} twice.")
            fields[name] = field
    return fields


def _alike(first: Element, second: Element) -> bool:
    """Whether two elements say the same."""
    contents = [(element.tag, element.attrib, (element.text or "").strip()) for element in (first, second)]
    return contents[0] == contents[1] and len(first) == len(second) and all(map(_alike, first, second))


def _verified(read: ReadModel, model: PmmlModel) -> ReadModel:
    """Compare with the records of ModelVerification, if there are any and they say what is decided."""
    verification = model.element.find("ModelVerification")
    if verification is None:
        return read
    listed = verification.find("VerificationFields")
    table = verification.find("InlineTable")
    columns = {
        field.get("field", ""): str(field.get("column") or field.get("field", "")).rpartition(":")[2]
        for field in (listed if listed is not None else ())
    }
    output = model.element.find("Output")
    predicted = [
        field.get("name", "") for field in (output if output is not None else ())
        if field.get("feature", "predictedValue") == "predictedValue"
    ]  # fmt: skip
    column = next((columns[name] for name in (*predicted, model.target) if name in columns), None)
    rows = [{cell.tag: (cell.text or "").strip() for cell in row} for row in (table if table is not None else ())]
    if (
        column is None
        or not rows
        or (not model.classifies and model.element.tag != "RuleSetModel" and model.request.above is None)
    ):
        return read
    parts = [DocumentPart(_record(row, columns, model), f"record {index + 1}") for index, row in enumerate(rows)]
    records = example_records(parts, read, model.request)
    if model.classifies or model.element.tag == "RuleSetModel":
        labels = sorted({row.get(column, "") for row in rows})
        classes = list(model.classes) or labels
        favourable_labels = favourable_classes(classes, model.request.favourable)
        favourable = [any(row.get(column, "") == str(label) for label in favourable_labels) for row in rows]
        if model.request.above is not None:
            return read
    else:
        limit = model.request.above
        favourable = [limit is not None and float(row[column]) > limit for row in rows]
    answers = MakersAnswers(favourable=np.array(favourable, bool))
    return compared(read, model.request, lambda _: answers, "its ModelVerification records", records=records)


def _record(row: dict[str, str], columns: dict[str, str], model: PmmlModel) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for field, cell in columns.items():
        column = model.request.schema.by_name.get(model.fields.names.get(field, field))
        text = row.get(cell)
        if column is None or text is None or text == "":
            continue
        if column.ordered:
            record[column.name] = float(text)
        else:
            record[column.name] = next((value for value in column.values if same(value, text)), text)
    return record
