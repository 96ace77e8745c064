"""The commands. Importing this package fills the table."""

from __future__ import annotations

from cudasim.debugger_client.commands import (
    backward_commands,
    breakpoint_commands,
    code_commands,
    core_commands,
    cuda_commands,
    data_commands,
    info_commands,
    info_cuda_commands,
    printf_commands,
    running_commands,
    save_commands,
    screen_commands,
    setting_commands,
    source_commands,
    stack_commands,
    support_commands,
    thread_commands,
    watch_commands,
)
from cudasim.debugger_client.commands.table import GROUPS, TABLE, Command, Table, split_word

__all__ = [
    "GROUPS", "TABLE", "Command", "Table", "backward_commands", "breakpoint_commands", "code_commands", "core_commands", "cuda_commands",
    "data_commands", "info_commands", "info_cuda_commands", "printf_commands", "running_commands", "save_commands", "screen_commands", "setting_commands", "source_commands", "split_word",
    "stack_commands", "support_commands", "thread_commands", "watch_commands",
]  # fmt: skip
