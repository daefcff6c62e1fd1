import { z } from 'zod';

import {
  choice,
  flag,
  httpUrl,
  isHostName,
  isNetwork,
  isOrigin,
  list,
  ms,
  secret,
  text,
  textOr,
  whole,
} from './setting-kinds.js';

/** Limits of live connections. */
export const connectionSettings = {
  SOCKETS_PENDING: whole(
    [500, 1, 100_000],
    'Maximum WebSockets of a process without an accepted connection_init (docs/operations.md).',
  ),
  REFUSALS_PER_SECOND: whole(
    [20, 1, 1_000_000],
    'Maximum refusals per second that the server sends to one address without a delay (docs/operations.md).',
  ),
  GRAPHQL_INTROSPECTION: flag(true, 'Authenticated callers may introspect the GraphQL schema (`__schema`, `__type`).'),
  GRAPHQL_EXPLORER: flag(
    true,
    'Browsers that open /graphql get an explorer (GraphiQL). Its requests need a credential.',
  ),
  GRAPHQL_ALLOWED_OPERATIONS: text(
    'File of the only GraphQL operations that the API runs (docs/clients.md): GraphQL text, an Apollo manifest, or a JSON object of documents by id.',
  ),
  SLOW_VIEWER_BYTES: whole(
    [262_144, 1_024, 1_073_741_824],
    'Unsent bytes of a viewer at which the API stops sending until the viewer reads.',
  ),
  SLOW_VIEWERS_BYTES: whole(
    [2 ** 26, 2 ** 20, 2 ** 34],
    'Unsent bytes of all slow viewers of a process; over it, the slowest is disconnected.',
  ),
  SLOW_VIEWER_MS: ms(
    [30_000],
    'How long the API waits for a slow viewer before it disconnects it; four times as long for a client that reads nothing of its response.',
  ),
};

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;

/** Settings that decide which requests the API accepts. */
export const accessSettings = {
  ALLOWED_ORIGINS: list(
    'origins such as https://app.example.com',
    isOrigin,
    'Web pages on these origins may call every API and open WebSockets.',
  ),
  ALLOWED_HOSTS: list(
    'host names',
    isHostName,
    'Host names that the API accepts in the Host header, besides localhost and IP addresses. Empty: any, unless HOST is a loopback address.',
  ),
  TRUSTED_PROXIES: list(
    'IP addresses and networks such as 10.0.0.0/8',
    isNetwork,
    'Reverse proxies in front of the API. Requests from them are counted by the client address in X-Forwarded-For; the header of any other peer is ignored.',
  ),
  METRICS_TOKEN: secret('Bearer token that /metrics of the API requires. Without it, the API has no /metrics.'),
  MAX_BODY_TOKENS: whole(
    [100_000, 1_000, 10_000_000],
    'Maximum JSON tokens (strings, arrays, objects, commas, colons) of a request body.',
  ),
  BODY_TIMEOUT_MS: ms(
    [60_000, 100],
    'How long a request body may take to arrive. A request also ends after ten seconds without a byte.',
  ),
  JWT_SECRET: secret('Secret that verifies HS256 tokens.'),
  JWT_JWKS_URL: httpUrl('URL of the key set (JWKS) that verifies tokens.'),
  JWT_ALGORITHMS: z
    .string()
    .default('RS256,ES256,EdDSA')
    .transform((list) => list.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(algorithms)).min(1))
    .meta({
      allowed: `a comma-separated list of ${algorithms.join(', ')}`,
      fallback: 'RS256,ES256,EdDSA',
      description: 'Algorithms accepted from JWT_JWKS_URL (RFC 8725, section 3.1).',
    }),
  JWT_ISSUER: text(
    'The issuer: `iss` of a token must equal it. Without it, any issuer is accepted; a token needs `iss` in both cases.',
  ),
  JWT_AUDIENCE: text('Required `aud` of a token.'),
};

