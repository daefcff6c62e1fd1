import { createHash } from 'node:crypto';

import { type Clock, type Timer, unlessAborted } from '#platform';
import { canonicalJson, ToolDidNothing } from '#tools';

import { McpFailure } from './mcp-failure.js';
import type { McpReachable } from './mcp-listings.repository.js';
import type { McpSession } from './mcp-session.js';
import type { McpEndpoint } from './mcp-transport.js';

/** The workspace and server of a session. Only equal targets share a session. */
export interface McpTarget {
  readonly server: McpReachable;
  /** The address, with secrets filled in. */
  readonly endpoint: McpEndpoint;
}

export interface McpSessionsOptions {
  readonly clock: Clock;
  /** How long an unused session stays open, ms. */
  readonly idleMs?: number;
  /** Maximum number of open sessions of all workspaces. */
  readonly max?: number;
}

interface Entry {
  readonly key: string;
  readonly fingerprint: string;
  readonly session: Promise<McpSession>;
  /** The session, after it has opened. */
  opened: McpSession | undefined;
  users: number;
  idle: Timer | undefined;
}

const IDLE_MS = 60_000;
const MAX_SESSIONS = 200;

/**
 * The open sessions of this process, at most one per server of a workspace. Calls share it. It closes after a minute without calls, if the
 * address, the headers or the allowed hosts change, and after a failure after which its state is unknown. If there are too many, the least
 * recently used one closes first.
 */
export class McpSessions {
  /** By workspace and server, in the order of their last use. */
  private readonly open = new Map<string, Entry>();
  /** Sessions that accept no new calls and close after their last call. */
  private readonly leaving = new Set<Entry>();
  private isClosed = false;

  constructor(
    private readonly connect: (target: McpTarget) => Promise<McpSession>,
    private readonly options: McpSessionsOptions,
  ) {}

  /**
   * Runs `run` with a session. If the server has lost the session (and therefore did nothing), `run` is repeated once with a new session. An
   * abort ends the wait for a session (`ToolDidNothing`). Throws `McpFailure`, and the errors of `run`.
   */
  async use<T>(target: McpTarget, signal: AbortSignal, run: (session: McpSession) => Promise<T>): Promise<T> {
    try {
      return await this.useOnce(target, signal, run);
    } catch (error) {
      if (!(error instanceof McpFailure) || error.kind !== 'session_lost' || signal.aborted) throw error;
      return this.useOnce(target, signal, run);
    }
  }

  /** The number of sessions that are open or opening. */
  get size(): number {
    return this.open.size + this.leaving.size;
  }

  /** Closes the session with a server after its last call. New calls open another. */
  forget(server: Pick<McpReachable, 'workspaceId' | 'serverId'>): void {
    const entry = this.open.get(keyOf(server));
    if (entry !== undefined) this.retire(entry);
  }

  /** Closes all sessions, even those in use. No session opens afterwards. */
  async close(): Promise<void> {
    this.isClosed = true;
    const entries = [...this.open.values(), ...this.leaving];
    this.open.clear();
    this.leaving.clear();
    await Promise.all(
      entries.map(async ({ session, idle }) => {
        idle?.cancel();
        await end(session);
      }),
    );
  }

  private async useOnce<T>(
    target: McpTarget,
    signal: AbortSignal,
    run: (session: McpSession) => Promise<T>,
  ): Promise<T> {
    assertNotStopped(signal);
    const entry = this.take(target);
    try {
      return await run(await openedUnlessStopped(entry.session, signal));
    } catch (error) {
      // The session remains usable after an error that the tool itself reports, and after an abort by this process.
      if (error instanceof McpFailure && error.kind !== 'refused' && !signal.aborted) this.retire(entry);
      throw error;
    } finally {
      this.giveBack(entry);
    }
  }

  private take(target: McpTarget): Entry {
    const key = keyOf(target.server);
    const fingerprint = fingerprintOf(target);
    const known = this.open.get(key);
    // The server may have closed an idle connection.
    const isUsable = known?.fingerprint === fingerprint && known.opened?.isClosed !== true;
    if (!isUsable) this.forget(target.server);
    const entry = this.open.get(key) ?? this.enter(key, fingerprint, target);
    this.open.delete(key);
    this.open.set(key, entry);
    entry.idle?.cancel();
    entry.users++;
    return entry;
  }

  private enter(key: string, fingerprint: string, target: McpTarget): Entry {
    if (this.isClosed) throw new McpFailure('unusable', 'This process is about to stop.');
    this.makeRoom();
    const session = this.connect(target);
    const entry: Entry = { key, fingerprint, session, opened: undefined, users: 0, idle: undefined };
    session.then(
      (opened) => (entry.opened = opened),
      () => {
        this.retire(entry);
      },
    );
    return entry;
  }

  private makeRoom(): void {
    if (this.size < (this.options.max ?? MAX_SESSIONS)) return;
    const unused = [...this.open.values()].find(({ users }) => users === 0);
    if (unused === undefined) throw new McpFailure('unusable', 'Too many MCP servers are in use. Try again later.');
    this.retire(unused);
  }

  private giveBack(entry: Entry): void {
    entry.users--;
    if (entry.users > 0) return;
    if (this.open.get(entry.key) !== entry) {
      if (this.leaving.delete(entry)) void end(entry.session);
      return;
    }
    entry.idle = this.options.clock.after(this.options.idleMs ?? IDLE_MS, () => {
      this.retire(entry);
    });
  }

  private retire(entry: Entry): void {
    if (this.open.get(entry.key) !== entry) return;
    this.open.delete(entry.key);
    entry.idle?.cancel();
    if (entry.users > 0) this.leaving.add(entry);
    else void end(entry.session);
  }
}

function keyOf({ workspaceId, serverId }: Pick<McpReachable, 'workspaceId' | 'serverId'>): string {
  return `${workspaceId}/${serverId}`;
}

/** A digest, because the input contains secrets. It covers all settings, because listings are stored for exactly these settings. */
function fingerprintOf({ endpoint, server }: McpTarget): string {
  return createHash('sha256')
    .update(canonicalJson([endpoint, server.settings, server.hosts]))
    .digest('hex');
}

async function end(session: Promise<McpSession>): Promise<void> {
  await session.then((opened) => opened.close()).catch(() => undefined); // a session that failed to open need not be closed
}

function assertNotStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new ToolDidNothing();
}

/** A call whose session is not open when the signal aborts has done nothing. */
async function openedUnlessStopped(session: Promise<McpSession>, signal: AbortSignal): Promise<McpSession> {
  try {
    return await unlessAborted(signal, () => session);
  } catch (error) {
    assertNotStopped(signal);
    throw error;
  }
}
