"""Speed, memory and accuracy, measured; `python -m benchmarks` runs and prints them all."""
