"""Blocks network access of a page: the browser refuses its requests, and the page counts them."""

from page import element
from pyscript import document, ffi, window

POLICY = (
    "default-src 'none'; script-src 'unsafe-eval'{0}; connect-src {1}; "
    "base-uri 'none'; form-action 'none'"
)
"""Nothing is fetched from anywhere and nothing sent, but files of folders that are left open; code
that is here already runs on.

No policy covers what leaves a page by going elsewhere, or by WebRTC: `webrtc 'block'` is specified,
but Chromium knows it as little as other browsers, and reports it as an error. The page's text says
what remains.
"""


class NetworkBlock:
    """The policy that blocks network access, and what has been asked for since.

    It holds until the page goes.
    """

    def __init__(self):
        self.since, self.started, self.policy = None, 0.0, ""
        self.asked, self.refused = [], []
        self.observe = ffi.create_proxy(self.on_requests)
        self.refuse = ffi.create_proxy(self.on_violation)

    def close(self, folders=()):
        """Have the browser refuse every request from now on, but for files of some folders.

        Without folders that is final: a policy can be added to, but not taken back.
        """
        addresses = "".join(f" {window.URL.new(name, document.baseURI).href}" for name in folders)
        policy = POLICY.format(addresses, addresses.strip() or "'none'")
        if policy == self.policy or (self.since and folders):
            return
        self.policy = policy
        rule = document.createElement("meta")
        rule.httpEquiv, rule.content = "Content-Security-Policy", policy
        document.head.append(rule)
        if not self.since:
            self.since, self.started = window.Date.new(), window.performance.now()
            window.PerformanceObserver.new(self.observe).observe(ffi.to_js({"type": "resource"}))
            document.addEventListener("securitypolicyviolation", self.refuse)
        element("blocked").dataset.blocked = "partly" if folders else "wholly"
        self.tell()

    def on_requests(self, entries, *_):
        """Note the addresses of requests; the browser lists some that it refused as well.

        It lists requests when they have ended, also those that began before access was blocked.
        """
        later = (entry for entry in entries.getEntries() if entry.startTime >= self.started)
        self.asked += [entry.name for entry in later]
        self.tell()

    def on_violation(self, event):
        """Note what this policy refused; the policy that came with the page may do so too."""
        if event.originalPolicy == self.policy:
            self.refused.append(event.blockedURI)
            self.tell()

    async def attempt(self):
        """Try to send something to this site's own server, and say what came of it."""
        try:
            answer = await window.fetch("./?blocked", method="POST", body="an example")
        except Exception as error:
            element("attempt").textContent = f"The browser blocked it: {error}"
        else:
            element("attempt").textContent = f"It was sent: the server answered {answer.status}."

    def tell(self):
        """Show since when network access is blocked, and what was asked for since."""
        shown = element("blocked")
        rest = ", except for the files of the model" if shown.dataset.blocked == "partly" else ""
        since = self.since.toLocaleTimeString("en-GB")
        shown.textContent = f"Network access blocked since {since}{rest}."
        sent = sum(address not in self.refused for address in self.asked)
        shown = element("requests")
        shown.textContent = f"Requests since then: {sent}. Blocked: {len(self.refused)}."
        shown.dataset.requests, shown.dataset.refused = str(sent), str(len(self.refused))
