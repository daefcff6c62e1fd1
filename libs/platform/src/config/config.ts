import { z } from 'zod';

import {
  accessSettings,
  connectionSettings,
  fileSettings,
  limitSettings,
  modelRequestSettings,
  notificationSettings,
  triggerSettings,
} from './feature-settings.js';
import { modelPrices } from './model-prices.js';
import {
  choice,
  flag,
  httpUrl,
  httpUrlOr,
  isAddressRange,
  list,
  ms,
  secret,
  text,
  textOr,
  whole,
} from './setting-kinds.js';

const roles = ['api', 'worker', 'tools', 'all'] as const;
const workerQueues = ['jobs', 'tool-execution'] as const;
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
const environments = ['development', 'production', 'test'] as const;
const humanWaits = ['wait', 'reject'] as const;
const approvals = ['auto_approve', 'require_approval'] as const;
const isolations = ['per_tool', 'queue'] as const;

/** Every setting: variable, allowed values, default, description. Only this file names environment variables. */
export const settings = z.object({
  ROLE: z
    .enum(roles)
    .default('all')
    .meta(choice(roles, 'all', 'What this process does.')),
  HOST: textOr('127.0.0.1', 'Address that the API listens on.'),
  PORT: whole([4000, 0, 65_535], 'Port of the API. 0: any free port.'),
  ...accessSettings,
  WORKER_PORT: whole(
    [0, 0, 65_535],
    'Port of /healthz, /readyz and /metrics of a process with role worker or tools; 0: none.',
  ),
  NODE_ENV: z
    .enum(environments)
    .default('development')
    .meta(
      choice(
        environments,
        'development',
        '`production` refuses the settings that allow private addresses, and never treats the server as a demo. Only `test` allows CRASH_POINT.',
      ),
    ),
  LOG_LEVEL: z
    .enum(levels)
    .default('info')
    .meta(choice(levels, 'info', 'Least severe log line that is written (JSON, on stderr).')),
  READ_ENV_FILE: flag(
    true,
    'Whether the process reads the file .env in the working directory. Set it in the environment, not in that file.',
  ),
  DATA_DIR: textOr('.nightshift', 'Folder of the embedded Postgres, the generated secret and the demo key.'),

  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .meta({
      allowed: 'a URL that starts with postgres:// or postgresql://',
      description:
        'Postgres 16 or newer; its login applies the migrations. Without it, the server starts an embedded Postgres 18.',
    }),
  DATABASE_POOL_SIZE: whole(
    [10, 2, 200],
    'Maximum connections to Postgres that a process opens with each login (`nightshift_api`, `nightshift_engine`).',
  ),
  INVITATION_TTL_MS: ms(
    [14 * 86_400_000, 60_000, 365 * 86_400_000],
    'How long an invitation to a workspace can be accepted.',
  ),
  NIGHTSHIFT_SECRET: secret(
    'Root of the keys that hash API keys and encrypt stored secrets, and of the passwords of the database roles. The same in all processes of an installation.',
  ),
  NIGHTSHIFT_PREVIOUS_SECRETS: text(
    'Earlier values of NIGHTSHIFT_SECRET, separated by commas. The server can still read data that it stored under them (docs/workspaces.md).',
  ),
  NIGHTSHIFT_TOOLS_KEY: secret(
    'Role tools: the key that decrypts the secrets of tools, instead of NIGHTSHIFT_SECRET. `nightshift admin tools-key` prints it.',
  ),
  NIGHTSHIFT_PREVIOUS_TOOLS_KEYS: text(
    'Role tools: earlier values of NIGHTSHIFT_TOOLS_KEY, separated by commas, while the secret is being rotated.',
  ),
  BUS: z.enum(['memory', 'postgres']).optional().meta({
    allowed: 'memory or postgres',
    description: 'Hints between processes. Default: memory in role all, else postgres.',
  }),

  MODEL_BASE_URL: httpUrl('Endpoint of the model provider, compatible with OpenAI: its URL up to and including /v1.'),
  MODEL_API_KEY: text('Key of MODEL_BASE_URL, if required.'),
  MODEL_NAME: text('Model used when a request names none.'),
  OPENROUTER_API_KEY: text('API key of OpenRouter, the provider if MODEL_BASE_URL is not set.'),
  OPENAI_API_KEY: text('API key of OpenAI, the provider if neither MODEL_BASE_URL nor OPENROUTER_API_KEY is set.'),
  ALLOW_PRIVATE_MODEL_URLS: flag(
    false,
    'Lets workspaces use model providers at loopback or private addresses; refused with NODE_ENV=production.',
  ),
  ALLOW_PRIVATE_TOOL_URLS: flag(
    false,
    'Lets tools of workspaces send requests to loopback and private addresses, at any port; refused with NODE_ENV=production.',
  ),
  OUTBOUND_PORTS: z
    .string()
    .default('80,443,8080,8443')
    .transform((list) => list.split(',').map((port) => Number(port.trim() || NaN)))
    .pipe(z.array(z.int().min(1).max(65_535)).min(1))
    .transform((ports) => [...new Set([80, 443, ...ports])])
    .meta({
      allowed: 'a comma-separated list of ports from 1 to 65535',
      fallback: '80,443,8080,8443',
      description:
        'Ports that tools, webhooks and connections of workspaces may connect to; 443 and 80 are always allowed.',
    }),
  WEBHOOKS_ALLOW_HTTP: flag(false, 'Webhooks may also be sent to http:// URLs.'),
  WEBHOOKS_ALLOW_CIDRS: list(
    'ranges of addresses such as 10.1.0.0/16',
    isAddressRange,
    'Private address ranges to which webhooks may be sent.',
  ),
  WEBHOOK_SLOTS: whole([32, 1, 1_000], 'Maximum webhooks that a worker process sends at once.'),
  WEBHOOK_SLOTS_PER_WORKSPACE: whole([16, 1, 1_000], 'Maximum webhooks of one workspace in a worker process.'),
  MODEL_PRICES: modelPrices,
  ...modelRequestSettings,
  MODEL_CONTEXT_TOKENS: whole(
    [128_000, 1_000, 1e8],
    'Context window of models, in tokens. Longer sessions of workflows are shortened.',
  ),

  FEATURE_BACKGROUND_TOOLS: flag(true, 'Jobs may use tools.'),
  FEATURE_CLIENT_TOOLS: flag(true, 'Jobs may use tools that run in a client of their requester.'),
  FEATURE_DELTA_BATCHING: flag(true, 'Workers collect pieces of text and write them together.'),
  MCP_STDIO: flag(
    false,
    'Lets admins of workspaces register MCP servers that this server starts as child processes. Admins can then run any command as the user of the server.',
  ),
  FEATURE_SUB_JOBS: flag(false, 'Offers start_job, get_jobs and job_result, with which models start jobs.'),
  FEATURE_FETCH_URL: flag(false, 'Offers the tool fetch_url, which returns public web pages as text.'),
  FEATURE_COINGECKO_PRICE: flag(false, 'Offers the tool coingecko_price, which returns prices of cryptocurrencies.'),
  COINGECKO_URL: httpUrlOr('https://api.coingecko.com/api/v3', 'Base URL of CoinGecko, for coingecko_price.'),
  TAVILY_API_KEY: text('Offers the tool web_search, which searches with Tavily.'),
  TAVILY_URL: httpUrlOr('https://api.tavily.com', 'Base URL of Tavily, for web_search and tavily_search.'),
  BRAVE_API_KEY: text('Offers web_search, which searches with Brave unless TAVILY_API_KEY is set.'),
  BRAVE_URL: httpUrlOr('https://api.search.brave.com/res/v1', 'Base URL of Brave Search, for web_search.'),
  SEARXNG_URL: httpUrl(
    'Offers web_search, which searches with this SearXNG unless TAVILY_API_KEY or BRAVE_API_KEY is set.',
  ),

  TRIGGERS_ALLOW_UNSIGNED: flag(
    true,
    'Accepts unsigned requests to triggers and Syntrix connections without a secret. The default is true only for a demo: role all on a loopback HOST without DATABASE_URL, and not with NODE_ENV=production. Otherwise it is false.',
  ),

  LEASE_MS: ms(
    [30_000, 200],
    'Duration of a lease. A job whose worker has not renewed its lease for this time can be claimed by another worker.',
  ),
  WORKER_SLOTS: whole([20, 1, 10_000], 'Maximum jobs that a worker process runs at once.'),
  WORKER_QUEUES: z
    .string()
    .optional()
    .transform((list) => list?.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(workerQueues)).min(1).optional())
    .meta({
      allowed: `a comma-separated list of ${workerQueues.join(' and ')}`,
      description:
        'Queues that a worker serves. Default: jobs in role worker, tool-execution (calls of isolated tools) in role tools, both in role all.',
    }),
  WORKER_DRAIN_MS: ms([20_000, 0], 'How long running rounds may continue after a stop signal, to reach their commit.'),
  WORKFLOW_PAUSE_MS: ms(
    [10_000, 0],
    'How long the nodes of a workflow that has reached its time limit may continue, to commit their round.',
  ),
  TOOL_ISOLATION: z
    .enum(isolations)
    .default('per_tool')
    .meta(
      choice(
        isolations,
        'per_tool',
        'Where server tools run. queue: every call goes to the tool processes, in every workspace (docs/tool-queue.md).',
      ),
    ),
  TOOL_ISOLATION_CEILING: z
    .enum(isolations)
    .default('queue')
    .meta(choice(isolations, 'queue', 'Strictest mode that a workspace may choose (`toolIsolation`).')),
  TOOL_SLOTS: whole([20, 1, 10_000], 'Maximum isolated tool calls that a process runs at once.'),
  TOOL_SLOTS_PER_WORKSPACE: whole([10, 1, 10_000], 'Maximum isolated tool calls of one workspace in a process.'),
  TOOL_SLOTS_PER_TOOL: whole([10, 1, 10_000], 'Maximum isolated calls of one tool in a process.'),
  TOOL_QUEUE_TTL_MS: ms(
    [300_000],
    'How long a call of an isolated tool waits for a tool process to claim it. Then it ends as `timed_out`. The timeout of the tool starts with the claim.',
  ),
  BACKGROUND_JOBS_ENABLED: flag(
    true,
    'Whether jobs run without a connected client. false: a new job is cancelled after its last client disconnects (docs/operations.md).',
  ),
  FOREGROUND_GRACE_MS: ms(
    [10_000, 1, 3_600_000],
    'With BACKGROUND_JOBS_ENABLED=false: how long a job may have no client before it is cancelled.',
  ),
  MAX_ATTEMPTS: whole(
    [5, 1, 100],
    'Consecutive claims without progress after which a job fails with the code `poison`.',
  ),
  JOB_TIMEOUT_MS: ms([300_000], 'Working time of a job; waiting does not count.'),
  ROUND_TIMEOUT_MS: ms([120_000], 'Timeout of one model call.'),
  PLUGINS: list(
    'packages, modules and folders',
    () => true,
    'Plugins to load before those in ./plugins (docs/plugins.md).',
  ),
  MAX_TOOL_TIMEOUT_MS: ms([86_400_000, 1, 86_400_000], 'Longest timeout that a tool of a plugin may set.'),
  TOOL_TIMEOUT_MS: ms([10_000], 'Timeout of one tool call, unless the tool sets its own.'),
  MAX_ROUNDS: whole([10, 1, 100], 'Maximum number of rounds of a job.'),
  TOOL_APPROVAL_DEFAULT: z
    .enum(approvals)
    .default('auto_approve')
    .meta(
      choice(approvals, 'auto_approve', 'Decision for a tool call that no approval rule matches, in every workspace.'),
    ),
  MAX_TOOL_CALLS_PER_ROUND: whole(
    [20, 1, 200],
    'Maximum number of tool calls of one round that run. Further calls are skipped.',
  ),
  MAX_OUTPUT_BYTES: whole([4_194_304, 1_024, 67_108_864], 'Maximum text and reasoning of a job, in bytes of UTF-8.'),
  MAX_BODY_BYTES: whole([4_194_304, 1_024, 67_108_864], 'Maximum size of a request body, in bytes.'),
  MAX_MESSAGES: whole([2_000, 1, 100_000], 'Maximum number of messages in one request.'),

  DELTA_FLUSH_MS: ms([100], 'Maximum time that a worker buffers streamed text before it writes it.'),
  DELTA_FLUSH_CHUNKS: whole([10, 1, 10_000], 'Number of buffered pieces at which a worker writes them sooner.'),
  DELTA_FLUSH_BYTES: whole([1_024, 1, 1_048_576], 'Size of the buffered text at which a worker writes it sooner.'),
  DELTA_RETENTION_MS: ms([3_600_000, 0, 400 * 86_400_000], 'How long the log of an ended job keeps its text deltas.'),
  JOB_RETENTION_MS: ms([0, 0, 4_000 * 86_400_000], 'How long an ended job is kept. 0: forever.'),
  MEMORY_RETENTION_MS: ms(
    [0, 0, 4_000 * 86_400_000],
    'How long texts that `memory` nodes stored are kept. 0: forever.',
  ),
  MEMORIES_PER_SESSION: whole(
    [10_000, 1, 1_000_000],
    'How many of the newest texts that `memory` nodes stored are kept in each session.',
  ),
  WRITER_TICK_MS: whole(
    [2, 0, 100],
    'Minimum time between the starts of two group commits. A write after a pause does not wait.',
  ),

  ...limitSettings,
  STREAMS_PER_PRINCIPAL: whole(
    [20, 1, 100_000],
    'Maximum number of open streams of a user or API key, in one process.',
  ),
  STREAMS_PER_JOB: whole(
    [100, 1, 100_000],
    'Maximum number of open streams of a job, in one process. The same maximum applies to the subscriptions of a user to each kind of activity of a workspace (jobs, requests, notifications). It applies to the open requests for file contents of a workspace. It applies to the open exports of tool calls of a workspace.',
  ),
  OPENAI_ANSWERS_PER_PRINCIPAL: whole(
    [200, 1, 100_000],
    'Maximum number of requests to /v1/chat/completions and /v1/tools/execute that an API key may have open at once, in one process.',
  ),
  OPENAI_MAX_HOLD_MS: ms(
    [600_000, 1, 86_400_000],
    'How long the server waits for a result before it responds with 504 to a request to /v1/tools/execute, or to one without `stream` to /v1/chat/completions. The job keeps running.',
  ),
  OPENAI_PENDING_TTL_MS: ms(
    [86_400_000],
    'How long a tool call that /v1/chat/completions returned to a client waits for its result.',
  ),
  OPENAI_HUMAN_WAIT: z
    .enum(humanWaits)
    .default('wait')
    .meta(
      choice(
        humanWaits,
        'wait',
        'What a run in the format `openai` does when it needs a person: it waits, or is cancelled.',
      ),
    ),
  ...connectionSettings,
  ...triggerSettings,
  ...fileSettings,
  ...notificationSettings,

  CRASH_POINT: z
    .string()
    .regex(/^[a-z][a-z-]*:(kill|stop|throw)(:[1-9]\d{0,5})?$/)
    .optional()
    .meta({
      allowed: '<name>:kill, <name>:stop or <name>:throw, with NODE_ENV=test only',
      description:
        'For tests: what happens when the process reaches a crash point. `:N` at the end: when it reaches the point for the N-th time.',
    }),
});

