"""A split connection PEP (Innsbruck, 2009): the gain of many flows from a shared CUBIC or SACK connection over a satellite link."""
