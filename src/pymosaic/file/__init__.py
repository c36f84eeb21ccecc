"""Single files: opening, planning, reading, writing, inspecting and verifying."""
