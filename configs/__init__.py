"""Data files that configure Tollens, found as package data; `demo` is a recorded incident."""
