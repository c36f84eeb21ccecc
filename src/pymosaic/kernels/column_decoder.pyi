"""The values of one physical column -> Arrow buffers; for other kernels only."""
