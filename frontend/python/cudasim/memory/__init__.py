"""Arrays and records in device memory, memory managers, memory that host or other processes see too."""
