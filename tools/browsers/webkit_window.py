"""A window with WebKit that WebKitWebDriver drives; the system's Python runs it.

WebKit's own MiniBrowser forgets all at its end when it is driven, and so has neither files nor a
console there; and its tools make it wider than a phone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gi  # pyrefly: ignore[missing-import]

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import Gtk, WebKit2  # noqa: E402  # pyrefly: ignore[missing-import]

FOLDER = Path(sys.argv[1])

window = Gtk.Window(default_width=1280, default_height=800)
tabs = Gtk.Notebook(show_tabs=False, show_border=False)
window.add(tabs)
window.show_all()

manager = WebKit2.WebsiteDataManager(
    base_data_directory=str(FOLDER / "data"), base_cache_directory=str(FOLDER / "cache")
)
context = WebKit2.WebContext(website_data_manager=manager)
context.set_automation_allowed(True)
settings = WebKit2.Settings(
    enable_write_console_messages_to_stdout=True,
    enable_media_stream=True,
    enable_mock_capture_devices=True,
)


def on_permission(_view, request):
    """Let pages use the camera and the microphone, which are made up."""
    request.allow()
    return True


def on_close(view):
    """Remove a tab, and with it the process of its page."""
    tabs.remove_page(tabs.page_num(view))
    view.destroy()


def create_tab(_session):
    """Open a tab in front of the others."""
    view = WebKit2.WebView(web_context=context, is_controlled_by_automation=True, settings=settings)
    view.connect("permission-request", on_permission)
    view.connect("close", on_close)
    view.show()
    tabs.set_current_page(tabs.append_page(view, None))
    return view


def on_automation(_context, session):
    """Tell the driver what it drives."""
    information = WebKit2.ApplicationInfo()
    information.set_name("webkit_window")
    numbers = (WebKit2.get_major_version, WebKit2.get_minor_version, WebKit2.get_micro_version)
    information.set_version(*(number() for number in numbers))
    session.set_application_info(information)
    session.connect("create-web-view", create_tab)


def on_download(_context, download):
    """Save what a page gives away."""

    def choose(download, name):
        download.set_destination((FOLDER / "downloads" / name).as_uri())
        return True

    download.connect("decide-destination", choose)


context.connect("automation-started", on_automation)
context.connect("download-started", on_download)
Gtk.main()
