"""Throughput, growth and memory on data larger than memory."""
