"""Renders `croissant.json`: the dataset in Croissant 1.1 (JSON-LD), with the meaning of each column.

Contract: Croissant supports records of one level; deeper members of a column are left to the Parquet schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import yaml

from livek12.core.features import FlatRow, columns, is_flat
from livek12.core.languages import codes, listed
from livek12.core.question_types import type_names
from livek12.core.records import Page, Question, Record
from livek12.dataset_builders.base import PAGES
from livek12.dataset_builders.writing.listings import Publication
from livek12.dataset_builders.writing.statistics import NOT_STATED


@cache
def _words() -> dict[str, dict[str, str]]:
    text = resources.files("livek12.hub_cards").joinpath("words.yaml").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, str]] = yaml.safe_load(text)
    return loaded


def words_of(kind: str) -> dict[str, str]:
    """Words of cards by name: the `numbers` or `axes` of the statistics."""
    return _words()[kind]


def meanings(record: type[Record], benchmarks: Iterable[str] = ()) -> dict[str, str]:
    """Meaning of each column in a dataset of these benchmarks."""
    stated = {"language": listed(codes()), "question_type": listed(type_names())}
    texts = {
        name: stated.get(name) or next(note for note in field.metadata if isinstance(note, str))
        for name, field in record.model_fields.items()
    }
    named, names = re.findall(r"\w+", texts.get("benchmark", "")), sorted(benchmarks)
    return texts if not named or set(names) <= set(named) else {**texts, "benchmark": " or ".join(names)}


CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
REPOSITORY = "repo"
"""The id of the repository among the files, as in the Hub's own descriptions."""
_NO_SUM = "https://github.com/mlcommons/croissant/issues/80"
"""Placeholder for the checksum of a repository, which Croissant requires and does not define yet."""
_OWN = {
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
}
_TERMS = (
    "arrayShape citeAs column conformsTo containedIn data dataType description equivalentProperty"
    " examples extract field fileObject fileProperty fileSet format includes isArray isLiveDataset"
    " jsonPath key md5 name parentField path recordSet references regex repeated replace samplingRate"
    " separator source subField transform"
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    **{term: _OWN.get(term, f"cr:{term}") for term in _TERMS.split()},
}
_TYPES = {"string": "sc:Text", "int64": "sc:Integer", "float64": "sc:Float", "bool": "sc:Boolean"}


_LICENCES = {
    "apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "mit": "https://spdx.org/licenses/MIT.html",
    "cc0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
}


def render_croissant(
    summary: Mapping[str, Any],
    configs: Iterable[Mapping[str, Any]],
    note: str,
    cite: str,
    published: Publication | None = None,
) -> str:
    """Renders the description; `note` is required in every copy."""
    listed = list(configs)
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": f"livek12_{summary['data_set']}",
        "description": f"{summary['all']['questions']} exam questions as Parquet. {note}",
        **({"url": published.url, "version": published.version, "datePublished": published.date} if published else {}),
        "citeAs": cite,
        "license": [licence_address(name) for name in sorted(summary["all"]["by"]["licence"]) if name != NOT_STATED],
        "inLanguage": sorted(summary["all"]["by"]["language"]),
        "isAccessibleForFree": True,
        "distribution": [_repository(published), *(_files(config) for config in listed)],
        "recordSet": [_records(config, summary["all"]["by"]["benchmark"]) for config in listed],
    }
    return json.dumps({name: value for name, value in described.items() if value}, ensure_ascii=False, indent=1) + "\n"


def licence_address(name: str) -> str:
    """Address of a licence; its name if unknown."""
    slug = "-".join(name.lower().split())
    if match := re.fullmatch(r"cc-by((?:-(?:nc|nd|sa))*)-(\d\.\d)", slug):
        return f"https://creativecommons.org/licenses/by{match[1]}/{match[2]}/"
    return _LICENCES.get(slug, name)


def _repository(published: Publication | None) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": REPOSITORY,
        "name": REPOSITORY,
        "description": "The repository of the data set." if published else "The folder of the data set.",
        "contentUrl": published.url if published else ".",
        "encodingFormat": "git+https",
        "sha256": _NO_SUM,
    }


def _files(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{config['name']}-files",
        "name": f"{config['name']}-files",
        "description": f"Parquet files of config {config['name']}.",
        "containedIn": {"@id": REPOSITORY},
        "encodingFormat": "application/x-parquet",
        "includes": [path for split in config["splits"] for path in split["paths"]],
    }


def _records(config: Mapping[str, Any], benchmarks: Iterable[str]) -> dict[str, Any]:
    record: type[Record] = FlatRow if is_flat(config["name"]) else Page if config["name"] == PAGES else Question
    splits = ", ".join(f"{split['name']} ({split['rows']})" for split in config["splits"])
    name, explained = config["name"], meanings(record, benchmarks)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Config {name}; splits: {splits}.",
        "field": [
            _field(name, column, feature, explained[column])
            for column, feature in columns(record).items()
            if feature.get("feature", {}).get("_type") != "List"  # mlcroissant reads no lists of lists
        ],
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
