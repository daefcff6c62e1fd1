/** What `--help` prints. */
export const usage = `Nightshift: LLM conversations with tools, in the background.

  npm start                       Postgres, api, worker and a model in one process; then a sample job
  npm start -- [flags]

Flags
  --role all|api|worker|tools     what this process does (ROLE, default all); the others need DATABASE_URL;
                                  tools: runs calls of isolated tools and no jobs (docs/tool-queue.md)
  --port <number>                 port of the api, 0 takes a free one (PORT, default 4000)
  --data-dir <folder>             embedded Postgres, secret, demo key (DATA_DIR, default .nightshift)
  --no-sample                     serve without running the sample job first
  --once                          start, run the sample job, print its timings as one JSON line, stop;
                                  exit 0 only if the job completed, 1 also if it waits for an approval
  --help                          this text

Settings come from environment variables: docs/configuration.md lists them all. The ones to begin with:
  DATABASE_URL                    use this Postgres instead of the embedded one
  OPENROUTER_API_KEY, OPENAI_API_KEY or MODEL_BASE_URL (with MODEL_API_KEY, MODEL_NAME)
                                  use this model provider instead of the demo model
  NIGHTSHIFT_SECRET               at least 32 characters, the same for all processes of an installation
`;
