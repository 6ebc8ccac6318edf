"""Speed and memory compared with named peers; see docs/speed.md."""
