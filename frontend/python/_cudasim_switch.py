"""The switch: makes `numba.cuda` mean `cudasim.cuda` when it is on. Imported by cudasim.pth at interpreter start.

On:   ENABLE_CUDASIM=1, NUMBA_ENABLE_CUDASIM=1, or numba.config.ENABLE_CUDASIM = 1 before numba.cuda is imported.
Off:  ENABLE_CUDASIM=0, whatever else is set; and by default.

Only a finder is put into sys.meta_path here; nothing is imported that the interpreter has not imported already,
and the variables are read when numba is imported, because they may be set later. The finder's work is done in
cudasim.switch. It comes first: numba-cuda installs a finder of its own for the same name (also from a .pth, and
it may come later), so this one goes back to the front whenever numba itself is looked for.

PYTEST_DONT_REWRITE: pytest warns of modules of packages with a plug-in that it finds imported before it started.
"""

import os
import sys


def state():
    """True (on), False (off whatever else is set), or None (the environment says nothing)."""
    own = os.environ.get("ENABLE_CUDASIM", "").strip().lower()
    if own:
        return own not in ("0", "false", "no", "off")
    numba = os.environ.get("NUMBA_ENABLE_CUDASIM", "").strip().lower()
    return True if numba and numba not in ("0", "false", "no", "off") else None


def is_on():
    """Whether numba.cuda means cudasim.cuda now. Once it does it stays so: half a script cannot change over."""
    cuda = sys.modules.get("numba.cuda")
    if cuda is not None and cuda is sys.modules.get("cudasim.cuda"):
        return True
    said = state()
    if said is not None:
        return said
    config = sys.modules.get("numba.core.config") or sys.modules.get("numba.config")
    return bool(getattr(config, "ENABLE_CUDASIM", 0))


def _say_that_the_switch_is_missing(name):
    """Warns a user who sets options of cudasim and gets the real numba.cuda all the same."""
    if any(variable.startswith("CUDASIM_") and value for variable, value in os.environ.items()):
        from cudasim import switch

        switch.warn_of_options_without_effect(name)


class NumbaFinder:
    """Finds numba.cuda in cudasim, and a stand-in for numba where there is none, while the switch is on. Says what to do
    when cupy is imported and cannot be used; has cuda.core.launch() take simulated kernels."""

    def find_spec(self, name, path=None, target=None):
        if name == "cupy" and is_on():
            from cudasim import switch

            return switch.cupy_spec()
        if name == "cuda.core" and is_on():
            from cudasim import switch

            return switch.core_spec(path)
        if not name.startswith("numba") or (name != "numba" and not name.startswith("numba.")):
            return None
        if name == "numba":
            self.come_first()
        if not is_on():
            if name in ("numba", "numba.cuda") and state() is None:
                _say_that_the_switch_is_missing(name)
            return None
        from cudasim import switch

        return switch.find_spec(name, path)

    def come_first(self):
        """Moves to the front of sys.meta_path."""
        if sys.meta_path[:1] != [self]:
            sys.meta_path[:] = [self] + [finder for finder in sys.meta_path if finder is not self]

    def invalidate_caches(self):
        """Does nothing: this finder has no cache."""


finder = NumbaFinder()
if not any(type(other).__name__ == "NumbaFinder" for other in sys.meta_path):
    sys.meta_path.insert(0, finder)
