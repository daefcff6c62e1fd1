import {
  AppError,
  armCrashPoint,
  Config,
  ConfigError,
  createEphemeralDataDir,
  createLogger,
  type Logger,
  Redactor,
  Secret,
} from '#platform';
import { strayErrors } from '#tools';

import type { RoleStarters } from './running-role.js';
import { runSample } from './sample/run-sample.js';
import { noteSample, sampleHasRun } from './sample/sample-note.js';
import type { SampleTimings } from './sample/sample-timings.js';
import { parseServeOptions, type ServeOptions, UsageError } from './serve-command.js';
import { start, type Started } from './start.js';
import { StopRequest } from './stop-request.js';
import { printSummary } from './summary.js';
import type { Terminal } from './terminal/terminal.js';

/** 128 + the number of the signal, by convention (POSIX shells). */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
/** How long (ms) a stop after a second signal may take. After that the process exits and its leases expire. */
const HURRIED_EXIT_MS = 1_500;
/** Any interval works: the timer only keeps the process alive. */
const KEEP_ALIVE_MS = 60_000;

/** Prints notices about signals for people. */
type OnSignal = (answer: 'stop' | 'hurry') => void;

/** Where `watchProcess` reports, and what SIGHUP means. */
interface Watch {
  readonly logger: Logger;
  readonly onSignal: OnSignal;
  /** Otherwise SIGHUP is left to other listeners, and does not end the process. */
  readonly stopsAtHangUp: boolean;
}

/**
 * Converts signals and unexpected errors, except those of plugins, to stop requests, and keeps the process alive. The returned function
 * restores Node's own behavior.
 */
function watchProcess(stop: StopRequest, { logger, onSignal: printNotice, stopsAtHangUp }: Watch): () => void {
  const onSignal = (signal: keyof typeof EXIT_CODES) => {
    const answer = stop.onSignal(signal);
    if (answer === 'exit') process.exit(EXIT_CODES[signal]);
    if (answer === 'hurry') setTimeout(() => process.exit(EXIT_CODES[signal]), HURRIED_EXIT_MS).unref();
    if (answer !== 'echo') printNotice(answer);
  };
  const onError = (error: unknown) => {
    const plugin = strayErrors.take(error);
    if (plugin !== null) {
      logger.error({ err: error, plugin }, 'code of a plugin threw outside of its calls');
      return;
    }
    const failure = error instanceof Error ? error : new Error(String(error));
    logger.fatal({ err: failure }, 'an unexpected error stops this process');
    stop.fail(failure);
  };
  // While Postgres is down, nothing else keeps a worker without an HTTP server alive.
  const keepAlive = setInterval(() => undefined, KEEP_ALIVE_MS);
  const onHangUp = stopsAtHangUp ? onSignal : () => undefined;
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onHangUp);
  process.on('uncaughtException', onError).on('unhandledRejection', onError);
  return () => {
    clearInterval(keepAlive);
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('SIGHUP', onHangUp);
    process.off('uncaughtException', onError).off('unhandledRejection', onError);
  };
}

/** The input from the entry point. */
export interface LaunchInput {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly roles: RoleStarters;
  readonly out: Terminal;
  readonly errors: Terminal;
  /** Whether log lines appear on a terminal. */
  readonly logsGoToTerminal: boolean;
  /** Whether SIGHUP stops the process, as in a terminal, which sends it when it closes. */
  readonly stopsAtHangUp: boolean;
}

const sampleWaits =
  'The sample job waits for a person, so --once ends without its result. It stays open: start Nightshift without --once, and decide the request.';

/** Time beyond the job's own time limit, which should end the job first. */
const SAMPLE_SLACK_MS = 30_000;

interface Plan {
  readonly options: ServeOptions;
  readonly config: Config;
}

/**
 * Runs Nightshift with the given command line and environment until it stops. Resolves with the exit code: 0 stopped as requested (with
 * --once: the sample job completed), 1 a failure, 2 invalid flags or settings, or a plugin that cannot be loaded.
 */
export async function launch(input: LaunchInput): Promise<number> {
  let plan: Plan;
  try {
    const options = parseServeOptions(input.words, (text) => {
      input.out.write(text);
    });
    if (options === null) return 0;
    plan = { options, config: configOf(options, input) };
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof ConfigError)) throw error;
    input.errors.line(input.errors.style('red', error.message));
    input.errors.line('nightshift serve --help lists the flags, docs/configuration.md the settings.');
    return 2;
  }
  return serve(plan, input);
}

function configOf(options: ServeOptions, { environment, logsGoToTerminal, roles }: LaunchInput): Config {
  const ownRole = roles.all === undefined ? { ROLE: Object.keys(roles)[0] } : {};
  const flags = { ROLE: options.role, PORT: options.port, DATA_DIR: options.dataDir };
  const given = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
  const quiet = logsGoToTerminal && environment['LOG_LEVEL'] === undefined ? { LOG_LEVEL: 'warn' } : {};
  try {
    const config = Config.from({ ...ownRole, ...environment, ...quiet, ...given });
    if (roles[config.values.ROLE] === undefined) {
      const known = Object.keys(roles).join(', ');
      throw new UsageError(`This entry point starts role ${known}. dist/apps/main.js starts ${config.values.ROLE}.`);
    }
    armCrashPoint(config);
    if (options.once === true && config.values.ROLE !== 'all')
      throw new UsageError('--once runs the sample job, in role all.');
    if (options.ephemeral === true && (config.values.ROLE !== 'all' || config.values.DATABASE_URL !== undefined))
      throw new UsageError('--ephemeral uses an embedded Postgres, in role all: unset DATABASE_URL.');
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const named = (problem: string) =>
      Object.keys(given).reduce((text, name) => text.replace(`${name} must`, `${flagOf(name)} must`), problem);
    throw new ConfigError(error.problems.map(named));
  }
}

