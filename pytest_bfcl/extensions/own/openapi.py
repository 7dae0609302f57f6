"""Function documents of an OpenAPI document (version 3, or Swagger 2): one for each operation.

The document is data: nothing in it is fetched or run. References inside it are followed within limits; others stay
open.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl import extras
from pytest_bfcl.confined import Service, Stopped, Worker
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import clean
from pytest_bfcl.spread_json import json_trouble, text_file
from pytest_bfcl.tools.json_schema import DIALECT, target

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import FunctionDoc


METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
MAX_BYTES = 20_000_000
SERVICE = Service(
    "pytest_bfcl.extensions.own.openapi", "reads OpenAPI documents", cpu_s=20, wall_s=120.0, memory=2**30,
    longest=8 * MAX_BYTES,
)  # fmt: skip
LONGEST_NAME = 64
"""Longest name that all providers accept; a longer one ends in a digest."""
_PLACES = ("path", "query", "header", "cookie", "formData")
_JSON_BODIES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data", "*/*")

_NO_SCHEMA = frozenset(
    {"name", "in", "required", "collectionFormat", "allowEmptyValue", "style", "explode", "examples"}
)
_COMPOSED = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "patternProperties"})
"""Keywords whose schemas stay whole in a body."""

EXAMPLES = "examples"
"""The field of a document with its author's example values: parameter → value. For drafts, not for models."""


def documents_of_openapi(path: Path | str) -> list[FunctionDoc]:
    """Documents of every operation in a file (JSON or YAML), in its order, with `EXAMPLES`. Raises `UsageError`.

    A worker process with limited time and memory reads the file, because a few lines may expand to gigabytes.
    """
    path = Path(path)
    yaml = ("yaml",) if find_spec("yaml") is not None else ()
    worker = Worker(replace(SERVICE, packages=yaml))
    try:
        answer: Parsed = json.loads(
            worker.ask(json.dumps({"text": text_file(path, most=MAX_BYTES), "json": path.suffix == ".json"}))
        )
    except Stopped as stopped:
        raise UsageError(f"{path} cannot be read: {stopped}") from None
    finally:
        worker.close()
    if answer.get("needs"):
        extras.require(answer["needs"], f"{path}, which is not JSON,")
    if "documents" not in answer:
        raise UsageError(f"{path} {clean(str(answer.get('error')))}")
    documents: list[FunctionDoc] = answer["documents"]
    return documents


def opened() -> Callable[[str], str]:
    """The worker's side: the answers to request lines, ``{"documents": […]}`` or ``{"error": text}``."""
    with suppress(ImportError):
        import yaml

        yaml.load("a: [1, 2020-01-01, &x 1.5e3, *x, yes, !!binary aGk=]", _loader(yaml))  # what it loads on first use

    def answer(line: str) -> str:
        try:
            return json.dumps(_answered(json.loads(line)), default=str)
        except MemoryError:
            return json.dumps({"error": "needs too much memory"})
        except RecursionError:
            return json.dumps({"error": "is nested too deeply"})
        except Exception as error:
            return json.dumps({"error": str(error)[:300]})

    return answer


def _answered(request: Parsed) -> Parsed:
    try:
        value = json.loads(request["text"])
    except ValueError as error:
        if request["json"]:
            return {"error": f"is {json_trouble(error)}"}
        try:
            import yaml
        except (ImportError, PermissionError):  # in the worker nothing more may be imported
            return {"needs": "yaml"}
        try:
            value = yaml.load(request["text"], _loader(yaml))
        except (yaml.YAMLError, ValueError) as wrong:
            return {"error": f"is neither JSON nor YAML: {' '.join(str(wrong).split())[:300]}"}
    if not isinstance(value, Mapping) or not isinstance(value.get("paths"), Mapping):
        return {"error": 'is no OpenAPI document: it has no "paths"'}
    documents = list(_operations(value))
    return {"documents": documents} if documents else {"error": "describes no operation"}


