"""One character in a page without a server: `page/` holds the page's sources, the modules here build its folder and serve it."""
