"""The asymmetric satellite thesis of C. Coetzee (Stellenbosch, 1999): a fast satellite down, a serial line of 9600 baud up."""
