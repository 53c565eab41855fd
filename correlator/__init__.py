"""The centre: model, store, join, engine wiring and the command line."""
