import type { AppError, Scope } from '#platform';
import type { CloseReason } from '#platform/api';

import { scopeOf } from '../ability.factory.js';
import type { Identity } from '../identity.js';
import type { MemberPrincipal } from '../principal.js';

/** What a context is made of. */
export interface ContextInit {
  /** The HTTP request of the operation; null over WebSocket. */
  readonly req?: object | null;
  readonly requestId: string;
  readonly identity: Identity;
  /** Who asks, in which workspace; or why the credentials enter none. */
  readonly entrance: MemberPrincipal | AppError;
  /** Ends the connection that carries the operation. */
  readonly close: (reason: CloseReason) => void;
}

/** One for all: the reason an abort makes for itself costs more than the rest of it. */
const ended = new DOMException('The operation has ended', 'AbortError');

/** Everything resolvers know about one operation. Made fresh for each, never shared between two. */
export class GraphqlContext {
  /** As Nest names it; `@nestjs/apollo` would copy a context without it once more. */
  readonly req: object | null;
  readonly requestId: string;
  readonly identity: Identity;
  readonly close: (reason: CloseReason) => void;
  /** Set by a subscription: asked before each batch; why the viewer may see no more, or null. */
  lostAccess: () => Promise<CloseReason | null> | null = () => null;
  /** Shared with the copy that Apollo Server makes of a context: the end of the request reaches both. */
  private readonly lifetime: { isOver: boolean; controller?: AbortController } = { isOver: false };
  private knownScope: Scope | undefined;
  private readonly remembered = new Map<object, unknown>();

  constructor(private readonly init: ContextInit) {
    this.req = init.req ?? null;
    this.requestId = init.requestId;
    this.identity = init.identity;
    this.close = init.close;
  }

  /** Aborts when the operation has ended: its result is sent, or its client has disconnected. */
  get signal(): AbortSignal {
    // Most operations never ask for a signal.
    const controller = (this.lifetime.controller ??= new AbortController());
    if (this.lifetime.isOver) controller.abort(ended);
    return controller.signal;
  }

  /** Frees what the operation holds; may be called again. */
  end(): void {
    this.lifetime.isOver = true;
    this.lifetime.controller?.abort(ended);
  }

  /** Runs `free` once when the operation ends, at once if it has. */
  onEnd(free: () => void): void {
    if (this.signal.aborted) free();
    else this.signal.addEventListener('abort', free, { once: true });
  }

  /** Clears the caches of the data loaders: a long-lived operation then reads current rows. */
  forget(): void {
    this.remembered.clear();
  }

  /** Who asks. Throws why the credentials enter no workspace. */
  get member(): MemberPrincipal {
    const { entrance } = this.init;
    if ('kind' in entrance) return entrance;
    throw entrance;
  }

  /** What may be read. Throws as `member` does. */
  get scope(): Scope {
    this.knownScope ??= scopeOf(this.member);
    return this.knownScope;
  }

  /** The value that `make` returned for this key, until `forget`. */
  remember<T>(key: object, make: () => T): T {
    const known = this.remembered.get(key) as T | undefined; // what the same key made before
    if (known !== undefined) return known;
    const made = make();
    this.remembered.set(key, made);
    return made;
  }
}
