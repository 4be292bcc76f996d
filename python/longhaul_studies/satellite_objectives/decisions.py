"""Points that the draft leaves open, with decisions."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("D1", "How long is a transfer?", "From the first packet of the handshake to the last byte of the answer at the client: a request of 300 B and an answer, or the data and an answer of 300 B."),
    Decision("D2", "Which queues?", "DropTail, one bandwidth-delay product of 650 ms in each direction."),
    Decision("D3", "Where is the loss?", "On the satellite link, in both directions, independent for each packet."),
    Decision("D4", "How are end hosts set?", "TCP as Linux (`variant = \"linux\"`) with send buffers that do not limit (`send_buffer = \"unlimited\"`), so that only congestion control decides. One row has the 4 MiB that Linux has by default. So have a split's own connections over the long hop, for which there is no such setting, and the host behind premature ACKs, whose 100 MB take 102 s at 50/10 Mbit/s with that buffer and without a limit. QUIC reads unordered data, since quinn-proto ends a connection with more than 1024 gaps."),
    Decision("D5", "What if a transfer does not end?", "A run lasts ten times its objective. What has not arrived by then counts as infinitely long."),
    Decision("D6", "What is \"met\"?", "The median over seeds is within the objective; \"partly\" means within 10 % above it. The verdict \"reproduced\" stands for \"met\"."),
    Decision("D7", "How does a proxy begin?", "Connections over the long hop are new for each transfer, but established; the hop's tunnel exists before, as in operation."),
)  # fmt: skip
