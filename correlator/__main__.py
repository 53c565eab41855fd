"""`python -m correlator`: the same as the command `tollens`."""

from correlator.cli import main

if __name__ == "__main__":
    main()
