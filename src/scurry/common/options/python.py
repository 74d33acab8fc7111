"""Options of what workers find beside the program."""

from __future__ import annotations

from scurry.common.options.option import Option

PYTHON_FILES: Option[tuple[str, ...]] = Option(
    "python.files",
    "list",
    (),
    "Files, package directories and archives that workers can import.",
    setter="env.add_python_file",
)
PYTHON_ARCHIVES: Option[tuple[str, ...]] = Option(
    "python.archives",
    "list",
    (),
    "Archives that workers find unpacked below their working directory, each `path` or "
    "`path#directory`.",
    setter="env.add_python_archive",
)
PYTHON_REQUIREMENTS: Option[str] = Option(
    "python.requirements",
    "string",
    "",
    "A requirements file, `path` or `path#directory of packages`; what it names is installed on "
    "the driver and sent along.",
    setter="env.set_python_requirements",
)
PYTHON_EXECUTABLE: Option[str] = Option(
    "python.executable",
    "string",
    "",
    "The interpreter that runs workers; the driver's own if it is not set.",
    setter="env.set_python_executable",
)
