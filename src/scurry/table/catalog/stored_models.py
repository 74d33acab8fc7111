"""Models of a catalog over a store of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from scurry.table.catalog import errors
from scurry.table.catalog.models import CatalogModel, ModelContract
from scurry.table.catalog.names import ObjectPath

if TYPE_CHECKING:
    from scurry.table.catalog.objects import CatalogDatabase
    from scurry.table.catalog.stored import Key, ObjectStore

MODEL = "model"


class StoredModels(ModelContract):
    """Keeps models beside the other objects."""

    _name: str
    _store: ObjectStore

    def get_database(self, database_name: str) -> CatalogDatabase:
        """A database by name; raises if there is none."""
        raise NotImplementedError

    def list_models(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return [key.name for key in self._store.keys(MODEL, database_name)]

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        found = self._store.get(_key(model_path))
        if found is None:
            known = self._store.keys(MODEL, model_path.database_name)
            raise errors.ModelNotExistException(
                f"There is no model {model_path} in the catalog {self._name!r}. "
                + errors.nearest(model_path.object_name, [key.name for key in known])
            )
        return cast(CatalogModel, found)

    def model_exists(self, model_path: ObjectPath) -> bool:
        return self._store.get(_key(model_path)) is not None

    def create_model(
        self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool
    ) -> None:
        self.get_database(model_path.database_name)
        if not self.model_exists(model_path):
            self._store.put(_key(model_path), model)
        elif not ignore_if_exists:
            raise errors.ModelAlreadyExistException(
                f"There is a model {model_path} in the catalog {self._name!r} already: choose "
                "another name, or say IF NOT EXISTS."
            )

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool
    ) -> None:
        if self._there(model_path, ignore_if_not_exists):
            self._store.put(_key(model_path), new_model)

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self._there(model_path, ignore_if_not_exists):
            self._store.delete(_key(model_path))

    def rename_model(
        self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool
    ) -> None:
        if self._there(model_path, ignore_if_not_exists):
            model = self.get_model(model_path)
            self.create_model(ObjectPath(model_path.database_name, new_model_name), model, False)
            self._store.delete(_key(model_path))

    def _there(self, path: ObjectPath, may_be_absent: bool) -> bool:
        if may_be_absent and not self.model_exists(path):
            return False
        self.get_model(path)
        return True


def _key(path: ObjectPath) -> Key:
    from scurry.table.catalog.stored import Key

    return Key(MODEL, path.database_name, path.object_name)
