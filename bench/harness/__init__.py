"""What the benchmarks and the truth tests share: cgroups to measure in, oracles, peers, tables."""