/** The operator's limits on workspaces and users, across all processes. */
export const limitSettings = {
  RUNNING_JOBS_CEILING: whole([1_000, 1, 1_000_000], "Maximum of a workspace's cap on running jobs (`maxJobs`)."),
  RUNNING_JOBS_PER_USER_CEILING: whole(
    [1_000, 1, 1_000_000],
    "Maximum of a workspace's cap on the running jobs of one user (`maxJobsPerUser`).",
  ),
  MAX_UNFINISHED_JOBS: whole(
    [10_000, 1, 10_000_000],
    'Maximum number of queued, running and waiting jobs of a workspace.',
  ),
  MAX_UNFINISHED_JOBS_PER_USER: whole(
    [1_000, 1, 10_000_000],
    'Maximum number of queued, running and waiting jobs of a user in a workspace.',
  ),
  STARTS_PER_MINUTE: whole(
    [600, 1, 1_000_000],
    'Maximum job starts of a user in a minute, with all keys and in all workspaces.',
  ),
  STARTS_PER_MINUTE_PER_WORKSPACE: whole([6_000, 1, 10_000_000], 'Maximum job starts of a workspace in a minute.'),
  WORKFLOW_STARTS_PER_MINUTE: whole([30, 1, 1_000_000], 'Maximum workflow starts of a user in a minute.'),
  WORKFLOW_STARTS_PER_MINUTE_PER_WORKSPACE: whole(
    [300, 1, 10_000_000],
    'Maximum workflow starts of a workspace in a minute.',
  ),
  HITL_ANSWERS_PER_MINUTE: whole([120, 1, 1_000_000], 'Maximum requests of a user to /api/workflows/hitl in a minute.'),
  MAX_API_KEYS_PER_USER: whole([100, 1, 100_000], 'Maximum number of usable API keys of a user in a workspace.'),
  MAX_API_KEYS: whole([1_000, 1, 1_000_000], 'Maximum number of usable API keys of a workspace.'),
  MAX_WORKSPACES_PER_USER: whole([100, 1, 1_000_000], 'Maximum number of workspaces that a user owns.'),
  SOCKETS_PER_USER: whole(
    [50, 1, 100_000],
    'Maximum number of open WebSocket connections of a user, across all API processes.',
  ),
};

const providerDownActions = ['wait', 'fail'] as const;

/** Timeouts of model requests, and retries while the provider cannot be used. */
export const modelRequestSettings = {
  MODEL_RETRY_FOR_MS: ms(
    [600_000, 0],
    'How long failed model requests are retried at intervals of about a minute at most. After that, the intervals grow to ten minutes, until `MODEL_WAIT_FOR_MS`.',
  ),
  MODEL_BACKOFF_MS: ms([1_000, 1], 'Wait before the first retry of a model request; it doubles up to a minute.'),
  MODEL_RETRY_HOLD_MS: ms(
    [5_000, 0],
    'Longest wait before a retry of a model request during which the job keeps its worker slot. For a longer wait, the job becomes `waiting` and releases the slot.',
  ),
  ON_PROVIDER_DOWN: z
    .enum(providerDownActions)
    .default('wait')
    .meta(choice(providerDownActions, 'wait', 'What a job does while its model provider is down: it waits, or fails.')),
  MODEL_WAIT_FOR_MS: ms([86_400_000, 1_000], 'How long a job waits for its model provider before it fails.'),
  MODEL_BREAKER_FAILURES: whole(
    [5, 0, 1_000],
    'Consecutive failures after which a process pauses requests to a provider; 0: never.',
  ),
  MODEL_BREAKER_PAUSE_MS: ms(
    [5_000, 1],
    'First pause of a provider after failures; it doubles up to a minute while the provider stays down.',
  ),
  MODEL_FIRST_BYTE_TIMEOUT_MS: ms([60_000], 'Longest wait for the first byte of a model response.'),
  MODEL_IDLE_TIMEOUT_MS: ms(
    [30_000],
    'Longest pause between two lines of a streamed model response, or two reads of another response.',
  ),
};

