"""Read plugin source without running it."""

from brainscore_core.plugin_management.source.execution import dotted, never_on_import, run_at_import
from brainscore_core.plugin_management.source.facts import LOADERS, Import, Load, Pattern, SourceFacts, fits, read_texts
from brainscore_core.plugin_management.source.files import (
    LARGEST_FILE,
    LEFT_ALONE,
    PluginSource,
    SourceFile,
    parse,
    read_files,
    read_plugin,
)
from brainscore_core.plugin_management.source.literals import UNKNOWN, constants, evaluate
from brainscore_core.plugin_management.source.registrations import Computed, Registration, find_registrations

__all__ = [
    "LARGEST_FILE", "LEFT_ALONE", "LOADERS", "UNKNOWN", "Computed", "Import", "Load", "Pattern", "PluginSource",
    "Registration", "SourceFacts", "SourceFile", "constants", "dotted", "evaluate", "find_registrations", "fits",
    "never_on_import", "parse", "read_files", "read_plugin", "read_texts", "run_at_import",
]  # fmt: skip
