"""`cudasim debug`: the debugger's command line. A client in its own process that talks to the debugged program over the Debug
Adapter Protocol. It does not import the engine, so that it starts quickly."""
