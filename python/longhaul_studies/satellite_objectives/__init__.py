"""Objectives for transports over satellites (draft-kuhn-quic-4-sat-06): TCP, QUIC and proxies over the same six paths."""
