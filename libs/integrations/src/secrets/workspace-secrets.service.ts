import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import {
  AppError,
  newId,
  PrismaService,
  type PrismaTransaction,
  Redactor,
  type Secret,
  ToolSecretBox,
} from '#platform';
import { lockWorkspace, recordChange } from '#tools';

import { problemOfValue, SECRET_NAME, secretPlace, type WorkspaceSecret } from './workspace-secret.js';
import { WorkspaceSecretsRepository } from './workspace-secrets.repository.js';

const MAX_SECRETS = 100;
/** Maximum characters of the secrets of one call together: each of their forms becomes a pattern, which takes 0.2 s for this many. */
const MAX_USED = 32_768;

/** Decrypted secrets for the duration of one task. */
export interface OpenSecrets {
  readonly values: ReadonlyMap<string, Secret>;
  /** Redacts these secrets in a text, in every form in which a server is likely to echo them, and all text that looks like a credential. */
  readonly redact: (text: string) => string;
  /** Redacts a truncated text, including a secret cut at its end. */
  readonly redactCut: (text: string) => string;
}

/**
 * The secrets of a workspace for its tools, by name. Principals that may manage `WorkspaceSecret` set and remove them; changes are audited.
 * Values are stored encrypted and never returned: only a running tool decrypts them.
 */
@Injectable()
export class WorkspaceSecrets {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: WorkspaceSecretsRepository,
    private readonly secretBox: ToolSecretBox,
    private readonly redactor: Redactor,
  ) {}

  /** Returns names and times, by name; at most 100. Throws `not_found` to principals that may not manage secrets. */
  async list(principal: MemberPrincipal): Promise<readonly WorkspaceSecret[]> {
    assertMayManage(principal);
    return this.prisma.withWorkspace(principal, (tx) => this.secrets.list(tx, scopeOf(principal)));
  }

  /** Stores a value under a name and replaces an existing one. Throws `bad_request`, `conflict` (100 already), `not_found`. */
  async set(principal: MemberPrincipal, name: string, value: Secret): Promise<WorkspaceSecret> {
    assertMayManage(principal);
    if (!SECRET_NAME.test(name)) throw secretInvalid('name', 'a letter, then letters, digits and "_", 64 at most');
    const problem = problemOfValue(value);
    if (problem !== null) throw secretInvalid('value', problem);
    return this.change(principal, 'secret-set', (tx) => this.write(tx, principal, { name, value }));
  }

  /** Removes a secret. Tools that name it then fail. Throws `not_found`. */
  async remove(principal: MemberPrincipal, name: string): Promise<WorkspaceSecret> {
    assertMayManage(principal);
    return this.change(principal, 'secret-removed', async (tx) => {
      const scope = scopeOf(principal);
      const known = (await this.secrets.list(tx, scope)).find((secret) => secret.name === name);
      if (known === undefined) throw secretNotFound();
      await this.secrets.delete(tx, scope, known.id);
      return known;
    });
  }

  /**
   * Decrypts secrets for `run`, and only `run` may reveal them. Meanwhile, they are also redacted in logs and in all other texts of the
   * workspace. Throws `secret_missing` naming a secret that is not set, and `secret_unreadable`, also for more than 32,768 characters together.
   */
  async use<T>(workspaceId: string, names: readonly string[], run: (open: OpenSecrets) => Promise<T>): Promise<T> {
    const values = await this.resolve(workspaceId, names);
    const missing = names.find((name) => !values.has(name));
    if (missing !== undefined) throw secretMissing(missing);
    const secrets = [...values.values()];
    if (secrets.reduce((sum, secret) => sum + secret.reveal().length, 0) > MAX_USED) throw secretsTooLong();
    const release = secrets.map((secret) => this.redactor.add(secret, workspaceId));
    const own = new Redactor(secrets).everything;
    try {
      return await run({
        values,
        redact: (text) => own.redact(text),
        redactCut: (text) => own.redactCut(text),
      });
    } finally {
      for (const done of release) done();
    }
  }

  /** Returns the secrets with these names that are set. For running tools; prefer `use`, which also redacts. */
  async resolve(workspaceId: string, names: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    if (names.length === 0) return new Map();
    const sealed = await this.secrets.sealed(workspaceId, names);
    return new Map(
      sealed.map(({ id, name, cipher }) => [name, this.secretBox.open(cipher, secretPlace(workspaceId, id))]),
    );
  }

  private async write(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    { name, value }: { readonly name: string; readonly value: Secret },
  ): Promise<WorkspaceSecret> {
    const { workspaceId } = principal;
    const scope = scopeOf(principal);
    const all = await this.secrets.list(tx, scope);
    const known = all.find((secret) => secret.name === name);
    if (known === undefined && all.length >= MAX_SECRETS) throw tooManySecrets(MAX_SECRETS);
    const id = known?.id ?? newId();
    const cipher = this.secretBox.seal(value, secretPlace(workspaceId, id));
    const replaced = known === undefined ? null : await this.secrets.replace(tx, scope, { id, cipher });
    return replaced ?? this.secrets.insert(tx, { workspaceId, id, name, cipher, createdBy: principal.id });
  }

  private change(
    principal: MemberPrincipal,
    action: string,
    run: (tx: PrismaTransaction) => Promise<WorkspaceSecret>,
  ): Promise<WorkspaceSecret> {
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const secret = await run(tx);
      const subject = { subjectType: 'WorkspaceSecret', subjectId: secret.id } as const;
      await recordChange(tx, principal, { action, ...subject, details: { name: secret.name } });
      return secret;
    });
  }
}

function assertMayManage(principal: MemberPrincipal): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'manage', subject: 'WorkspaceSecret', row: { workspaceId } });
}

/** An invalid name or value. */
function secretInvalid(field: 'name' | 'value', problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** Hides from a caller without access whether the secret exists. */
function secretNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Secret not found or unauthorized' });
}

/** The limit exists so that lists need no pages. */
function tooManySecrets(limit: number): AppError {
  return new AppError({
    code: 'conflict',
    message: `A workspace can have at most ${limit} secrets. Remove one first.`,
  });
}

/** The secrets of a call are too long together. The model reads the message. */
function secretsTooLong(): AppError {
  const message = `the secrets of this tool have more than ${MAX_USED} characters together. Use shorter ones`;
  return new AppError({ code: 'secret_unreadable', message });
}

/** A tool names a secret that the workspace does not have. The model reads the message. */
function secretMissing(name: string): AppError {
  return new AppError({ code: 'secret_missing', message: `the secret "${name}" is not set in this workspace` });
}
