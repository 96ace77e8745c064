"""The simulated devices, and which is current in a host thread."""
