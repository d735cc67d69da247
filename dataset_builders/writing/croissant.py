"""Renders `croissant.json`: the data set as Croissant 1.0 describes data sets (JSON-LD).

Contract: one record set a config, with a field for every column; files are named by the same patterns as in the card,
relative to the data set. Croissant knows texts, numbers, pictures, lists and records of one level; deeper members of
a column are left to the Parquet schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from livek12.core.features import columns
from livek12.core.records import Page, Question, Record
from livek12.dataset_builders.base import PAGES
from livek12.dataset_builders.writing.columns import meanings

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {"string": "sc:Text", "int64": "sc:Integer", "float64": "sc:Float", "bool": "sc:Boolean"}


def render_croissant(summary: Mapping[str, Any], configs: Iterable[Mapping[str, Any]], note: str, cite: str) -> str:
    """The description of a data set, as text.

    Args:
        summary: `Statistics.summary`.
        configs: the configs as `card.describe_configs` gives them.
        note: what has to go with every copy.
        cite: BibTeX of the papers.
    """
    listed = list(configs)
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": f"livek12_{summary['data_set']}",
        "description": f"{summary['all']['questions']} exam questions as Parquet. {note}",
        "citeAs": cite,
        "license": sorted(summary["all"]["by"]["licence"]),
        "inLanguage": sorted(summary["all"]["by"]["language"]),
        "isAccessibleForFree": True,
        "distribution": [_files(config) for config in listed],
        "recordSet": [_records(config, summary["all"]["by"]["benchmark"]) for config in listed],
    }
    return json.dumps(described, ensure_ascii=False, indent=1) + "\n"


def _files(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{config['name']}-files",
        "name": f"{config['name']}-files",
        "description": f"Parquet files of config {config['name']}.",
        "encodingFormat": "application/x-parquet",
        "includes": [path for split in config["splits"] for path in split["paths"]],
    }


def _records(config: Mapping[str, Any], benchmarks: Iterable[str]) -> dict[str, Any]:
    record: type[Record] = Page if config["name"] == PAGES else Question
    splits = ", ".join(f"{split['name']} ({split['rows']})" for split in config["splits"])
    name, explained = config["name"], meanings(record, benchmarks)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Config {name}; splits: {splits}.",
        "field": [_field(name, column, feature, explained[column]) for column, feature in columns(record).items()],
    }


def _field(config: str, column: str, feature: Mapping[str, Any], meaning: str) -> dict[str, Any]:
    repeated = feature.get("_type") == "List"
    inner = feature["feature"] if repeated else feature
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{config}/{column}",
        "name": column,
        "description": meaning,
        "source": {"fileSet": {"@id": f"{config}-files"}, "extract": {"column": column}},
    }
    if inner.get("_type") == "Value":
        described["dataType"] = _TYPES[inner["dtype"]]
    elif inner.get("_type") == "Image":
        described["dataType"] = "sc:ImageObject"
        described["source"]["transform"] = {"jsonPath": "bytes"}
    else:
        described["subField"] = [_member(config, column, name, member) for name, member in inner.items()]
    if repeated:
        described["repeated"] = True
    return described


def _member(config: str, column: str, name: str, feature: Mapping[str, Any]) -> dict[str, Any]:
    repeated = feature.get("_type") == "List"
    return {
        "@type": "cr:Field",
        "@id": f"{config}/{column}/{name}",
        "name": name,
        "dataType": _TYPES[(feature["feature"] if repeated else feature)["dtype"]],
        **({"repeated": True} if repeated else {}),
        "source": {
            "fileSet": {"@id": f"{config}-files"},
            "extract": {"column": column},
            "transform": {"jsonPath": name},
        },
    }
