"""The STTP thesis of R. J. Wade (Leeds, 2000): a token bucket at the rate of a packet pair, steered by changes of the round trip."""
