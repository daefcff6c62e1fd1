import { createHash } from 'node:crypto';

import { type Clock, type Timer, unlessAborted } from '#platform';
import { canonicalJson, ToolDidNothing } from '#tools';

import { McpFailure } from './mcp-failure.js';
import type { McpReachable } from './mcp-listings.repository.js';
import type { McpSession } from './mcp-session.js';
import type { McpEndpoint } from './mcp-transport.js';

/** Whose session with which server. Sessions are shared by equal targets only. */
export interface McpTarget {
  readonly server: McpReachable;
  /** Where it is, secrets filled in. */
  readonly endpoint: McpEndpoint;
}

export interface McpSessionsOptions {
  readonly clock: Clock;
  /** How long an unused session stays open, ms. */
  readonly idleMs?: number;
  /** Most open sessions, of all workspaces. */
  readonly most?: number;
}

interface Entry {
  readonly key: string;
  readonly fingerprint: string;
  readonly session: Promise<McpSession>;
  /** The session, once it is there. */
  opened: McpSession | undefined;
  users: number;
  idle: Timer | undefined;
}

const IDLE_MS = 60_000;
const MOST = 200;

/**
 * The open sessions of this process, at most one for each server of a workspace. Calls share it; it is closed after a minute
 * without any, when its place, its headers or the allow list have changed, and after a failure that leaves it in doubt. When
 * there are too many, the one that was used longest ago goes first.
 */
export class McpSessions {
  /** By workspace and server; in the order of their last use. */
  private readonly open = new Map<string, Entry>();
  /** Sessions that new users do not get, until their last user is done. */
  private readonly leaving = new Set<Entry>();
  private isClosed = false;

  constructor(
    private readonly connect: (target: McpTarget) => Promise<McpSession>,
    private readonly options: McpSessionsOptions,
  ) {}

  /**
   * Runs `run` with a session. If the server has lost the session (then it has done nothing), `run` is
   * repeated once with a new one. An abort ends the waiting for a session (`ToolDidNothing`). Throws `McpFailure`, and what
   * `run` throws.
   */
  async use<T>(target: McpTarget, signal: AbortSignal, run: (session: McpSession) => Promise<T>): Promise<T> {
    try {
      return await this.useOnce(target, signal, run);
    } catch (error) {
      if (!(error instanceof McpFailure) || error.kind !== 'session_lost' || signal.aborted) throw error;
      return this.useOnce(target, signal, run);
    }
  }

  /** How many are open or about to be. */
  get size(): number {
    return this.open.size + this.leaving.size;
  }

  /** Takes the session with a server out of use. */
  forget(server: Pick<McpReachable, 'workspaceId' | 'serverId'>): void {
    const entry = this.open.get(keyOf(server));
    if (entry !== undefined) this.retire(entry);
  }

  /** Closes all, also those in use. None is opened after it. */
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
      // An error that the tool itself reports leaves the session usable, and so does our own cancel.
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
    // A server may end the connection while it is idle.
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
    if (this.size < (this.options.most ?? MOST)) return;
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

/** A digest, because what it is made of holds secrets. Settings count whole: listings are stored for them alone. */
function fingerprintOf({ endpoint, server }: McpTarget): string {
  return createHash('sha256')
    .update(canonicalJson([endpoint, server.settings, server.hosts]))
    .digest('hex');
}

async function end(session: Promise<McpSession>): Promise<void> {
  await session.then((opened) => opened.close()).catch(() => undefined); // what never opened need not be closed
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
