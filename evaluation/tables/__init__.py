"""Tables in the shapes of the benchmarks' articles, from any set of runs: what they show, and the numbers in them."""
