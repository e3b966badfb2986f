"""The texts of a program in a request: its source, and the modules that it imports.

Shape only: nothing is parsed as Python here.
"""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from compiler.job import SOURCE_PATH
from compiler.request.compile_request import MAX_TEXT_CHARS, TEXTS_SCHEMA, Files
from launch.request.request_part import RequestPart

SourceText = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
_MODULE_PATH = {name: rule for name, rule in TEXTS_SCHEMA["propertyNames"].items() if name != "not"}
_FILES = WithJsonSchema(TEXTS_SCHEMA | {"propertyNames": _MODULE_PATH})
_TEXT: JsonValue = {"type": "string", "minLength": 1}
_BESIDE: JsonValue = {"propertyNames": {"not": {"const": SOURCE_PATH}}}
_ALONE: list[JsonValue] = [
    {"required": [SOURCE_PATH], "properties": {SOURCE_PATH: _TEXT}},
    {"minProperties": 1, "maxProperties": 1, "additionalProperties": _TEXT},
]


def either_text(schema: dict[str, Any]) -> None:
    """Let a JSON schema of `PostedTexts` accept the source as one of the files."""
    schema["required"] = [name for name in schema.get("required", ()) if name != "source"]
    schema["if"] = {"required": ["source"]}
    schema["then"] = {"properties": {"files": _BESIDE}}
    schema["else"] = {"required": ["files"], "properties": {"files": {"anyOf": _ALONE}}}


class PostedTexts(RequestPart):
    """A program's source and its other modules. Without `source`, it is one of the files."""

    model_config = ConfigDict(json_schema_extra=either_text)

    source: SourceText = Field(
        description="Python text; default: `user.py` of `files`, or their only file"
    )
    files: Annotated[Files, _FILES] = Field(
        default_factory=dict, description="other modules that the source imports, by path"
    )

    @model_validator(mode="before")
    @classmethod
    def _source_of_files(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("source") is not None:
            return data
        files = data.get("files")
        if not isinstance(files, dict) or not files:
            return data
        if SOURCE_PATH not in files and len(files) > 1:
            message = (
                "there is no `source`, and no file is called {path}: give the program's own file "
                "that name"
            )
            raise PydanticCustomError("no_source", message, {"path": SOURCE_PATH})
        own = SOURCE_PATH if SOURCE_PATH in files else next(iter(files))
        rest = {path: text for path, text in files.items() if path != own}
        return {**data, "source": files[own], "files": rest}
