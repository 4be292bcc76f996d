//! Closed forms: what theory says a flow can do. Laid over results, and a result far from its formula is flagged.
