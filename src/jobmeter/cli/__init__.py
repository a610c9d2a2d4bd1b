"""One file per command; thin: parse, call a service, print."""