export type Settings = z.infer<typeof settings>;

/** The work that a process can take: jobs, or calls of isolated tools. */
export type WorkerQueue = (typeof workerQueues)[number];

const queuesOfRole: Readonly<Record<Settings['ROLE'], readonly WorkerQueue[]>> = {
  api: [],
  worker: ['jobs'],
  tools: ['tool-execution'],
  all: workerQueues,
};

/** The work that this process takes, by its role unless WORKER_QUEUES names queues. An API process takes none. */
export function queuesServed({
  ROLE,
  WORKER_QUEUES,
}: Pick<Settings, 'ROLE' | 'WORKER_QUEUES'>): readonly WorkerQueue[] {
  return ROLE === 'api' ? [] : (WORKER_QUEUES ?? queuesOfRole[ROLE]);
}

/** The frozen settings of this process. A class, so that Nest can inject it by its type. */
export class Config {
  private constructor(readonly values: Readonly<Settings>) {
    Object.freeze(this);
  }

  /** Reads `environment` (variables as text). Throws one `ConfigError` naming each invalid variable and its allowed values. */
  static from(environment: Readonly<Record<string, string | undefined>>): Config {
    const given = Object.fromEntries(
      Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
    );
    const parsed = settings.safeParse(given);
    if (!parsed.success) {
      const wrong = new Set(parsed.error.issues.map(({ path }) => String(path[0])));
      throw new ConfigError([...wrong].map(problemOf));
    }
    const unsafe = (['ALLOW_PRIVATE_MODEL_URLS', 'ALLOW_PRIVATE_TOOL_URLS'] as const).filter((it) => parsed.data[it]);
    if (unsafe.length > 0 && parsed.data.NODE_ENV === 'production') {
      throw new ConfigError(unsafe.map((name) => `${name} must be off with NODE_ENV=production.`));
    }
    if (parsed.data.SMTP_URL !== undefined && parsed.data.MAIL_FROM === undefined) {
      throw new ConfigError(['MAIL_FROM must be set with SMTP_URL: the sender address of e-mails.']);
    }
    const isSigned = given['TRIGGERS_ALLOW_UNSIGNED'] === undefined && !isDemo(parsed.data);
    return new Config(Object.freeze(isSigned ? { ...parsed.data, TRIGGERS_ALLOW_UNSIGNED: false } : parsed.data));
  }

