"""A client of the service: the verbs of a study, over HTTP."""

from ostinato.service.client.client import Client
from ostinato.service.client.remote import RemoteStudy

__all__ = ["Client", "RemoteStudy"]
