import { LRUCache } from 'lru-cache';

import { KnownSecrets } from './known-secrets.js';
import type { Secret } from './secret.js';
import { TextRedactor } from './text-redactor.js';

/** Maximum number of secrets that are registered for workspaces, because each is searched for in every log line. */
const MAX_KEPT = 1_000;

/**
 * Redacts secrets in texts: values that this server knows as secrets, and text that looks like a credential. Used for texts from outside
 * (provider errors, tool output) and for texts that leave (logs, error responses). The secret of one workspace may be an ordinary word of
 * another, so it is redacted only in texts of its own workspace (`of(workspaceId)`) and in logs, which contain texts of all workspaces.
 * Secrets of the server are redacted in all texts.
 */
export class Redactor {
  private readonly own = new KnownSecrets();
  private readonly workspaces = new Map<string, KnownSecrets>();
  /** The removals of registered secrets, by workspace and text. Created for the first of them, because most redactors live for one text. */
  private kept: LRUCache<string, () => void> | undefined;
  private readonly server = new TextRedactor(() => [this.own]);
  /** For texts that only the operator reads. */
  readonly everything = new TextRedactor(() => [this.own, ...this.workspaces.values()]);

  constructor(known: readonly Secret[] = []) {
    for (const secret of known) this.add(secret);
  }

  /**
   * Registers a secret of this server, or of one workspace, and returns a function that removes it. Registrations are counted, because two
   * jobs may have the same key. Values under 8 characters are ignored.
   */
  add(secret: Secret, workspaceId?: string): () => void {
    if (workspaceId === undefined) return this.own.add(secret);
    const secrets = this.workspaces.get(workspaceId) ?? new KnownSecrets();
    this.workspaces.set(workspaceId, secrets);
    const release = secrets.add(secret);
    const done = (): void => {
      release();
      if (secrets.isEmpty && this.workspaces.get(workspaceId) === secrets) this.workspaces.delete(workspaceId);
    };
    if (secrets.isEmpty) done();
    return done;
  }

  /** Registers a secret of a workspace as long as it is among the 1,000 most recently used ones. */
  keep(secret: Secret, workspaceId: string): void {
    const key = `${workspaceId} ${secret.reveal()}`;
    this.kept ??= new LRUCache({
      max: MAX_KEPT,
      dispose: (release) => {
        release();
      },
    });
    if (this.kept.get(key) === undefined) this.kept.set(key, this.add(secret, workspaceId));
  }

  /** Returns the redactor for texts of one workspace. */
  of(workspaceId: string): TextRedactor {
    return new TextRedactor(() => [this.own, this.workspaces.get(workspaceId) ?? NONE]);
  }

  /** Returns the redactor for texts of one job, which also redacts a secret of the job. */
  ofJob(workspaceId: string, secret: Secret | null): TextRedactor {
    if (secret === null || this.own.has(secret)) return this.of(workspaceId);
    const brought = new KnownSecrets();
    brought.add(secret);
    return new TextRedactor(() => [this.own, this.workspaces.get(workspaceId) ?? NONE, brought]);
  }

  /** Replaces the server's own secrets, and text that looks like a credential, by `[redacted]`. */
  redact(text: string): string {
    return this.server.redact(text);
  }
}

const NONE = new KnownSecrets();
