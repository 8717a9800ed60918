"""Ways to make many trials at once, one a file: threads, an event loop, an executor, commands."""
