"""What chapter 8 of the HighSpeed TCP study leaves open: other parameters and response functions, large frames, friendliness, transients."""
