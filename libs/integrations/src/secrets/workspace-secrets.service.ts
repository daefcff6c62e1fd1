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

/** Secrets opened for one piece of work. */
export interface OpenSecrets {
  readonly values: ReadonlyMap<string, Secret>;
  /** Redacts these secrets in a text, in every form they are likely to come back in, and everything that looks like one. */
  readonly redact: (text: string) => string;
  /** The same for a text that was cut off at its end: no first part of a secret is left there. */
  readonly redactCut: (text: string) => string;
}

/**
 * The secrets that a workspace keeps for its tools, by name. Set and removed by those who may manage `WorkspaceSecret`,
 * audited, encrypted where they lie, and never readable back: only a tool at work opens them.
 */
@Injectable()
export class WorkspaceSecrets {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: WorkspaceSecretsRepository,
    private readonly secretBox: ToolSecretBox,
    private readonly redactor: Redactor,
  ) {}

  /** Names and times, by name; at most 100. `not_found` for those who may not manage secrets. */
  async list(principal: MemberPrincipal): Promise<readonly WorkspaceSecret[]> {
    assertMayManage(principal);
    return this.prisma.withWorkspace(principal, (tx) => this.secrets.list(tx, scopeOf(principal)));
  }

  /** Keeps a value under a name, in place of the one before. Throws `bad_request`, `conflict` (100 already), `not_found`. */
  async set(principal: MemberPrincipal, name: string, value: Secret): Promise<WorkspaceSecret> {
    assertMayManage(principal);
    if (!SECRET_NAME.test(name)) throw secretInvalid('name', 'a letter, then letters, digits and "_", 64 at most');
    const problem = problemOfValue(value);
    if (problem !== null) throw secretInvalid('value', problem);
    return this.change(principal, 'secret-set', (tx) => this.write(tx, principal, { name, value }));
  }

  /** Tools that name it fail from now on. Throws `not_found`. */
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
   * Opens secrets for `run`, which alone may reveal them. While it runs, logs and all other texts of the workspace are redacted
   * of them as well. Throws `secret_missing` naming one that is not set, `secret_unreadable`.
   */
  async use<T>(workspaceId: string, names: readonly string[], run: (open: OpenSecrets) => Promise<T>): Promise<T> {
    const values = await this.resolve(workspaceId, names);
    const missing = names.find((name) => !values.has(name));
    if (missing !== undefined) throw secretMissing(missing);
    const secrets = [...values.values()];
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

  /** The secrets of these names, as far as they are set. For tools at work; prefer `use`, which also redacts. */
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

/** A name or value that cannot be kept. */
function secretInvalid(field: 'name' | 'value', problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** Absent and forbidden look the same. */
function secretNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Secret not found or unauthorized' });
}

/** The cap is there so that lists need no pages. */
function tooManySecrets(limit: number): AppError {
  return new AppError({ code: 'conflict', message: `A workspace can have ${limit} secrets: remove one first` });
}

/** A tool names a secret that the workspace does not have; the model reads this. */
function secretMissing(name: string): AppError {
  return new AppError({ code: 'secret_missing', message: `the secret "${name}" is not set in this workspace` });
}