  /** The same settings with some replaced, for launchers that determine a port or a database URL at start. */
  with(changes: Partial<Settings>): Config {
    return new Config(Object.freeze({ ...this.values, ...changes }));
  }
}

/** Whether only programs of this machine can reach the server, and its database is embedded. */
function isDemo({ DATABASE_URL, HOST, ROLE, NODE_ENV }: Settings): boolean {
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(HOST);
  return DATABASE_URL === undefined && isLoopback && ROLE === 'all' && NODE_ENV !== 'production';
}

/** The message omits the value on purpose: it may be a key in the wrong variable. */
function problemOf(name: string): string {
  const allowed = describeSettings().find((setting) => setting.name === name)?.allowed ?? 'another value';
  return `${name} must be ${allowed}.`;
}

/** A setting for display. */
export interface SettingDescription {
  readonly name: string;
  readonly allowed: string;
  /** The default in the format of the environment; null: none. */
  readonly fallback: string | null;
  readonly description: string;
}

/** Every setting in the order of the schema, with its allowed values, default and description. */
export function describeSettings(): SettingDescription[] {
  return Object.entries(settings.shape).map(([name, schema]) => {
    const { allowed, fallback, description = '' } = schema.meta() ?? {};
    return { name, allowed: String(allowed), fallback: typeof fallback === 'string' ? fallback : null, description };
  });
}

/** Invalid settings prevent the start. The message has one line per invalid variable. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`Wrong settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}
