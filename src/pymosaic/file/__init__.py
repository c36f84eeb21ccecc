"""One file: opening, planning, reading, writing, describing and verifying it."""
