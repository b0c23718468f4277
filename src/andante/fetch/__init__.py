"""One connection: HTTP/1.1 on llhttp, TLS, DNS, the address guard, robots.txt, content coding, cookies.

`Client.open` gives a `Connection` or a `Failure`; `Connection.exchange` gives a `Response` or a `Failure`. Whatever is a
`Connector` can stand in for the network.
"""

from andante.fetch.bodies import BodyMemory
from andante.fetch.client import Client
from andante.fetch.coding import content_encoding, decode
from andante.fetch.connection import Connection
from andante.fetch.connector import Connector
from andante.fetch.cookies import Cookies
from andante.fetch.limits import Limits
from andante.fetch.outcome import Failure, Outcome, Response
from andante.fetch.request import RequestTemplate
from andante.fetch.robots import Robots, RobotsReading

__all__ = [
    "BodyMemory",
    "Client",
    "Connection",
    "Connector",
    "Cookies",
    "Failure",
    "Limits",
    "Outcome",
    "RequestTemplate",
    "Response",
    "Robots",
    "RobotsReading",
    "content_encoding",
    "decode",
]