function flagOf(name: string): string {
  return `--${name.toLowerCase().replace('_', '-')}`;
}

async function serve(plan: Plan, input: LaunchInput): Promise<number> {
  const redactor = new Redactor(secretsOf(plan.config));
  const logger = createLogger({
    level: plan.config.values.LOG_LEVEL,
    redact: (text) => redactor.everything.redact(text),
  });
  const once = plan.options.once === true;
  const stop = new StopRequest();
  const onSignal: OnSignal = (answer) => {
    const text = 'Stopping after the running rounds are committed. Press Ctrl-C again to stop at once.';
    input.out.line(input.out.style('dim', answer === 'stop' ? `\n${text}` : 'Stopping at once.'));
  };
  const unwatch = watchProcess(stop, { logger, onSignal, stopsAtHangUp: input.stopsAtHangUp });
  let timings: SampleTimings | null = null;
  try {
    await using cleanUp = new AsyncDisposableStack();
    const startedAt = performance.now();
    const config = plan.options.ephemeral === true ? await withEphemeralDataDir(plan.config, cleanUp) : plan.config;
    input.out.line(input.out.style('dim', `Nightshift starts, role ${config.values.ROLE} ...`));
    const started = await start({ config, logger, redactor, roles: input.roles, stop }, cleanUp);
    announce(started, { logger, out: input.out, startedInMs: performance.now() - startedAt });
    if (plan.options.sample) timings = await trySample(started, stop, { out: input.out, always: once });
    if (!once) await stop.requested();
  } catch (error) {
    if (!isStop(error, stop)) return reportFailure(error, logger, input.errors);
    return stop.failure === undefined && !once ? 0 : 1;
  } finally {
    unwatch();
  }
  if (once && timings?.status === 'waiting') input.errors.line(input.errors.style('red', sampleWaits));
  input.out.line(once ? JSON.stringify({ sample: timings }) : input.out.style('dim', 'Stopped.'));
  if (stop.failure !== undefined) {
    input.errors.line(
      input.errors.style('red', `Stopped by an unexpected error: ${redactor.everything.redact(stop.failure.message)}`),
    );
    return 1;
  }
  return once && timings?.status !== 'completed' ? 1 : 0;
}

/** `cleanUp` deletes the directory last, because it was created first. */
async function withEphemeralDataDir(config: Config, cleanUp: AsyncDisposableStack): Promise<Config> {
  const { path, remove } = await createEphemeralDataDir();
  cleanUp.defer(remove);
  return config.with({ DATA_DIR: path });
}

function announce(
  started: Started,
  { logger, out, startedInMs }: { logger: Logger; out: Terminal; startedInMs: number },
): void {
  const { url, healthUrl } = started.running;
  printSummary(out, { ...started, startedInMs, checkout: process.cwd() });
  logger.info({ role: started.config.values.ROLE, url, healthUrl, pid: process.pid }, 'ready');
}

/** Runs the sample job at the first start on a data directory, or `always`. A failed sample prints its reason and does not stop the server. */
async function trySample(
  started: Started,
  stop: StopRequest,
  { out, always }: { readonly out: Terminal; readonly always: boolean },
): Promise<SampleTimings | null> {
  const { url } = started.running;
  if (url === null || started.demoKey === null || started.demoKey.state === 'revoked') return null;
  try {
    const timeoutMs = started.config.values.JOB_TIMEOUT_MS + SAMPLE_SLACK_MS;
    const { text: apiKey, file: keyFile } = started.demoKey;
    const startsNew = always || !(await sampleHasRun(started.dataDir));
    const timings = await runSample({ url, apiKey, keyFile, signal: stop.signal, timeoutMs, out, startsNew });
    if (timings !== null) await noteSample(started.dataDir);
    return timings;
  } catch (error) {
    if (stop.signal.aborted) return null;
    const text = error instanceof Error ? error.message : String(error);
    out.line(out.style('red', `The sample job could not be run: ${text}`));
    return null;
  }
}

function secretsOf(config: Config): Secret[] {
  const { NIGHTSHIFT_SECRET, NIGHTSHIFT_TOOLS_KEY, OPENROUTER_API_KEY, OPENAI_API_KEY, MODEL_API_KEY, JWT_SECRET } =
    config.values;
  const { TAVILY_API_KEY, BRAVE_API_KEY } = config.values;
  const models = [OPENROUTER_API_KEY, OPENAI_API_KEY, MODEL_API_KEY];
  const known = [NIGHTSHIFT_SECRET, NIGHTSHIFT_TOOLS_KEY, JWT_SECRET, ...models, TAVILY_API_KEY, BRAVE_API_KEY];
  return known.filter((text) => text !== undefined).map((text) => new Secret(text));
}

function isStop(error: unknown, stop: StopRequest): boolean {
  return stop.signal.aborted && error === stop.signal.reason;
}

/** Returns the exit code. */
function reportFailure(thrown: unknown, logger: Logger, errors: Terminal): number {
  // If undoing a failed start fails too, the error of the start is reported.
  const error: unknown = thrown instanceof SuppressedError ? thrown.suppressed : thrown;
  const isExpected = error instanceof AppError || error instanceof ConfigError;
  if (!isExpected) logger.error({ err: error }, 'the start failed');
  const text = error instanceof Error ? error.message : String(error);
  errors.line(errors.style('red', isExpected ? text : `Nightshift could not start: ${text}`));
  return error instanceof AppError && error.code === 'plugin_refused' ? 2 : 1;
}
