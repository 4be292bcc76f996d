"""The HighSpeed TCP study of E. de Souza (LBNL-52549, 2003): HSTCP, standard TCP and parallel streams on a link of 1 Gbit/s and 100 ms."""
