/** In place of `job_event` in a query: its events one by one, also those that share a row. */
export const everyEvent = `(SELECT e.workspace_id, e.job_id, e.seq - e.events + p.place::int AS seq, e.epoch, e.attempt, p.event->>0 AS type,
    p.event->1 AS body, e.at FROM job_event e CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN e.type = 'packed' THEN e.body
    ELSE jsonb_build_array(jsonb_build_array(e.type, e.body)) END) WITH ORDINALITY AS p(event, place))`;

/** Statements that give every event its own row, so that a test can change single events. */
export const apart: readonly string[] = [
  `CREATE TABLE event_apart AS SELECT * FROM ${everyEvent} e`,
  'DELETE FROM job_event',
  `INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
   SELECT workspace_id, job_id, seq, epoch, attempt, type, body, at FROM event_apart`,
  'DROP TABLE event_apart',
];
