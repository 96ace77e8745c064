"""Streams, events and callbacks: when enqueued work runs."""