def _loader(yaml: Any) -> Any:
    """The safe loader, with libyaml if installed: ten times as fast."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _operations(root: Fields) -> Iterator[FunctionDoc]:
    taken: set[str] = set()
    for route, item in root["paths"].items():
        shared = item.get("parameters") if isinstance(item, Mapping) else None
        for method in METHODS:
            operation = item.get(method) if isinstance(item, Mapping) else None
            if not isinstance(operation, Mapping):
                continue
            document = _document(str(route), method, operation, shared, root)
            name, number = document["name"][:LONGEST_NAME], 2
            if len(document["name"]) > LONGEST_NAME:
                name = f"{name[:-7]}_{hashlib.sha256(document['name'].encode()).hexdigest()[:6]}"
                document["name"] = name
            while document["name"] in taken:
                document["name"], number = f"{name}_{number}", number + 1
            taken.add(document["name"])
            yield document


def _document(route: str, method: str, operation: Fields, shared: object, root: Fields) -> FunctionDoc:
    tool = _Parameters(root)
    for parameter in _parameters(shared, operation.get("parameters"), root):
        if parameter.get("in") == "body":  # Swagger 2
            tool.add_body(parameter, parameter)
        else:
            tool.add(parameter)
    body = resolved(operation.get("requestBody"), root)
    if media := _media(body):
        tool.add_body(media, body)
    told = [operation.get(key) for key in ("summary", "description")]
    lines = [" ".join(text.split()) for text in told if isinstance(text, str) and text.strip()]
    description = " ".join(line if line.endswith((".", "!", "?")) else f"{line}." for line in dict.fromkeys(lines))
    return {
        "name": _name(operation.get("operationId"), method, route), "description": description, "dialect": DIALECT,
        "parameters": tool.schema(), EXAMPLES: tool.examples,
    }  # fmt: skip


class _Parameters:
    """The parameters of one tool, with their author's examples."""

    def __init__(self, root: Fields) -> None:
        self.examples: Parsed = {}
        self._root = root
        self._schemas = Standalone(root)
        self._properties: Parsed = {}
        self._required: list[str] = []

    def add(self, parameter: Fields) -> None:
        """One parameter of a path, a query, a header or a form."""
        name = str(parameter["name"])
        found = self._properties[name] = self._schemas.of(_schema_of(parameter))
        if isinstance(parameter.get("description"), str):
            found["description"] = parameter["description"]
        if parameter.get("required") is True:
            self._required.append(name)
        if (example := given_example(parameter, self._root)) is not None:
            self.examples[name] = example

    def add_body(self, media: Fields, body: Fields) -> None:
        """The body's fields as parameters; a body that is no object, or clashes with them, is one field."""
        schema = media.get("schema")
        if not isinstance(schema, Mapping):
            return
        example = given_example(media, self._root)
        whole = resolved(schema, self._root)
        fields = whole.get("properties")
        plain = whole.get("type", "object") == "object" and not _COMPOSED & whole.keys()
        if plain and isinstance(fields, Mapping) and fields and not fields.keys() & self._properties.keys():
            added = {str(name): self._schemas.of(field) for name, field in fields.items()}
            self._properties |= added
            listed = whole.get("required")
            if body.get("required") is not False and isinstance(listed, list):
                self._required += [name for name in map(str, listed) if name in added]
            if isinstance(example, dict):
                self.examples |= {name: value for name, value in example.items() if name in added}
            return
        self._properties["body"] = self._schemas.of(schema)
        if body.get("required") is True:
            self._required.append("body")
        if example is not None:
            self.examples["body"] = example

    def schema(self) -> Parsed:
        """The JSON Schema of the arguments."""
        required = list(dict.fromkeys(self._required))
        definitions = {"$defs": self._schemas.definitions} if self._schemas.definitions else {}
        return {"type": "object", "properties": self._properties, "required": required, **definitions}


def _schema_of(parameter: Fields) -> Fields:
    """The schema of a parameter: its own, that of its content, or the parameter itself (Swagger 2)."""
    if isinstance(schema := parameter.get("schema"), Mapping):
        return schema
    if media := _media(parameter):
        return media["schema"] if isinstance(media.get("schema"), Mapping) else {}
    return {key: value for key, value in parameter.items() if key not in _NO_SCHEMA}


def _media(holder: Fields) -> Fields:
    """The name of the kind of content."""
    content = holder.get("content")
    if not isinstance(content, Mapping):
        return {}
    kind = next((each for each in (*_JSON_BODIES, *content) if each in content), None)
    media = content.get(kind)
    return media if isinstance(media, Mapping) else {}


def _parameters(shared: object, own: object, root: Fields) -> list[Fields]:
    """An operation's parameters: its path's, overridden by its own with the same name and place."""
    found: dict[tuple[Any, Any], Fields] = {}
    for listed in (shared, own):
        for each in listed if isinstance(listed, list) else ():
            parameter = resolved(each, root)
            if isinstance(parameter.get("name"), str) and parameter.get("in") in (*_PLACES, "body"):
                found[parameter["name"], parameter.get("in")] = parameter
    return list(found.values())


def _name(operation_id: object, method: str, route: str) -> str:
    """A legal function name: the operation's id, else method and route."""
    text = operation_id if isinstance(operation_id, str) and operation_id.strip() else f"{method}_{route}"
    name = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_.]+", "_", text)).strip("_.")
    return name if name[:1].isalpha() else f"call_{name}" if name else "call"


