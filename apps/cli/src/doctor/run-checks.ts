import type { Context } from '../context.js';
import { exitCodes } from '../exit-code.js';
import { formatDuration } from '../format/duration.js';
import { oneLine } from '../terminal/plain-text.js';
import { cutToWidth } from '../terminal/text-width.js';
import { toCliError } from '../to-cli-error.js';
import type { Check } from './check.js';
import { checkAccess, checkModel, checkQueue } from './check-workspace.js';

const JOB_TIMEOUT_MS = 60_000;
const MAX_ANSWER_LENGTH = 60;

/** A whole job: the queue, a worker, the model and the stream. It is stopped when that takes more than a minute. */
async function checkJob(context: Context): Promise<Check> {
  const client = await context.client();
  const startedAt = performance.now();
  const job = await client.startChat({ message: 'Answer with the single word: ready' });
  const timeout = AbortSignal.timeout(JOB_TIMEOUT_MS);
  const result = await job.result({ signal: timeout }).catch((error: unknown) => {
    if (!timeout.aborted) throw error;
    return null;
  });
  if (result === null) return stopSlow(context.command(`logs ${job.id}`), await job.cancel());
  const took = formatDuration(performance.now() - startedAt);
  if (result.status === 'COMPLETED') {
    return {
      name: 'job',
      state: 'ok',
      detail: `completed in ${took} with ${result.model}: ${cutToWidth(oneLine(result.content), MAX_ANSWER_LENGTH)}`,
    };
  }
  return {
    name: 'job',
    state: 'failed',
    detail: oneLine(`${result.status.toLowerCase()} after ${took}: ${result.error?.message ?? result.reason ?? ''}`),
    remedy: `The log shows where: ${context.command(`logs ${job.id}`)}. For errors of the model, check the key, the URL and the model name of the provider.`,
  };
}

function stopSlow(logs: string, state: string | null): Check {
  return {
    name: 'job',
    state: 'failed',
    detail: `did not end within ${formatDuration(JOB_TIMEOUT_MS)} and was cancelled (${String(state).toLowerCase()})`,
    remedy: `Check that a worker runs and that the model responds. The log shows the last event of the job: ${logs}`,
  };
}

/** The response of `/readyz`, or that there is none. */
type Readiness =
  | {
      readonly type: 'answered';
      readonly draining: boolean;
      readonly database: boolean | undefined;
      readonly bus: boolean | undefined;
      readonly tookMs: number;
    }
  | { readonly type: 'silent'; readonly why: string };

const READINESS_TIMEOUT_MS = 5_000;

/** Asks without a credential, as a load balancer would. */
async function askReadiness(url: string): Promise<Readiness> {
  const startedAt = performance.now();
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READINESS_TIMEOUT_MS) });
    const body: unknown = await response.json();
    if (typeof body !== 'object' || body === null || !('status' in body)) {
      return { type: 'silent', why: `it responds with status ${response.status}, but not as Nightshift does` };
    }
    const flag = (name: string) => {
      const value = (body as Readonly<Record<string, unknown>>)[name]; // an object, as checked above
      return typeof value === 'boolean' ? value : undefined;
    };
    const tookMs = Math.round(performance.now() - startedAt);
    return {
      type: 'answered',
      draining: flag('draining') ?? false,
      database: flag('database'),
      bus: flag('bus'),
      tookMs,
    };
  } catch (error) {
    return { type: 'silent', why: reasonOf(error) };
  }
}

/** `fetch` reports "fetch failed" and hides the reason in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no response within ${READINESS_TIMEOUT_MS / 1_000} s`;
  if (error instanceof SyntaxError) return 'it responds, but not as Nightshift does';
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message === '' && 'code' in cause ? String(cause.code) : cause.message;
}

const LEAST_NODE = 22;

/** Runs the checks in order; a check is left out when an earlier one shows that it cannot succeed. */
export async function* runChecks(context: Context, { withJob }: { withJob: boolean }): AsyncGenerator<Check> {
  yield checkNode(process.versions.node);
  const place = await context.connection();
  yield {
    name: 'config',
    state: 'ok',
    detail: `server ${place.url} (from ${place.urlFrom}), ${place.token === undefined ? 'no credential' : `credential from ${place.tokenFrom}`}`,
  };
  const readiness = await askReadiness(place.url);
  yield* toServerChecks(readiness, place.url);
  if (readiness.type === 'silent') return;
  const access = await guarded(context, 'access', () => checkAccess(context));
  yield access;
  if (access.state === 'failed') return;
  yield await guarded(context, 'queue', () => checkQueue(context));
  yield await guarded(context, 'model', () => checkModel(context, { isAsked: withJob }));
  if (withJob) yield await guarded(context, 'job', () => checkJob(context));
}

function checkNode(version: string): Check {
  const isEnough = Number(version.split('.')[0]) >= LEAST_NODE;
  return {
    name: 'node',
    state: isEnough ? 'ok' : 'failed',
    detail: `Node ${version}`,
    ...(!isEnough && { remedy: `Use Node ${LEAST_NODE} or newer; \`npx nightshift\` brings its own.` }),
  };
}

function* toServerChecks(readiness: Readiness, url: string): Generator<Check> {
  if (readiness.type === 'silent') {
    yield {
      name: 'server',
      state: 'failed',
      detail: `${url} does not respond: ${readiness.why}`,
      remedy: 'Start it with `npm start`, or name another server with NIGHTSHIFT_URL or --url.',
      exitCode: exitCodes.network,
    };
    return;
  }
  const { draining, database, bus, tookMs } = readiness;
  yield draining
    ? {
        name: 'server',
        state: 'warning',
        detail: 'is stopping',
        remedy: 'Wait until it has started again, or use another API process.',
      }
    : { name: 'server', state: 'ok', detail: `responds in ${tookMs} ms` };
  yield part('database', database, {
    good: 'the server can use it, with the tables of this version',
    bad: 'the server cannot use it',
    remedy:
      'Read the log of the server (LOG_LEVEL=info). Check that Postgres runs, that DATABASE_URL is right, and that all processes have the same version.',
  });
  yield part('bus', bus, {
    good: 'hints between processes arrive',
    bad: 'hints between processes do not arrive: streams and cancellations are seconds late',
    remedy: 'With BUS=postgres, connect directly or through a session-mode pooler: LISTEN needs it.',
  });
}

interface PartWords {
  readonly good: string;
  readonly bad: string;
  readonly remedy: string;
}

function part(name: string, works: boolean | undefined, { good, bad, remedy }: PartWords): Check {
  if (works === undefined) return { name, state: 'unknown', detail: 'not reported by the server' };
  return works ? { name, state: 'ok', detail: good } : { name, state: 'failed', detail: bad, remedy };
}

/** A refused request is a failed check. */
async function guarded(context: Context, name: string, look: () => Promise<Check>): Promise<Check> {
  try {
    return await look();
  } catch (thrown) {
    const error = toCliError(thrown, await context.connection());
    if (error === null) throw thrown;
    return {
      name,
      state: 'failed',
      detail: error.message,
      remedy: error.remedyWith(context.command),
      exitCode: error.exitCode,
    };
  }
}
