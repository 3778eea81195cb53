"""The routes of the API, one file for each kind of thing."""

from ostinato.service.routes import answers, candidates, measurements, session, studies, tasks

ROUTES = [*session.ROUTES, *studies.ROUTES, *tasks.ROUTES, *measurements.ROUTES, *candidates.ROUTES, *answers.ROUTES]
