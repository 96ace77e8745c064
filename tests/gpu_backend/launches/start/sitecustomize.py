"""Python runs this at its start where this folder is on the path: the launches of a program that a test starts are compared, too."""

import importlib.abc
import importlib.util
import os
import pathlib
import sys

LAUNCHES = "cudasim.launch.dispatcher"


class _Watch(importlib.abc.MetaPathFinder):
    """Begins with the program's first launch, when all of cudasim is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != LAUNCHES:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_patch(module):
            execute(module)
            _begin_at_first_launch(module.ConfiguredKernel)

        spec.loader.exec_module = execute_and_patch
        return spec


def _begin_at_first_launch(configured_kernel):
    launch = configured_kernel._run

    def run(self, *args, **keywords):
        configured_kernel._run = launch
        sys.path.append(str(pathlib.Path(__file__).parents[1]))
        import collecting

        collecting.install(collecting.Wanted.from_environment())
        return launch(self, *args, **keywords)

    configured_kernel._run = run


if "LAUNCH_COMPARISON" in os.environ:
    sys.meta_path.insert(0, _Watch())
