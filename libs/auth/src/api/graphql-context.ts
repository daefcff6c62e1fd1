import type { AppError, Scope } from '#platform';
import type { CloseReason } from '#platform/api';

import { scopeOf } from '../ability.factory.js';
import type { Identity } from '../identity.js';
import type { MemberPrincipal } from '../principal.js';

/** The fields of a new context. */
export interface ContextInit {
  /** The HTTP request of the operation; null over WebSocket. */
  readonly req?: object | null;
  readonly requestId: string;
  readonly identity: Identity;
  /** The caller as a member of the current workspace, or the error that explains why there is none. */
  readonly entrance: MemberPrincipal | AppError;
  /** Ends the connection that carries the operation. */
  readonly close: (reason: CloseReason) => void;
}

/** Shared by all operations, because creating an abort reason costs more than everything else in an abort. */
const ended = new DOMException('The operation has ended', 'AbortError');

/** The caller and the state of one operation, for its resolvers. Created for each operation and never shared between two. */
export class GraphqlContext {
  /** The name that Nest uses. `@nestjs/apollo` would copy a context without it. */
  readonly req: object | null;
  readonly requestId: string;
  readonly identity: Identity;
  readonly close: (reason: CloseReason) => void;
  /** A subscription sets this. Called before each batch; returns the reason why the viewer has lost access, or null. */
  lostAccess: () => Promise<CloseReason | null> | null = () => null;
  /** Shared with the copy that Apollo Server makes of a context, so that both learn of the end of the request. */
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
    // Created on demand, because most operations use no signal.
    const controller = (this.lifetime.controller ??= new AbortController());
    if (this.lifetime.isOver) controller.abort(ended);
    return controller.signal;
  }

  /** Aborts the signal, which frees the resources of the operation. May be called again. */
  end(): void {
    this.lifetime.isOver = true;
    this.lifetime.controller?.abort(ended);
  }

  /** Calls `free` once when the operation ends; at once if it has ended. */
  onEnd(free: () => void): void {
    if (this.signal.aborted) free();
    else this.signal.addEventListener('abort', free, { once: true });
  }

  /** Clears the caches of the data loaders, so that a long-lived operation reads current rows. */
  forget(): void {
    this.remembered.clear();
  }

  /** The caller. Throws the reason if the credentials enter no workspace. */
  get member(): MemberPrincipal {
    const { entrance } = this.init;
    if ('kind' in entrance) return entrance;
    throw entrance;
  }

  /** What the caller may read. Throws like `member`. */
  get scope(): Scope {
    this.knownScope ??= scopeOf(this.member);
    return this.knownScope;
  }

  /** The value that `make` returned for this key; created again after `forget`. */
  remember<T>(key: object, make: () => T): T {
    const known = this.remembered.get(key) as T | undefined; // an earlier call stored it with the same key
    if (known !== undefined) return known;
    const made = make();
    this.remembered.set(key, made);
    return made;
  }
}
