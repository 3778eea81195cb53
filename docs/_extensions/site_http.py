"""The reference of the HTTP interface, made from the description that a server gives of itself (OpenAPI)."""

import json
from typing import Any

HEAD = """# HTTP interface

Every request that `ostinato serve` answers. This page is made from the OpenAPI description that the server gives at
`/api/v1/openapi.json`. [Studies over HTTP](../http.md) shows how to start a server, and how requests work together.

All requests but `health` need a token, in the header `Authorization: Bearer …`.

"""


def page() -> str:
    """The whole page, in Markdown."""
    from ostinato.service.openapi import description
    from ostinato.service.routes import ROUTES

    schema = description(ROUTES)
    found = [
        (path, method, operation)
        for path, methods in sorted(schema["paths"].items())
        for method, operation in methods.items()
        if isinstance(operation, dict) and "operationId" in operation
    ]
    rows = "".join(
        f"| [`{each['operationId']}`](#{each['operationId'].lower()}) | `{method.upper()} {path}` |\n"
        for path, method, each in found
    )
    requests = "".join(request(path, method, each) for path, method, each in found)
    return f"{HEAD}| operation | request |\n|---|---|\n{rows}\n{requests}{records(schema)}"


def request(path: str, method: str, operation: dict[str, Any]) -> str:
    """One request: what it does, its parameters, an example of it and of the answer, and its errors."""
    words = operation.get("description") or operation.get("summary", "")
    parts = [f"## {operation['operationId']}", f"```text\n{method.upper()} {path}\n```", words]
    parts += [parameters(operation.get("parameters", [])), example("Request", operation.get("requestBody"))]
    for code, response in operation["responses"].items():
        if code.startswith("2"):
            parts.append(example(f"Answer, {code}", response))
    errors = [code for code in operation["responses"] if not code.startswith("2")]
    parts.append(f"Errors: {', '.join(errors)} ([what they mean](../http.md#errors)).")
    return "\n\n".join(part for part in parts if part) + "\n\n"


def parameters(listed: list[dict[str, Any]]) -> str:
    """The parameters of the path and the query."""
    rows = "".join(
        f"| `{each['name']}` | {each['in']} | {kind(each.get('schema', {}))} | {words_of(each)} |\n" for each in listed
    )
    return f"| parameter | in | type | meaning |\n|---|---|---|---|\n{rows}".rstrip() if rows else ""


def words_of(parameter: dict[str, Any]) -> str:
    """What a parameter means, and whether it has to be given."""
    words = parameter.get("description") or parameter.get("schema", {}).get("description", "")
    needed = "needed" if parameter.get("required") else ""
    return "; ".join(each for each in (words.replace("|", "\\|").replace("\n", " "), needed) if each)


def kind(schema: dict[str, Any]) -> str:
    """The type of a value, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()}-record)"
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(kind(each) for each in schema[several]))
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}))}"
    named = schema.get("type", "anything")
    return " or ".join(named) if isinstance(named, list) else named


def example(title: str, body: dict[str, Any] | None) -> str:
    """A body: its type, and an example where there is one."""
    for content in (body or {}).get("content", {}).values():
        shown = json.dumps(content["example"], indent=1, ensure_ascii=False) if "example" in content else ""
        block = f":\n\n```json\n{shown}\n```" if shown else "."
        return f"{title}: {kind(content.get('schema', {}))}{block}"
    return f"{title}: nothing." if title.startswith("Answer") else ""


def records(schema: dict[str, Any]) -> str:
    """What requests and answers consist of."""
    listed = schema["components"]["schemas"]
    parts = ["## Records", *(record(name, listed[name]) for name in sorted(listed))]
    return "\n\n".join(parts) + "\n"


def record(name: str, schema: dict[str, Any]) -> str:
    """One record: its fields."""
    needed = schema.get("required", [])
    rows = "".join(
        f"| `{field}` | {kind(each)} | {words_of({**each, 'required': field in needed})} |\n"
        for field, each in schema.get("properties", {}).items()
    )
    table = f"| field | type | meaning |\n|---|---|---|\n{rows}".rstrip() if rows else kind(schema)
    return "\n\n".join(part for part in (f"### {name} (record)", schema.get("description", ""), table) if part)
