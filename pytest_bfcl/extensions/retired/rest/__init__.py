"""Who answers the GET requests of REST entries: local, live, recorded or replayed."""
