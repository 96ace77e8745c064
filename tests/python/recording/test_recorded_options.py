"""Every option that the table calls a launch's is in force in a launch, in both modes: a record says with which it ran."""

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.recording.recorder import Recorder
from python_mode_required import needs_python_mode

#: Option → a value that is not its default.
OTHER = {
    "policy": "random",
    "seed": 2**64 - 1,
    "carrier": "fiber",
    "preemption": 0.5,
    "pct_depth": 5,
    "workers": 7,
    "time_limit": 50.0,
    "strict": True,
    "max_faults": 3,
    "raise_float_division": True,
    "wrap": "warn",
    "check": "races,sync",
    "race_model": "ptx",
    "fma": True,
}


@pytest.mark.parametrize("mode", ["native", pytest.param("python", marks=needs_python_mode)])
def test_launches_run_with_the_options_in_force(mode):
    of_a_launch = [option for option in options.TABLE if option.of_a_launch]
    assert sorted(OTHER) == sorted(option.name for option in of_a_launch)
    assert not [option.name for option in of_a_launch if options.get(option.name) == OTHER[option.name]]

    @cuda.jit
    def kernel(x):
        x[0] = 1

    records = []
    with Recorder(records.append).in_force():
        with options.override(mode=mode, **OTHER):
            kernel[1, 1](np.zeros(1))
        kernel[1, 1](np.zeros(1))
    with_others, with_defaults = [
        {name: record.options[name] for name in OTHER if name != "workers"} for record in records
    ]
    assert with_others == {name: value for name, value in OTHER.items() if name != "workers"}
    assert not [name for name in with_others if with_others[name] == with_defaults[name]]
    assert [record.options["workers"] for record in records] == [1, 1]  # recorded launches have one


def test_debug_raises_divisions_of_floats_by_zero():
    from cudasim.launch.kernel import launch_options

    assert launch_options({"debug": True})["raise_float_division"]
    assert not launch_options({"debug": False})["raise_float_division"]
