from collections.abc import Callable
from os import PathLike

version: str
program: str

class ScenarioError(ValueError): ...
class RunError(RuntimeError): ...
class WriteError(RunError): ...
class RunCancelled(RunError): ...

def run(
    text: str,
    source_name: str,
    overrides: list[tuple[str, str]],
    folder: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    tables: bool = True,
    progress: Callable[[float, float, int], bool | None] | None = None,
) -> str: ...
def resolve(
    text: str, source_name: str, overrides: list[tuple[str, str]], folder: str | PathLike[str] | None = None
) -> tuple[str, str]: ...
def check(
    text: str, source_name: str, overrides: list[tuple[str, str]], folder: str | PathLike[str] | None = None
) -> tuple[list[str], str, list[tuple[str, str, str]]]: ...
def resolve_seeds(
    text: str,
    source_name: str,
    overrides: list[tuple[str, str]],
    seeds: list[int],
    folder: str | PathLike[str] | None = None,
) -> tuple[str, list[str]]: ...
def run_seeds(
    text: str,
    source_name: str,
    overrides: list[tuple[str, str]],
    seeds: list[int],
    folder: str | PathLike[str] | None = None,
    progress: Callable[[int, float, float, int, list[int]], bool | None] | None = None,
    budget_s: float = ...,
) -> list[tuple[bytes, bytes, bytes, int, float]]: ...
def resolve_points(
    text: str,
    source_name: str,
    points: list[list[tuple[str, str]]],
    seeds: list[int],
    folder: str | PathLike[str] | None = None,
) -> list[tuple[str, list[str]]]: ...
def flat_columns(summaries: list[bytes]) -> list[tuple[str, bytes]]: ...
def estimates(values: bytes, lengths: list[int]) -> list[bytes]: ...
def register_control(name: str, source: str, class_: type) -> None: ...
def read_measurement(settings: str, quantity: str) -> tuple[list[tuple[float, float]], float]: ...
def read_outcomes(settings: str) -> list[tuple[float, bool]] | None: ...
def course(
    text: str, source_name: str, link: int, times: list[float], folder: str | PathLike[str] | None = None
) -> list[tuple[float, float]]: ...
def schema() -> str: ...
def registry() -> str: ...
def power_law_window(c: float, d: float, p: float) -> float: ...
def aimd_window(a: float, b: float, p: float) -> float: ...

class HighSpeedResponse:
    def __new__(
        cls, low_window: float, low_p: float, high_window: float, high_p: float, high_decrease: float
    ) -> HighSpeedResponse: ...
    def slope(self) -> float: ...
    def window(self, p: float) -> float: ...
    def loss_rate(self, w: float) -> float: ...
    def a(self, w: float) -> float: ...
    def b(self, w: float) -> float: ...

class Ack:
    now: float
    acked: int
    rtt: float | None
    srtt: float
    min_rtt: float
    in_flight: int
    round_start: bool
    delivered: int
    marked: int
    app_limited: bool
    in_recovery: bool
    delivery_rate: float | None

class Loss:
    now: float
    kind: str
    flight_size: int