MAX_DEPTH = 8


def given_example(holder: Fields, root: Fields, depth: int = 0) -> Any:
    """The example of a parameter, a media type or a schema: its own, or one made of its parts; ``None`` without any.

    References inside the document are followed within limits; an object has its required fields.
    """
    holder = resolved(holder, root)
    if depth > MAX_DEPTH:
        return None
    if holder.get("example") is not None:
        return holder["example"]
    examples = holder.get("examples")
    listed = list(examples.values()) if isinstance(examples, Mapping) else examples
    if isinstance(listed, list) and listed:
        first = resolved(listed[0], root) if isinstance(listed[0], Mapping) else listed[0]
        told = first.get("value") if isinstance(examples, Mapping) and isinstance(first, Mapping) else first
        if told is not None:
            return told
    if isinstance(holder.get("schema"), Mapping):
        return given_example(holder["schema"], root, depth + 1)
    if isinstance(holder.get("items"), Mapping):
        item = given_example(holder["items"], root, depth + 1)
        return None if item is None else [item]
    properties = holder.get("properties")
    if isinstance(properties, Mapping):
        found = {
            str(name): value
            for name, each in list(properties.items())[:100]
            if isinstance(each, Mapping) and (value := given_example(each, root, depth + 1)) is not None
        }
        return found or None
    return None


def resolved(value: object, root: Fields) -> Fields:
    """A parameter, body or schema, with references inside the document resolved within limits."""
    for _ in range(MAX_DEPTH):
        reference = value.get("$ref") if isinstance(value, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        value = target(reference, root)
    return value if isinstance(value, Mapping) else {}


MOST_PARTS = 20_000
"""Most parts of schemas that one tool includes; deeper ones stay open."""
MOST_DEPTH = 32
_LEFT_OUT = frozenset(
    {"example", "xml", "discriminator", "externalDocs", "nullable", "readOnly", "writeOnly", "deprecated"}
)
"""Keywords of OpenAPI that JSON Schema does not have, or that a tool does not need; also ``x-…``."""
_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


class Standalone:
    """The schemas of one tool: `of` returns each, `definitions` has their references' targets."""

    def __init__(self, root: Fields) -> None:
        self.definitions: Parsed = {}
        self._root = root
        self._names: dict[str, str] = {}
        self._parts = 0

    def of(self, schema: object, depth: int = 0) -> Any:
        """A schema with references into `definitions`, ``nullable`` as a type, bounds as numbers."""
        self._parts += 1
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping) or depth > MOST_DEPTH or self._parts > MOST_PARTS:
            return {}
        found: Parsed = {}
        for key, value in schema.items():
            if key in _LEFT_OUT or str(key).startswith("x-"):
                continue
            if key == "$ref":
                found |= self._reference(value, depth)
            elif key in _MAPS and isinstance(value, Mapping):
                found[key] = {str(name): self.of(each, depth + 1) for name, each in value.items()}
            elif key in _LISTS and isinstance(value, list):
                found[key] = [self.of(each, depth + 1) for each in value]
            elif key in _SCHEMAS:
                listed = isinstance(value, list)
                found[key] = [self.of(each, depth + 1) for each in value] if listed else self.of(value, depth + 1)
            else:
                found[key] = value
        return _mended(found, nullable=schema.get("nullable") is True)

    def _reference(self, reference: object, depth: int) -> Parsed:
        """A reference inside the document, as a copy among the definitions; any other stays open."""
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return {}
        if reference not in self._names:
            part = target(reference, self._root)
            if not part:
                return {}
            name = re.sub(r"\W+", "_", reference.rpartition("/")[2]) or "part"
            while name in self.definitions:
                name += "_"
            self._names[reference] = name
            self.definitions[name] = {}
            self.definitions[name] = self.of(part, depth + 1)
        return {"$ref": f"#/$defs/{self._names[reference]}"}


def _mended(schema: Parsed, *, nullable: bool) -> Parsed:
    """Converts the differences of OpenAPI 2 and 3.0 from JSON Schema."""
    for bound, strict in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(strict), bool) and schema.pop(strict) and bound in schema:
            schema[strict] = schema.pop(bound)
    if schema.get("type") == "file":
        schema["type"] = "string"
    if isinstance(schema.get("required"), bool):  # of a parameter, not of an object's fields
        del schema["required"]
    if not nullable:
        return schema
    if isinstance(kind := schema.get("type"), str):
        schema["type"] = [kind, "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        return schema
    described = {"description": schema.pop("description")} if "description" in schema else {}
    return {**described, "anyOf": [schema, {"type": "null"}]} if schema else schema
