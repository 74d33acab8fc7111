"""Classes that carry settings give back what they were given, and refuse what PyFlink refuses."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.common.configuration import Configuration
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.utils import JavaObjectWrapper
from scurry.common.watermark_strategy import AssignerWithPeriodicWatermarksWrapper
from scurry.datastream import (
    CustomCheckpointStorage,
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    MemorySize,
    PredefinedOptions,
    SinkFunction,
    SlotSharingGroup,
    SourceFunction,
    StreamExecutionEnvironment,
)
from scurry.state.local.disk import LocalStore
from scurry.state.local.memory import MemoryStore


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment(Configuration())


def group(name: str = "g", cores: float = 1.0) -> SlotSharingGroup:
    return SlotSharingGroup.builder(name).set_cpu_cores(cores).set_task_heap_memory_mb(10).build()


# --- sizes; the values are PyFlink 2.3's ---------------------------------------------------


def test_units_of_a_size_are_rounded_down() -> None:
    size = MemorySize(bytes_size=(3 << 40) + 5000)
    assert size.get_bytes() == (3 << 40) + 5000
    assert size.get_kibi_bytes() == (3 << 30) + 4
    assert size.get_mebi_bytes() == 3 << 20
    assert size.get_gibi_bytes() == 3 << 10
    assert size.get_tebi_bytes() == 3
    assert MemorySize.of_mebi_bytes(3).get_bytes() == 3 << 20


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (5000, "5000 bytes"),
        (1 << 10, "1 kb"),
        (1 << 20, "1 mb"),
        (1500 << 20, "1500 mb"),
        (3 << 30, "3 gb"),
        ((1 << 30) + 1024, "1048577 kb"),
        (5 << 40, "5497558138880 bytes"),
    ],
)
def test_a_size_as_text(size: int, text: str) -> None:
    assert str(MemorySize(bytes_size=size)) == text


def test_sizes_are_compared() -> None:
    one, two = MemorySize(bytes_size=1), MemorySize(bytes_size=2)
    assert one < two <= MemorySize(bytes_size=2)
    assert two > one
    assert two == MemorySize(bytes_size=2)
    assert len({two, MemorySize(bytes_size=2)}) == 1
    for compare in (lambda: one < 3, lambda: one <= 3):
        with pytest.raises(ProgramError, match="compared with 3, which is not one"):
            compare()


@pytest.mark.parametrize("wrong", [-1, None, "1 mb", True])
def test_a_size_is_a_number_of_bytes(wrong: Any) -> None:
    with pytest.raises(ProgramError, match="whole number of bytes from 0 on, got"):
        MemorySize(bytes_size=wrong)


# --- slot sharing groups -------------------------------------------------------------------


def test_a_group_gives_back_what_it_was_given() -> None:
    built = (
        SlotSharingGroup.builder("g")
        .set_cpu_cores(2.0)
        .set_task_heap_memory(MemorySize.of_mebi_bytes(10))
        .set_task_off_heap_memory_mb(7)
        .set_managed_memory_mb(5)
        .set_external_resource("gpu", 1.0)
        .set_external_resource("gpu", 2.0)
        .build()
    )
    assert built.get_name() == "g"
    assert built.get_cpu_cores() == 2.0
    assert built.get_task_heap_memory() == MemorySize.of_mebi_bytes(10)
    assert built.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(7)
    assert built.get_managed_memory() == MemorySize.of_mebi_bytes(5)
    assert built.get_external_resources() == {"gpu": 2.0}


def test_sizes_that_were_not_given_are_zero_or_none() -> None:
    assert group().get_managed_memory() == MemorySize(bytes_size=0)
    assert group().get_task_off_heap_memory() == MemorySize(bytes_size=0)
    bare = SlotSharingGroup.builder("g").build()
    assert bare.get_cpu_cores() is None
    assert bare.get_task_heap_memory() is None
    assert bare.get_managed_memory() is None
    assert bare.get_external_resources() == {}
    assert bare == SlotSharingGroup.builder("g").build()
    assert group() == group()
    assert group() != group(cores=2.0)
    assert len({group(), group()}) == 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b: b.set_cpu_cores(1.0).build(), "not both CPU cores and task heap memory"),
        (lambda b: b.set_task_heap_memory_mb(1).build(), "not both CPU cores and task heap"),
        (lambda b: b.set_managed_memory_mb(1).build(), "not both CPU cores and task heap memory"),
        (lambda b: b.set_external_resource("gpu", 1.0).build(), "not both CPU cores and task"),
        (lambda b: b.set_cpu_cores(0.0), "CPU cores must be positive, got 0.0"),
        (lambda b: b.set_cpu_cores("1"), "CPU cores are a number, got '1'"),
        (lambda b: b.set_task_heap_memory_mb(0), "task heap memory must be positive"),
        (lambda b: b.set_managed_memory(5), "managed memory is a MemorySize, got 5"),
        (lambda b: SlotSharingGroup.builder(None), "name of a slot sharing group is a text"),  # type: ignore[arg-type]
    ],
)
def test_groups_that_pyflink_refuses(build: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        build(SlotSharingGroup.builder("g"))


def test_a_group_has_one_set_of_resources(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).slot_sharing_group(group())
    stream.map(lambda x: x).slot_sharing_group("g").print().slot_sharing_group(group())
    env.get_execution_plan()
    stream.map(lambda x: x).slot_sharing_group(group(cores=2.0)).print()
    with pytest.raises(ProgramError, match=r"'g' of .* has other resources than the group of the"):
        env.get_execution_plan()


def test_a_registered_group_counts(env: StreamExecutionEnvironment) -> None:
    assert env.register_slot_sharing_group(group()) is env
    env.from_collection([1]).slot_sharing_group(group(cores=2.0)).print()
    with pytest.raises(ProgramError, match="give a group its resources once"):
        env.get_execution_plan()
    with pytest.raises(ProgramError, match="needs a SlotSharingGroup, got 'g'"):
        env.register_slot_sharing_group("g")  # type: ignore[arg-type]


# --- state backends ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "store"),
    [(HashMapStateBackend(), MemoryStore), (EmbeddedRocksDBStateBackend(True), LocalStore)],
)
def test_a_state_backend_chooses_the_local_store(
    env: StreamExecutionEnvironment, backend: Any, store: type, tmp_path: Any
) -> None:
    assert env.set_state_backend(backend).get_state_backend() is backend
    env.from_collection([1]).print()
    assert type(env._compile(None).spec.state.local_store(tmp_path / "s")) is store
    with pytest.raises(ProgramError, match="needs a StateBackend, got 'disk'"):
        env.set_state_backend("disk")  # type: ignore[arg-type]


def test_what_tunes_rocksdb_is_kept() -> None:
    backend = EmbeddedRocksDBStateBackend()
    assert not backend.is_incremental_checkpoints_enabled()
    assert EmbeddedRocksDBStateBackend(True).is_incremental_checkpoints_enabled()
    assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert backend.get_number_of_transfer_threads() == 4
    backend.set_number_of_transfer_threads(3)
    assert backend.get_number_of_transfer_threads() == 3
    assert backend.get_options() is None
    backend.set_options("org.example.Factory")
    assert backend.get_options() == "org.example.Factory"
    backend.set_db_storage_paths("/a", "file:///b")
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    backend.set_db_storage_paths()
    assert backend.get_db_storage_paths() == []
    assert str(backend).startswith("EmbeddedRocksDBStateBackend(")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda b: EmbeddedRocksDBStateBackend("x"), TypeError, "None, True or False, got 'x'"),  # type: ignore[arg-type]
        (lambda b: b.set_db_storage_paths("rel/x"), ValueError, "'rel/x' .* it is relative"),
        (lambda b: b.set_db_storage_paths("hdfs://h/x"), ValueError, "it is not local"),
        (lambda b: b.set_predefined_options(3), TypeError, "needs PredefinedOptions, got 3"),
        (lambda b: b.set_number_of_transfer_threads(0), ValueError, "greater than zero"),
    ],
)
def test_what_pyflink_refuses_of_a_backend(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call(EmbeddedRocksDBStateBackend())


# --- checkpoint storages -------------------------------------------------------------------


def test_storages_give_back_what_they_were_given() -> None:
    memory = JobManagerCheckpointStorage()
    assert memory.get_checkpoint_path() is None
    assert memory.get_savepoint_path() is None
    assert memory.get_max_state_size() == 5 << 20 == memory.DEFAULT_MAX_STATE_SIZE
    assert JobManagerCheckpointStorage("file:///tmp/x", 9).get_checkpoint_path() == "file:/tmp/x"
    files = FileSystemCheckpointStorage("file:///tmp/x")
    assert files.get_checkpoint_path() == "file:/tmp/x"
    assert files.get_savepoint_path() is None
    assert files.get_min_file_size_threshold() == 20480
    assert files.get_write_buffer_size() == 4096
    told = FileSystemCheckpointStorage("hdfs://host/x", 100, 50)
    assert told.get_checkpoint_path() == "hdfs://host/x"
    assert told.get_min_file_size_threshold() == 100
    assert told.get_write_buffer_size() == 50
    assert "file:/tmp/x" in str(files)
    assert "5242880" in str(memory)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FileSystemCheckpointStorage(), "needs a checkpoint_path, got None"),
        (lambda: FileSystemCheckpointStorage(""), "path is empty"),
        (lambda: FileSystemCheckpointStorage("/tmp/x"), "'/tmp/x' has no scheme"),
        (lambda: FileSystemCheckpointStorage("file:///x", 2 << 20), "from 0 to 1048576, or -1"),
        (lambda: FileSystemCheckpointStorage("file:///x", -5), "from 0 to 1048576, or -1"),
        (lambda: FileSystemCheckpointStorage("file:///x", 1, -2), "write_buffer_size is -2"),
        (lambda: JobManagerCheckpointStorage("/tmp/x"), "'/tmp/x' has no scheme"),
        (lambda: JobManagerCheckpointStorage(max_state_size=0), "greater than zero"),
    ],
)
def test_storages_that_pyflink_refuses(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_storage_names_the_directory_of_checkpoints(env: StreamExecutionEnvironment) -> None:
    config = env.get_checkpoint_config()
    configuration = env.get_configuration()
    config.set_checkpoint_storage(FileSystemCheckpointStorage("file:///data/job"))
    assert configuration.to_dict() == {"execution.checkpointing.dir": "file:/data/job"}
    config.set_checkpoint_storage(JobManagerCheckpointStorage("file:///data/job"))
    assert configuration.to_dict() == {}
    config.set_checkpoint_storage_dir("/data/other")
    assert configuration.to_dict() == {"execution.checkpointing.dir": "/data/other"}
    with pytest.raises(ProgramError, match="needs a CheckpointStorage, got 'x'"):
        config.set_checkpoint_storage("x")  # type: ignore[arg-type]


# --- what wraps Java -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (CustomStateBackend, "it wraps a Java object; set state.backend.type to disk or memory"),
        (CustomCheckpointStorage, "it wraps a Java object; set execution.checkpointing.dir"),
        (SourceFunction, "it loads a Java class; take a connector of scurry.datastream"),
        (SinkFunction, "it loads a Java class; take a connector of scurry.datastream"),
        (JavaObjectWrapper, "it wraps a Java object, and Scurry has none"),
        (AssignerWithPeriodicWatermarksWrapper, "it wraps a Java object; give a WatermarkStrate"),
    ],
)
def test_classes_of_java_objects_cannot_be_made(kind: Any, advice: str) -> None:
    with pytest.raises(NotSupportedError, match=f"^{kind.__name__}: {advice}"):
        kind("org.example.Thing")
