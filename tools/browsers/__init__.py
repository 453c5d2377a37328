"""Browsers of all engines behind one interface, for journeys through the site's pages."""
