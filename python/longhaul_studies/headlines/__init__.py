"""Headlines of papers on transport over satellites and other long paths, one comparison for each."""
