"""Headers of every answer: nothing is embedded, sniffed, cached by others, or run that the package does not ship."""

from ostinato.service.sign_in import ALLOWED

POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {ALLOWED}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers send forms with the origin null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
PRIVATE = ("cache-control", "no-store")  # of answers that say nothing else of it
SECURE = ("strict-transport-security", "max-age=31536000")


def raw_headers(*, secure: bool) -> list[tuple[bytes, bytes]]:
    """As ASGI sends them."""
    return [raw(each) for each in (*HEADERS.items(), *([SECURE] if secure else []))]


def raw(header: tuple[str, str]) -> tuple[bytes, bytes]:
    """One of them."""
    return header[0].encode(), header[1].encode()
