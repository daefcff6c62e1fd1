import { Injectable } from '@nestjs/common';

import { type Prisma, PrismaService, type PrismaTransaction, type Scope, type WorkspaceSecretRow } from '#platform';

import type { WorkspaceSecret } from './workspace-secret.js';

/** A stored secret, with its encrypted value. */
export interface SealedSecret {
  readonly id: string;
  readonly name: string;
  readonly cipher: Uint8Array;
}

/** The encrypted secrets of workspaces. */
@Injectable()
export class WorkspaceSecretsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns the secrets that the scope may read, by name. */
  async list(tx: PrismaTransaction, scope: Scope): Promise<WorkspaceSecret[]> {
    const rows = await tx.workspaceSecret.findMany({ where: readable(scope), orderBy: { name: 'asc' } });
    return rows.map(toWorkspaceSecret);
  }

  async insert(
    tx: PrismaTransaction,
    row: SealedSecret & { readonly workspaceId: string; readonly createdBy: string },
  ): Promise<WorkspaceSecret> {
    return toWorkspaceSecret(
      await tx.workspaceSecret.create({ data: { ...row, cipher: Uint8Array.from(row.cipher) } }),
    );
  }

  /** Returns null if the secret does not exist or may not be read. */
  async replace(tx: PrismaTransaction, scope: Scope, row: Omit<SealedSecret, 'name'>): Promise<WorkspaceSecret | null> {
    const data = { cipher: Uint8Array.from(row.cipher), createdBy: scope.principal, updatedAt: new Date() };
    const where = { AND: [readable(scope), { id: row.id }] };
    const [changed] = await tx.workspaceSecret.updateManyAndReturn({ where, data });
    return changed === undefined ? null : toWorkspaceSecret(changed);
  }

  async delete(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.workspaceSecret.deleteMany({ where: { AND: [readable(scope), { id }] } });
  }

  /** Returns encrypted secrets for running tools. The caller has checked the rights. */
  sealed(workspaceId: string, names: readonly string[]): Promise<SealedSecret[]> {
    const where = { workspaceId, name: { in: [...names] } };
    const select = { id: true, name: true, cipher: true } as const;
    return this.prisma.withWorkspace({ workspaceId }, (tx) => tx.workspaceSecret.findMany({ where, select }));
  }
}

function readable(scope: Scope): Prisma.WorkspaceSecretWhereInput {
  return { AND: [scope.where('WorkspaceSecret'), { workspaceId: scope.workspaceId }] };
}

function toWorkspaceSecret(row: WorkspaceSecretRow): WorkspaceSecret {
  const { id, name, createdBy: setBy, createdAt, updatedAt } = row;
  return { id, name, setBy, createdAt: createdAt.getTime(), updatedAt: updatedAt.getTime() };
}