const types =
  'image/png,image/jpeg,image/gif,image/webp,application/pdf,text/plain,text/markdown,text/csv,application/json';

/** Settings of files and attachments. */
export const fileSettings = {
  MAX_FILE_BYTES: whole([10_485_760, 1_024, 52_428_800], 'Maximum size of a file.'),
  FILE_TYPES: z
    .string()
    .default(types)
    .transform((list) => list.split(',').map((type) => type.trim().toLowerCase()))
    .pipe(z.array(z.string().regex(/^[a-z]+\/[a-z0-9.+-]+$/)).min(1))
    .meta({
      allowed: 'a comma-separated list of media types',
      fallback: types,
      description: 'Allowed media types of files.',
    }),
  FILE_BYTES_PER_WORKSPACE: whole(
    [1_073_741_824, 1_024, 1e15],
    'Maximum total size of the files of a workspace. A file counts at least 4,096 bytes.',
  ),
  UPLOADS_PER_MINUTE: whole(
    [600, 1, 1_000_000],
    'Maximum file uploads of a user in a minute, with all keys and in all workspaces.',
  ),
  FILE_RETENTION_MS: ms(
    [30 * 86_400_000, 60_000, 4_000 * 86_400_000],
    'How long the server keeps a file that nothing refers to, counted from its last upload or use.',
  ),
  FILE_BYTES_PER_MODEL_REQUEST: whole(
    [20_971_520, 1_024, 104_857_600],
    'Maximum total size of files in one model request. If a conversation has more, the newest files are sent.',
  ),
  TEXT_ONLY_MODELS: list(
    'names or globs of models',
    () => true,
    'Models that accept neither images nor PDFs. A start with such an attachment is rejected.',
  ),
  S3_BUCKET_URL: httpUrl(
    'URL of the bucket that stores the content of files instead of Postgres, such as https://s3.eu-central-1.amazonaws.com/my-bucket.',
  ),
  S3_REGION: textOr('us-east-1', 'Region of the bucket.'),
  S3_ACCESS_KEY_ID: text('Access key for the bucket.'),
  S3_SECRET_ACCESS_KEY: text('Secret of the access key.'),
};

/** Settings of notification channels. */
export const notificationSettings = {
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .meta({
      allowed: 'a URL that starts with smtp:// or smtps://',
      description:
        'Mail server for notifications: smtps://user:password@host:465, or smtp:// (STARTTLS is required unless the host is this machine).',
    }),
  MAIL_FROM: text('Sender of e-mails, such as Nightshift <nightshift@example.com>. Required with SMTP_URL.'),
  MAILS_PER_HOUR: whole(
    [20, 1, 10_000],
    'Maximum number of notification e-mails to a user, or to a workspace, per hour.',
  ),
  PUBLIC_URL: httpUrl('Public URL of this server. Unsubscribe links in e-mails begin with it.'),
  NOTIFICATION_URL: httpUrl(
    'Page of your application that notifications link to. {jobId}, {rootJobId}, {threadId}, {requestId} and {workspaceId} are replaced.',
  ),
};

/** Settings of triggers. */
export const triggerSettings = {
  TRIGGERS_PATH: text('A file of triggers, or a folder of such files, loaded when the server starts and at SIGHUP.'),
  TRIGGERS_WORKSPACE: text(
    'Id or name of the workspace for file triggers whose database is not the id or name of a workspace and not the id of a Syntrix connection. docs/triggers.md has the order of lookup.',
  ),
  TRIGGERS_SIGNATURE_TOLERANCE_SECONDS: whole(
    [300, 1, 86_400],
    'How far the time of a signed request to a trigger or Syntrix connection may differ from the clock of the server.',
  ),
};
