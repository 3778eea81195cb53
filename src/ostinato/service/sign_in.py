"""How the page to sign in looks.

Whoever sees it has no token yet, and files of the package need one: so its style is part of the page, and the policy
of the server allows this one style by its digest.
"""

from base64 import b64encode
from hashlib import sha256

STYLE = b"""
:root { color-scheme: light dark; --back: #f6f8f9; --card: #fff; --line: #d8dee4; --text: #1c2430; --muted: #55606e;
  --accent: #0b7285; --on: #fff; --bad: #b42318 }
@media (prefers-color-scheme: dark) { :root { --back: #0e1318; --card: #161c23; --line: #2d3640; --text: #e8edf2;
  --muted: #9aa6b3; --accent: #3bb8cc; --on: #04222a; --bad: #ff8a80 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--back);
  color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif }
main { width: 100%; max-width: 26rem; padding: 1.6rem 1.8rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 12px }
h1 { margin: 0; font-size: 1.4rem } p { color: var(--muted) } form p { margin: 0; display: grid; gap: .9rem }
label { display: grid; gap: .3rem; color: var(--text); font-weight: 550 }
input, button { font: inherit; padding: .6rem .8rem; border-radius: 8px; width: 100% }
input { border: 1px solid var(--muted); background: var(--card); color: inherit }
button { border: 0; background: var(--accent); color: var(--on); font-weight: 600; cursor: pointer }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
code { font-size: .9em; color: var(--text); overflow-wrap: anywhere } [role=alert] { color: var(--bad) }
"""
ALLOWED = f"'sha256-{b64encode(sha256(STYLE).digest()).decode()}'"
