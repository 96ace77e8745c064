"""Random programs (oracle_programs.py) give the same bits natively and in Python mode, wherever every variable has one
type: Python's variables have the type of their value (docs/differences.md).
"""

import warnings

from cudasim import options
from hypothesis import HealthCheck, given, note, settings
from oracle_programs import PARAMETERS, programs
from python_mode_required import needs_python_mode
from test_oracle import differences, plain, rows_of, simulated


def has_variables_of_one_type(program, types):
    if any(name[0] == "i" and name[1:].isdigit() and any("uint" in plain(one) for one in found)
           for name, found in types.items()):  # fmt: skip
        return False  # a range of unsigned bounds gives plain ints in Python mode
    parameters = dict(zip(PARAMETERS, map(plain, program.types)))
    return all({plain(its) for its in found} == {parameters.get(name, plain(min(found)))}
               for name, found in types.items())  # fmt: skip


@needs_python_mode
def test_random_programs_agree_in_both_modes():
    compared = []

    @settings(
        max_examples=60,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def check(program):
        note(f"{program.types}\n{program.source}")
        columns = rows_of(program.types)
        if program.unsigned and " else " in program.source:
            return  # `-(x if c else n)` takes the type of what it is, an unsigned number's here
        types, native = simulated(program, columns)
        if not has_variables_of_one_type(program, types):
            return
        with options.override(mode="python"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, interpreted = simulated(program, columns)
        compared.append(program)
        for ours, theirs in zip(interpreted, native):
            wrong = differences(ours, theirs)
            assert not wrong, "\n".join(wrong[:5])

    check()
    assert len(compared) > 10
