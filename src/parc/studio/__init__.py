"""The studio: one page in the browser to see, edit and make motions (needs the extra [studio])."""
