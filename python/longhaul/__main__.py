"""`python -m longhaul` is the command `longhaul`, where its folder is not on the path."""

from __future__ import annotations

from .command import main

if __name__ == "__main__":
    main()
