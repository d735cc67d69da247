"""`livek12 site`: reading runs for a site, and making the site from what was read (`making`)."""
