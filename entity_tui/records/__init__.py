"""What lasts: journals, the run store, schemas and exports."""
