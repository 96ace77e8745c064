"""Launches on the simulator compared with the same launches on a GPU.

session.py            records a launch, gives it to the GPU's process, compares; comparisons that are in force
api.py, option.py     what programs call, and the option gpu=compare
processes.py          launches of the processes that a script starts
runner.py             the GPU's process
arrays.py             the arrays of a launch, and their tolerances
tracing.py            who wrote the elements that differ
elsewhere.py          a difference that can only be explained in a new process (elsewhere_process.py)
files.py              records beside results from another machine
report.py             the report of compared launches, as data: its parts are put together here
report_schema.json    its published form (JSON Schema 2020-12)
report_text.py        the report as text for a terminal
report_html.py        the report as one HTML page
"""

from __future__ import annotations
