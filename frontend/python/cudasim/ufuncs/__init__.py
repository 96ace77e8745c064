"""@vectorize and @guvectorize."""
