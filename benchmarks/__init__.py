"""Speed, growth and memory against named peers; see docs/speed.md."""
