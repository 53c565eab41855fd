"""The command line: `tollens demo`, `tollens diagnose`, `tollens up`, `tollens doctor`, `tollens hypotheses`.

Exit codes: 0 it ran, 2 bad input or usage. With `--json` standard output holds one JSON object and nothing else.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from correlator.model.errors import TollensError

if TYPE_CHECKING:
    from collector.files import Options
    from correlator.model.findings import Diagnosis
    from correlator.wiring import Progress, Reading, Request

GARBAGE = 100_000
"""New objects between two looks for garbage in cycles. Reading makes millions of objects and next to no cycles; with
Python's 700 looking for them takes a twentieth of a diagnosis."""
SHOWN = 200
"""Characters of a path in a message; one too long for the system fills a screen."""
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
Windows = Annotated[str | None, typer.Option(metavar="START/END", help="RFC 3339 or Unix seconds, slash between.")]

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Config = Annotated[Path | None, typer.Option(help="tollens.yaml; defaults without it.")]
Data = Annotated[Path | None, typer.Option(help="Folder of spool and store.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="API; 8080 unless configured; 0: any free one.")]
GrpcPort = Annotated[int | None, typer.Option(min=0, max=65535, help="4317 unless configured.")]
HttpPort = Annotated[int | None, typer.Option(min=0, max=65535, help="4318 unless configured.")]
MetricsPort = Annotated[
    int | None, typer.Option(min=0, max=65535, help="The collector's own metrics; 9464 unless configured.")
]
Report = Annotated[Path | None, typer.Option(help="Write a report: .html or .md.")]


def main() -> None:
    """Entry point; errors raised on purpose are one message and exit code 2, never a traceback."""
    try:
        app()
    except TollensError as error:
        fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None


def fail(message: str) -> NoReturn:
    """Say what is wrong on standard error and end with exit code 2."""
    print(f"tollens: {message}", file=sys.stderr)
    raise SystemExit(2)


def _version(asked: bool) -> None:
    if asked:
        print(f"tollens {version('tollens')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


@app.command()
def demo(json_: Json = False, report: Report = None) -> None:
    """Diagnose a recorded incident that ships with Tollens."""
    with as_file(files("configs").joinpath("demo")) as folder:
        paths = [str(path) for path in sorted(folder.iterdir()) if path.name != "truth.json"]
        _run(paths, json_=json_, report=report)


@app.command()
def diagnose(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Folders or files; - reads standard input.")],
    baseline: Annotated[list[str] | None, typer.Option(help="A bundle from before, or run A, to compare with.")] = None,
    baseline_window: Windows = None,
    incident_window: Windows = None,
    symptom: Annotated[
        str | None, typer.Option(help="latency, errors, availability, throughput, quality or telemetry.")
    ] = None,
    json_: Json = False,
    report: Report = None,
    scrape_time: Annotated[str | None, typer.Option(help="Time of a scrape whose name tells none.")] = None,
) -> None:
    """Say why it got slow, wrong or down, from a folder of telemetry."""
    _run(paths, baseline or [], baseline_window, incident_window, symptom, json_, report, scrape_time)


@app.command()
def up(
    config: Config = None,
    data: Data = None,
    port: Port = None,
    otlp_grpc_port: GrpcPort = None,
    otlp_http_port: HttpPort = None,
    metrics_port: MetricsPort = None,
) -> None:
    """Run beside a serving stack: receive, scrape, keep, notice symptoms, answer."""
    from collector.logs import to_stderr
    from collector.settings import load
    from correlator import settings
    from correlator.supervise import Part, keep_running, python
    from exporters._targets import bound  # not the whole wiring: this process lives for months

    bound(settings.load(config).exporters.targets, config)
    if load(config, data).forward:
        fail("collector.forward: `tollens up` empties the spool itself; to forward, run `python -m collector` alone")
    to_stderr()
    both = _flags(config=config, data=data)
    ports = _flags(otlp_grpc_port=otlp_grpc_port, otlp_http_port=otlp_http_port, metrics_port=metrics_port)
    parts = [
        Part("collector", python("collector", *both, *ports)),
        Part("correlator", python("correlator", "serve", *both, *_flags(port=port))),
    ]
    raise SystemExit(keep_running(parts, lambda ready: print(json.dumps(ready), flush=True)))


@app.command()
def doctor(
    config: Config = None,
    data: Data = None,
    port: Port = None,
    otlp_grpc_port: GrpcPort = None,
    otlp_http_port: HttpPort = None,
    metrics_port: MetricsPort = None,
) -> None:
    """Check ports, disk, engine, GPU and targets, and say which signals arrive; exit code 1 when a check failed."""
    from correlator.doctor import Ports, examine, report
    from correlator.wiring import how_to_measure

    ports = Ports(port, otlp_grpc_port, otlp_http_port, metrics_port)
    raise SystemExit(report(examine(config, data, how_to_measure(), ports), Console()))


@app.command(hidden=True)
def serve(config: Config = None, data: Data = None, port: Port = None) -> None:
    """The correlator's process of `tollens up`."""
    from collector.logs import to_stderr
    from collector.settings import load
    from correlator import settings
    from correlator.model.orphan import end_with_parent
    from correlator.serve import serve as run

    end_with_parent()
    to_stderr()
    told = settings.load(config).on(data, port)
    run(told, load(config, data).spool.folder)


def _flags(**given: object) -> list[str]:
    told = {f"--{name.replace('_', '-')}": str(value) for name, value in given.items() if value is not None}
    return [text for pair in told.items() for text in pair]


@app.command()
def hypotheses(
    id_: Annotated[str | None, typer.Argument(metavar="[ID]", help="One hypothesis in full.")] = None,
) -> None:
    """List the hypotheses, or show one: claim, predictions, what refutes it, experiment, remedy."""
    from hypotheses._describe import describe_all, describe_one

    console = Console()
    describe_one(id_, console) if id_ else describe_all(console)


def _run(
    paths: list[str],
    baseline: list[str] | None = None,
    baseline_window: str | None = None,
    incident_window: str | None = None,
    symptom: str | None = None,
    json_: bool = False,
    report: Path | None = None,
    scrape_time: str | None = None,
) -> None:
    if report is not None:
        _check(report)
    _look((*paths, *(baseline or ())))
    from collector.files import Aside, Options
    from correlator.times import nanoseconds

    options = Options(scrape_time_unix_nano=nanoseconds(scrape_time, "--scrape-time") if scrape_time else None)
    with _heard() as interrupts, Aside() as aside:
        for bundle in filter(None, (paths, baseline)):
            aside.begin(bundle, options)
        request, diagnose = _asked(paths, baseline or [], baseline_window, incident_window, symptom, options)
        with _progress() as tell:
            result = diagnose(replace(request, drawn=report is not None and report.suffix == ".html"), tell, aside.read)
        if interrupts:
            raise KeyboardInterrupt
    _shown(result, json_)
    if report is not None:
        _write(report, result)


@contextmanager
def _heard() -> Iterator[list[int]]:
    """The signals of Ctrl-C so far: a library that swallows the exception while it is imported does not undo one."""
    heard: list[int] = []

    def interrupt(number: int, _: object) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def _look(paths: Sequence[str]) -> None:
    """Before the work: say which paths cannot be used. Standard input ends with its first reader."""
    if paths.count("-") > 1:
        fail("- is given twice: standard input can be read once; put one of the two into a file")
    for path in filter(lambda path: path != "-", paths):
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            print(f"tollens: {path}: no such file or folder; going on without it", file=sys.stderr)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            fail(f"{path[:SHOWN]}{'…' if len(path) > SHOWN else ''}: cannot be read ({reason})")


def _asked(
    paths: list[str],
    baseline: list[str],
    baseline_window: str | None,
    incident_window: str | None,
    symptom: str | None,
    options: Options,
) -> tuple[Request, Callable[[Request, Progress, Reading], Diagnosis]]:
    """The request, and who answers it: engine and data frames, which take a second to import."""
    gc.disable()  # imports make no garbage in cycles, looking for it would take a tenth of the time
    from correlator.model.evidence import Kind
    from correlator.times import window
    from correlator.wiring import Request, diagnose

    gc.freeze()
    gc.set_threshold(GARBAGE)
    gc.enable()
    if symptom is not None and symptom not in list(Kind):
        fail(f"--symptom {symptom}: expected one of {', '.join(Kind)}")
    request = Request(
        paths=paths,
        baseline=baseline,
        baseline_window=window(baseline_window, "--baseline-window") if baseline_window else None,
        incident_window=window(incident_window, "--incident-window") if incident_window else None,
        symptom=Kind(symptom) if symptom else None,
        options=options,
    )
    return request, diagnose


def _shown(result: Diagnosis, json_: bool) -> None:
    if json_:
        from exporters.json_object import to_object

        print(json.dumps(to_object(result), ensure_ascii=False, allow_nan=False))
    else:
        from exporters.terminal import render

        render(result, Console())


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """A bar on standard error that tells which input is being read; nothing where that is no terminal."""
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield None
        return
    from rich.progress import Progress

    with Progress(console=errors, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda name: bar.update(task, description=f"reading {name}")


def _check(report: Path) -> None:
    """Before the work: the report has a kind that is known and a folder to lie in."""
    if report.suffix not in (".html", ".md"):
        fail(f"--report {report}: expected a file ending in .html or .md")
    if not os.path.isdir(report.parent):
        fail(f"--report {report}: there is no folder {report.parent}")
    if not os.access(report.parent, os.W_OK):
        fail(f"--report {report}: {report.parent} cannot be written to")


def _write(path: Path, result: object) -> None:
    from exporters import markdown, report

    render = report.render if path.suffix == ".html" else markdown.render
    try:
        path.write_text(render(result), encoding="utf-8")  # type: ignore[arg-type]
    except OSError as error:
        fail(f"--report {path}: {error.strerror}")
