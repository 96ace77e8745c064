"""Records of launches: `cudasim record`, `cudasim replay`, `cudasim show`, and `pytest --cudasim-record`.

recorder.py makes them, python_code.py holds what Python mode runs as text and plain data, replay.py runs one again, show.py prints one.
The file and what is in it: simulator/driver/record_file.h, docs/recording.md.
"""
