"""A plan becomes samples: cells, places, and the runner that every experiment shares."""
