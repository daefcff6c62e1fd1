-- Jobs of a connection or trigger keep their user and threads when another member saves it.
ALTER TABLE syntrix_connection ADD COLUMN owner uuid;
ALTER TABLE trigger_definition ADD COLUMN owner uuid;
