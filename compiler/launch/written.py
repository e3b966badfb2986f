"""How any part of a launch request is read: strictly, and a null is as good as a field left out."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Written(BaseModel):
    """Base of the parts of a request; unknown fields and numbers as text are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None}
