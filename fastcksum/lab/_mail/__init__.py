"""Other people's tables and `perf stat` blocks become figures."""
