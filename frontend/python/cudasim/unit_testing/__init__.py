"""Test cases and conditions of test suites: numba.cuda.testing."""
