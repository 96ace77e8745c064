"""Launches on the simulator compared with the same launches on a GPU.

report.py             the report of compared launches, as data: its parts are put together here
report_schema.json    its published form (JSON Schema 2020-12)
report_text.py        the report as text for a terminal
report_html.py        the report as one HTML page
"""

from __future__ import annotations
