"""Records of launches: `cudasim record`, `cudasim replay`, `cudasim show`, and `pytest --cudasim-record`.

recorder.py makes them, python_code.py holds what Python mode runs as text and plain data, replay.py runs one again, show.py prints one.
real_recorder.py records launches that a real GPU runs; real_cuda.py is what it needs of numba-cuda, real_launch.py what takes arguments to
the simulator. The file and what is in it: simulator/driver/record_file.h, docs/recording.md.
"""
