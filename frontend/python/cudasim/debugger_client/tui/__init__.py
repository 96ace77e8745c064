"""The full-screen view of `cudasim debug`. screen.py switches it on and off; app.py, panes.py, command_line.py and driver.py need textual."""
