"""``python -m pymosaic``: the command line."""

from pymosaic.cli import main

if __name__ == "__main__":
    main()
