"""Catalogs: the same rules in memory and in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from scurry.common.configuration import Configuration
from scurry.common.data_types import DataTypes
from scurry.common.errors import ConfigurationError, ProgramError
from scurry.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogException,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
    CatalogTableStatistics,
    CatalogView,
    DatabaseAlreadyExistException,
    DatabaseFileCatalog,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    GenericInMemoryCatalog,
    ObjectIdentifier,
    ObjectPath,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)
from scurry.table.catalog.descriptor import make_catalog
from scurry.table.catalogs import Catalogs
from scurry.table.module import Module
from scurry.table.schema import Schema
from scurry.table.table_descriptor import FormatDescriptor, TableDescriptor

SCHEMA = (
    Schema.new_builder()
    .column("id", DataTypes.BIGINT(False))
    .column("day", "STRING")
    .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "timestamp", True)
    .column_by_expression("later", "ts + INTERVAL '1' DAY")
    .watermark("ts", "ts - INTERVAL '5' SECOND")
    .primary_key("id")
    .build()
)
TABLE = CatalogBaseTable.create_table(SCHEMA, ["day"], {"connector": "print"}, "a table")
VIEW = CatalogBaseTable.create_view("SELECT 1", "SELECT 1 AS x", Schema(), {}, "a view")
PATH = ObjectPath("default", "t")
SPEC = CatalogPartitionSpec({"day": "2024-01-31"})


@pytest.fixture(params=["memory", "file"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    if request.param == "memory":
        return GenericInMemoryCatalog("c")
    return DatabaseFileCatalog("c", str(tmp_path / "deep" / "catalog.db"))


def test_databases(catalog: Catalog) -> None:
    catalog.create_database("shop", CatalogDatabase.create_instance({"k": "v"}, "text"), False)
    assert catalog.list_databases() == ["default", "shop"]
    assert catalog.get_database("shop").get_properties() == {"k": "v"}
    assert catalog.get_database("shop").get_comment() == "text"
    with pytest.raises(DatabaseAlreadyExistException, match="'shop'"):
        catalog.create_database("shop", CatalogDatabase(), False)
    catalog.create_database("shop", CatalogDatabase(), True)
    assert catalog.get_database("shop").get_properties() == {"k": "v"}
    catalog.alter_database("shop", CatalogDatabase({"k": "w"}), False)
    assert catalog.get_database("shop").get_properties() == {"k": "w"}
    with pytest.raises(DatabaseNotExistException, match="Did you mean 'shop'"):
        catalog.get_database("shpo")
    catalog.create_table(ObjectPath("shop", "t"), TABLE, False)
    with pytest.raises(DatabaseNotEmptyException, match="it holds 't'"):
        catalog.drop_database("shop", False)
    catalog.drop_database("shop", False, cascade=True)
    catalog.drop_database("shop", True)
    assert catalog.list_databases() == ["default"]
    assert not catalog.table_exists(ObjectPath("shop", "t"))


def test_tables_and_views(catalog: Catalog) -> None:
    catalog.create_table(PATH, TABLE, False)
    catalog.create_table(ObjectPath("default", "v"), VIEW, False)
    assert catalog.list_tables("default") == ["t", "v"]
    assert catalog.list_views("default") == ["v"]
    found = catalog.get_table(PATH)
    assert isinstance(found, CatalogTable)
    assert found.get_partition_keys() == ["day"]
    assert found.get_options() == {"connector": "print"}
    assert str(found.get_unresolved_schema()) == str(SCHEMA)
    view = catalog.get_table(ObjectPath("default", "v"))
    assert isinstance(view, CatalogView)
    assert view.get_expanded_query() == "SELECT 1 AS x"
    with pytest.raises(TableAlreadyExistException):
        catalog.create_table(PATH, TABLE, False)
    with pytest.raises(TableNotExistException, match="There is: t, v"):
        catalog.get_table(ObjectPath("default", "orders"))
    with pytest.raises(CatalogException, match="cannot become a VIEW"):
        catalog.alter_table(PATH, VIEW, False)
    with pytest.raises(TableAlreadyExistException):
        catalog.rename_table(PATH, "v", False)
    catalog.rename_table(PATH, "orders", False)
    assert sorted(catalog.list_tables("default")) == ["orders", "v"]
    catalog.drop_table(ObjectPath("default", "orders"), False)
    catalog.drop_table(ObjectPath("default", "orders"), True)
    with pytest.raises(TableNotExistException):
        catalog.drop_table(ObjectPath("default", "orders"), False)


def test_partitions_and_statistics(catalog: Catalog) -> None:
    catalog.create_table(PATH, TABLE, False)
    catalog.create_table(ObjectPath("default", "v"), VIEW, False)
    catalog.create_partition(PATH, SPEC, CatalogPartition.create_instance({"k": "v"}), False)
    assert catalog.list_partitions(PATH) == [SPEC]
    assert catalog.list_partitions(PATH, CatalogPartitionSpec({"day": "x"})) == []
    assert catalog.get_partition(PATH, SPEC).get_properties() == {"k": "v"}
    with pytest.raises(PartitionAlreadyExistsException):
        catalog.create_partition(PATH, SPEC, CatalogPartition(), False)
    with pytest.raises(CatalogException, match="has values for day"):
        catalog.create_partition(PATH, CatalogPartitionSpec({"x": "y"}), CatalogPartition(), False)
    with pytest.raises(TableNotPartitionedException):
        catalog.list_partitions(ObjectPath("default", "v"))
    catalog.alter_partition(PATH, SPEC, CatalogPartition({"k": "w"}), False)
    assert catalog.get_partition(PATH, SPEC).get_properties() == {"k": "w"}
    assert catalog.get_table_statistics(PATH).get_row_count() == -1
    catalog.alter_table_statistics(PATH, CatalogTableStatistics(5, 1, 10, 20, {"a": "b"}), False)
    assert catalog.get_table_statistics(PATH).get_row_count() == 5
    columns = CatalogColumnStatistics({"id": {"max": 9}})
    catalog.alter_table_column_statistics(PATH, columns, False)
    assert catalog.get_table_column_statistics(PATH) == columns
    catalog.alter_partition_statistics(PATH, SPEC, CatalogTableStatistics(7), False)
    catalog.alter_partition_column_statistics(PATH, SPEC, columns, False)
    assert [one.row_count for one in catalog.bulk_get_partition_statistics(PATH, [SPEC])] == [7]
    assert catalog.bulk_get_partition_column_statistics(PATH, [SPEC]) == [columns]
    catalog.drop_partition(PATH, SPEC, False)
    with pytest.raises(PartitionNotExistException, match="SHOW PARTITIONS"):
        catalog.get_partition(PATH, SPEC)


def test_functions_have_no_case(catalog: Catalog) -> None:
    path = ObjectPath("default", "Twice")
    function = CatalogFunction.create_instance("math.sqrt", "Python")
    catalog.create_function(path, function, False)
    assert catalog.list_functions("default") == ["twice"]
    assert catalog.get_function(ObjectPath("default", "TWICE")) == function
    with pytest.raises(FunctionAlreadyExistException):
        catalog.create_function(path, function, False)
    with pytest.raises(FunctionNotExistException, match="Did you mean 'twice'"):
        catalog.get_function(ObjectPath("default", "twise"))
    catalog.alter_function(path, CatalogFunction("math.exp"), False)
    assert catalog.get_function(path).get_class_name() == "math.exp"
    catalog.drop_function(path, False)
    assert not catalog.function_exists(path)
    with pytest.raises(ProgramError, match="Python only"):
        CatalogFunction.create_instance("com.acme.F", "JAVA")


def test_a_file_outlives_its_catalog(tmp_path: Path) -> None:
    file = str(tmp_path / "catalog.db")
    first = DatabaseFileCatalog("c", file)
    first.create_table(PATH, TABLE, False)
    first.create_table(ObjectPath("default", "v"), VIEW, False)
    first.create_partition(PATH, SPEC, CatalogPartition({"k": "v"}), False)
    columns = CatalogColumnStatistics({"id": {"max": 9}})
    first.alter_table_statistics(PATH, CatalogTableStatistics(5, 1, 10, 20), False)
    first.alter_table_column_statistics(PATH, columns, False)
    first.alter_partition_statistics(PATH, SPEC, CatalogTableStatistics(7), False)
    function = CatalogFunction.create_instance("math.sqrt", "Python")
    first.create_function(ObjectPath("default", "root"), function, False)
    first.create_database("shop", CatalogDatabase({"k": "v"}, "text"), False)
    first.close()
    second = make_catalog("d", {"type": "database-file", "path": file})
    assert second.list_databases() == ["default", "shop"]
    assert second.get_database("shop").get_comment() == "text"
    assert second.list_tables("default") == ["t", "v"]
    assert str(second.get_table(PATH).schema) == str(SCHEMA)
    view = second.get_table(ObjectPath("default", "v"))
    assert isinstance(view, CatalogView)
    assert view.get_expanded_query() == "SELECT 1 AS x"
    assert second.get_partition(PATH, SPEC).get_properties() == {"k": "v"}
    assert second.get_table_statistics(PATH).get_row_count() == 5
    assert second.get_table_column_statistics(PATH) == columns
    assert [one.row_count for one in second.bulk_get_partition_statistics(PATH, [SPEC])] == [7]
    assert second.get_function(ObjectPath("default", "root")) == function


def test_a_file_that_is_no_catalog_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("not a database, but long enough to look like something" * 20)
    with pytest.raises(CatalogException, match="cannot be used"):
        DatabaseFileCatalog("c", str(tmp_path / "x"))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "no option 'type'"),
        ({"type": "database-fle"}, "Did you mean 'database-file'"),
        ({"type": "database-file"}, "needs the option 'path'"),
        ({"type": "generic_in_memory", "pth": "x"}, "'pth', which a catalog of type"),
    ],
)
def test_options_of_catalogs(options: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        make_catalog("c", options)


def test_names_are_looked_up_from_the_current_database() -> None:
    catalogs = Catalogs("main", "db")
    catalogs.create_table(catalogs.qualify(["t"]), TABLE)
    other = GenericInMemoryCatalog("other")
    catalogs.register("other", other)
    other.create_table(PATH, VIEW, False)
    assert catalogs.table(["t"]).identifier == ObjectIdentifier("main", "db", "t")
    assert catalogs.table(["db", "t"]).identifier == ObjectIdentifier("main", "db", "t")
    assert catalogs.table(["other", "default", "t"]).table is VIEW
    catalogs.create_table(catalogs.qualify(["t"]), VIEW, temporary=True)
    assert catalogs.table(["t"]).temporary
    with pytest.raises(CatalogException, match="DROP TEMPORARY TABLE"):
        catalogs.drop_table(["t"], "TABLE", False)
    assert catalogs.drop_temporary(["t"], "VIEW")
    assert catalogs.drop_table(["t"], "TABLE", False)
    with pytest.raises(TableNotExistException, match="There is no table or view 't'"):
        catalogs.table(["t"])
    catalogs.use_catalog("other")
    assert catalogs.table(["t"]).table is VIEW
    with pytest.raises(CatalogException, match="is the current one"):
        catalogs.drop_catalog("other", False)
    with pytest.raises(CatalogException, match="There is: main, other"):
        catalogs.use_catalog("nope")
    catalogs.use_database("main", "db")
    catalogs.drop_catalog("other", False)
    assert catalogs.list_catalogs() == ["main"]


def test_functions_are_found_in_order() -> None:
    class Own(Module):
        def get_function_definition(self, name: str) -> object | None:
            return "of the module" if name == "f" else None

    catalogs = Catalogs("main", "db")
    catalogs.create_function(["f"], CatalogFunction("math.sqrt"), False)
    assert catalogs.find_function(["F"]).__name__ == "sqrt"  # type: ignore[union-attr]
    catalogs.create_temporary_function(["f"], "temporary")
    assert catalogs.find_function(["f"]) == "temporary"
    catalogs.modules.load("own", Own())
    assert catalogs.find_function(["f"]) == "of the module"
    catalogs.create_system_function("F", "system")
    assert catalogs.find_function(["f"]) == "system"
    assert "f" in catalogs.user_functions()
    assert "upper" in catalogs.all_functions()
    catalogs.modules.use(["own"])
    assert "upper" not in catalogs.all_functions()
    with pytest.raises(ProgramError, match="cannot be loaded"):
        catalogs.create_function(["g"], CatalogFunction("math.sqroot"), False)
    with pytest.raises(ProgramError, match="No module 'cor'"):
        catalogs.modules.use(["cor"])


def test_a_descriptor_says_what_create_table_says() -> None:
    descriptor = (
        TableDescriptor.for_connector("kafka")
        .schema(SCHEMA)
        .option("topic", "t")
        .format(FormatDescriptor.for_format("json").option("ignore-parse-errors", True).build())
        .partitioned_by("day")
        .comment("text")
        .build()
    )
    assert descriptor.get_options() == {
        "connector": "kafka",
        "topic": "t",
        "format": "json",
        "json.ignore-parse-errors": "true",
    }
    table = descriptor.to_catalog_table()
    assert table.get_partition_keys() == ["day"]
    assert table.get_comment() == "text"
    assert CatalogDescriptor.of("c", Configuration()).catalog_name == "c"
    with pytest.raises(ProgramError, match="The type of the column 'x'"):
        Schema.new_builder().column("x", 5)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="one primary key"):
        Schema.new_builder().primary_key("a").primary_key("b")
