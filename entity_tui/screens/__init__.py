"""One file per screen; screens read the session and never touch a transport."""
