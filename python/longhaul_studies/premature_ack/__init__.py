"""Premature ACKs with a watermark (Okayama, 2005): the throughput over W for every delay and buffer of the paper."""
