"""Reno (RFC 5681, byte counting of RFC 3465) in Python, byte for byte what `congestion = "reno"` does."""

import longhaul


class MyReno:
    def __init__(self, mss, window):
        self.mss, self.window, self.ssthresh = mss, float(window), float("inf")
        self.backed_off = False

    def on_ack(self, ack):
        self.backed_off = False
        if ack.in_recovery or ack.app_limited:
            return
        if self.window < self.ssthresh:
            self.window += min(ack.acked, self.mss)
        else:
            self.window += self.mss * min(ack.acked / self.window, 1.0)

    def on_loss(self, loss):
        if loss.kind == "spurious":
            return
        if not (loss.kind == "timeout" and self.backed_off):  # RFC 5681: held when the same segment times out again
            self.ssthresh = max(loss.flight_size / 2, 2 * self.mss)
        self.window = max(self.mss if loss.kind == "timeout" else min(self.ssthresh, self.window), self.mss)
        self.backed_off = loss.kind == "timeout"


if __name__ == "__main__":
    scenario = longhaul.Scenario("my control", duration="60 s").link(
        "satellite", "hub", "remote", rate="20 Mbit/s", delay="100 ms", queue="200 packets", loss="0.01 %"
    )
    mine = longhaul.run(scenario.flow("hub", "remote", tcp={"congestion": MyReno}))
    theirs = longhaul.run(scenario.flow("hub", "remote", tcp={"congestion": "reno"}))
    print(longhaul.compare(mine, theirs, names=["MyReno", "reno"]))
