"""`holder calibrate`: how long releases take on this machine or its cluster, and the public deadlines that follow."""

import gc
from dataclasses import asdict
from typing import Annotated

import typer

from holder_service.cli.calls import clear_errors
from holder_service.cli.output import AsJson, show

commands = typer.Typer()
_COLUMNS = ("plan", "records", "pricing", "counting", "noise", "writing", "slowest run")


@commands.command()
def calibrate(
    records: Annotated[int, typer.Option(min=1000, help="People in the larger of two invented registers.")] = 200_000,
    runs: Annotated[int, typer.Option(min=3, max=900, help="Releases of each plan at each size, at most.")] = 100,
    seconds: Annotated[
        int,
        typer.Option(min=1, help="Divide this time among the plans, but make at least 5 releases of each."),
    ] = 45,
    write: Annotated[bool, typer.Option(help="Use the measured factors in holders that start from now on.")] = True,
    as_json: AsJson = False,
) -> None:
    """Measure releases with this holder's engine, and set the public deadlines so that they cover 99.99 % of them.

    Takes about a minute; on a busy or slow machine longer. More seconds see rarer pauses.

    Runs on invented registers in the holder's home, or in its cluster's store, and changes nothing else. Use a quiet
    machine, or one as busy as it will be. The output compares the median milliseconds of each part with the values that
    the deadlines assume for an uncalibrated machine. With HOLDER_ENGINE=spark use --records 2000000 --runs 20
    --seconds 3600 or more of each: a larger register separates the start of a job better from its reading time.
    """
    from holder_service.app import GC_THRESHOLD
    from holder_service.files.private import make_home
    from holder_service.services.running.work_measurement import TimeShares, factors, measure, plans_measured, shown
    from holder_service.services.work.work_factors import write_factors
    from holder_service.settings.holder import Settings

    gc.set_threshold(GC_THRESHOLD)  # as the service does
    with clear_errors():
        settings = Settings.from_environment()
        make_home(settings.home)
        sizes = (records // 10, records)
        pace = TimeShares(seconds, plans_measured(len(sizes)))
        found = list(measure(settings, records=sizes, runs=runs, pace=pace))
        compared = factors(found)
        if write:
            write_factors(settings.calibration, compared, engine=settings.engine)
    show(asdict(compared), _COLUMNS, [shown(one) for one in found], as_json, title="Measured / supposed, ms")
    if as_json:
        return
    print(f"Releases measured: {sum(len(one.took_ms) for one in found)}.")
    print("Factors: " + ", ".join(f"{name} {factor:.2f}" for name, factor in asdict(compared).items()))
    if write:
        print(f"Written to {settings.calibration}; restart the holder.")
