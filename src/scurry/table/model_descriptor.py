"""Models as Python objects: what ``CREATE MODEL ... WITH (...)`` says in SQL.

A model has a provider, the schema of what it is given and of what it makes of it. Catalogs keep
models, and no query can call one yet: `scurry.table.udf.udf` with a function that awaits a service
does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scurry.common.config_options import ConfigOption
from scurry.common.errors import ProgramError
from scurry.table.catalog.models import CatalogModel
from scurry.table.schema import Schema

__all__ = ["ModelDescriptor"]


@dataclass(frozen=True)
class ModelDescriptor:
    """A model: schemas, options of its provider, comment."""

    options: Mapping[str, str] = field(default_factory=dict)
    input_schema: Schema | None = None
    output_schema: Schema | None = None
    comment: str | None = None

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        """A builder of a model of a provider, such as ``openai``."""
        return ModelDescriptor.Builder(provider)

    def get_options(self) -> dict[str, str]:
        """The options, the provider among them."""
        return dict(self.options)

    def get_input_schema(self) -> Schema | None:
        """What the model is given."""
        return self.input_schema

    def get_output_schema(self) -> Schema | None:
        """What it makes of it."""
        return self.output_schema

    def get_comment(self) -> str | None:
        """What the model is for."""
        return self.comment

    def to_catalog_model(self) -> CatalogModel:
        """The model as a catalog keeps it."""
        return CatalogModel(self.input_schema, self.output_schema, dict(self.options), self.comment)

    def __hash__(self) -> int:
        return hash((frozenset(self.options.items()), self.comment))

    class Builder:
        """Makes a :class:`ModelDescriptor`."""

        def __init__(self, provider: str) -> None:
            if not isinstance(provider, str) or not provider:
                raise ProgramError(f"The provider of a model is a name, got {provider!r}.")
            self._options = {"provider": provider}
            self._input: Schema | None = None
            self._output: Schema | None = None
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            """What the model is given."""
            self._input = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            """What it makes of it."""
            self._output = output_schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> ModelDescriptor.Builder:
            """Set an option of the provider."""
            name = key if isinstance(key, str) else key.key
            self._options[name] = str(value).lower() if isinstance(value, bool) else str(value)
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            """Say what the model is for."""
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            """The descriptor."""
            return ModelDescriptor(dict(self._options), self._input, self._output, self._comment)
