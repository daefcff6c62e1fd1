-- Who ends a job that nobody runs settles its node runs too.
GRANT UPDATE (status, handles, finished_at, prompt_tokens, completion_tokens) ON node_run TO nightshift_api;
