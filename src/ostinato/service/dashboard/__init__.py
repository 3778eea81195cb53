"""What people see in a browser. `ROUTES` are registered with the application; each names its role as the API's do."""

from litestar.handlers import HTTPRouteHandler

from ostinato.service.dashboard import (
    bench_page,
    candidates_page,
    create_page,
    files,
    home,
    log_page,
    plate_page,
    study_page,
    work_page,
)

ROUTES: list[HTTPRouteHandler] = [
    *files.ROUTES,
    *home.ROUTES,
    *create_page.ROUTES,
    *study_page.ROUTES,
    *candidates_page.ROUTES,
    *log_page.ROUTES,
    *work_page.ROUTES,
    *bench_page.ROUTES,
    *plate_page.ROUTES,
]
