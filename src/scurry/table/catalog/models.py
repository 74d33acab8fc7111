"""Models in catalogs: they are kept, listed, altered and dropped; no query can call one yet."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from scurry.common.errors import NotSupportedError
from scurry.common.unavailable import unavailable
from scurry.table.catalog.names import ObjectPath
from scurry.table.schema import Schema

__all__ = ["CatalogModel", "ModelContract", "Procedure"]


@dataclass(frozen=True)
class CatalogModel:
    """A model: the schemas of what it is given and of what it makes of it, and options."""

    input_schema: Schema | None = None
    output_schema: Schema | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogModel:
        """A model."""
        return CatalogModel(input_schema, output_schema, dict(options or {}), comment)

    def copy(self) -> CatalogModel:
        """A model of the same contents."""
        return copy.deepcopy(self)

    def get_comment(self) -> str | None:
        """What the model is for."""
        return self.comment

    def get_options(self) -> dict[str, str]:
        """The options of its provider, and the provider."""
        return dict(self.options)


class Procedure:
    """A procedure of Flink's, which is a Java class: there are none here."""

    __init__ = unavailable(
        "Procedure", "procedures are Java classes; call a Python function of your own instead"
    )


class ModelContract:
    """What a catalog does with models; one that keeps none refuses."""

    @abstractmethod
    def list_models(self, database_name: str) -> list[str]:
        """The names of the models of a database."""

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """A model by name."""
        raise _no_models(self)

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Whether there is a model of that name."""
        return False

    def create_model(
        self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool
    ) -> None:
        """Keep a model."""
        raise _no_models(self)

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool
    ) -> None:
        """Replace a model."""
        raise _no_models(self)

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Forget a model."""
        raise _no_models(self)

    def rename_model(
        self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Give a model another name."""
        raise _no_models(self)

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        """Refused: there are no procedures."""
        raise NotSupportedError(
            f"There is no procedure {procedure_path}: procedures are Java classes. Call a Python "
            "function of your own instead."
        )


def _no_models(catalog: ModelContract) -> NotSupportedError:
    return NotSupportedError(
        f"A {type(catalog).__name__} keeps no models: use one in memory or in a database file."
    )
