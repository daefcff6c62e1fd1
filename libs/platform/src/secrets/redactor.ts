import { KnownSecrets } from './known-secrets.js';
import type { Secret } from './secret.js';
import { TextRedactor } from './text-redactor.js';

/** How many secrets are kept for workspaces: each is looked for in every line of the log. */
const MOST_KEPT = 1_000;

/**
 * Takes secrets out of text: what this server knows as one, and what looks like a credential. Used where text comes in from
 * outside (provider errors, tool output) and where it leaves (logs, error answers).
 *
 * What one workspace keeps secret may be an ordinary word of another: its secrets are taken out of its own texts only
 * (`of(workspaceId)`), and out of logs, where the texts of all meet. The server's own are taken out of all.
 */
export class Redactor {
  private readonly own = new KnownSecrets();
  private readonly workspaces = new Map<string, KnownSecrets>();
  /** The releases of those that are kept; by workspace and text, in the order of their last use. */
  private readonly kept = new Map<string, () => void>();
  private readonly server = new TextRedactor(() => [this.own]);
  /** For texts that only the operator sees. */
  readonly everything = new TextRedactor(() => [this.own, ...this.workspaces.values()]);

  constructor(known: readonly Secret[] = []) {
    for (const secret of known) this.add(secret);
  }

  /**
   * Registers a secret of this server, or of one workspace, and returns its removal. Counted: two jobs may hold the same key.
   * Under 8 characters: ignored.
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

  /** Registers a secret of a workspace for as long as it is among the 1,000 that were used last. */
  keep(secret: Secret, workspaceId: string): void {
    const key = `${workspaceId} ${secret.reveal()}`;
    const release = this.kept.get(key) ?? this.add(secret, workspaceId);
    this.kept.delete(key);
    this.kept.set(key, release);
    for (const [oldest, forget] of this.kept) {
      if (this.kept.size <= MOST_KEPT) break;
      this.kept.delete(oldest);
      forget();
    }
  }

  /** For the texts of one workspace. */
  of(workspaceId: string): TextRedactor {
    return new TextRedactor(() => [this.own, this.workspaces.get(workspaceId) ?? NONE]);
  }

  /** The same for the texts of one job, which has brought a secret of its own. */
  ofJob(workspaceId: string, secret: Secret | null): TextRedactor {
    if (secret === null || this.own.has(secret)) return this.of(workspaceId);
    const brought = new KnownSecrets();
    brought.add(secret);
    return new TextRedactor(() => [this.own, this.workspaces.get(workspaceId) ?? NONE, brought]);
  }

  /** The text with the server's own secrets, and what looks like a credential, replaced by `[redacted]`. */
  redact(text: string): string {
    return this.server.redact(text);
  }
}

const NONE = new KnownSecrets();
