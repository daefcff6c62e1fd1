import { newId, openOwnerPrisma, type Prisma, type PrismaTransaction } from '#platform';

import { type FeatureFlag, MAX_FLAGS } from './feature-flag.js';
import { toFeatureFlag } from './feature-flags.repository.js';

/** How many changes of a flag the operator sees. */
const maxShown = 100;

/** A recorded change of a flag. */
export interface FlagChange {
  readonly flag: string;
  /** `flag-set` or `flag-removed`. */
  readonly action: string;
  /** In ms since the epoch, by the clock of the database. */
  readonly at: number;
  readonly details: unknown;
}

/** Changes feature flags, for the operator only, on a connection as `nightshift_owner`. No serving process has such a connection. */
export class OperatorFlagsRepository {
  private constructor(private readonly client: ReturnType<typeof openOwnerPrisma>) {}

  static connect(ownerUrl: string): OperatorFlagsRepository {
    return new OperatorFlagsRepository(openOwnerPrisma(ownerUrl));
  }

  async all(): Promise<FeatureFlag[]> {
    const rows = await this.client.featureFlag.findMany({ orderBy: { name: 'asc' }, take: MAX_FLAGS });
    return rows.map(toFeatureFlag);
  }

  /** Newest first, at most 100. */
  async changes(flag: string): Promise<FlagChange[]> {
    const rows = await this.client.featureFlagChange.findMany({
      where: { flag },
      orderBy: { id: 'desc' },
      take: maxShown,
    });
    return rows.map(({ action, at, details }) => ({ flag, action, at: at.getTime(), details }));
  }

  /** The ids that are neither a workspace nor a user. */
  async unknown(ids: readonly string[]): Promise<string[]> {
    const where = { id: { in: [...ids] } };
    const [workspaces, users] = await Promise.all([
      this.client.workspace.findMany({ where, select: { id: true } }),
      this.client.user.findMany({ where, select: { id: true } }),
    ]);
    const known = new Set([...workspaces, ...users].map(({ id }) => id));
    return ids.filter((id) => !known.has(id));
  }

  /** Runs one change at a time, so that two operators do not overwrite each other's lists. Does not block readers. */
  async change<T>(run: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.client.$transaction(async (tx) => {
      await tx.$executeRaw`LOCK TABLE feature_flag IN SHARE ROW EXCLUSIVE MODE`;
      return run(tx);
    });
  }

  /** Returns null if the flag does not exist. */
  async find(tx: PrismaTransaction, name: string): Promise<FeatureFlag | null> {
    const row = await tx.featureFlag.findUnique({ where: { name } });
    return row === null ? null : toFeatureFlag(row);
  }

  count(tx: PrismaTransaction): Promise<number> {
    return tx.featureFlag.count();
  }

  async save(tx: PrismaTransaction, { name, ...flag }: FeatureFlag): Promise<void> {
    const data = { ...flag, allowed: [...flag.allowed], denied: [...flag.denied], updatedAt: new Date() };
    await tx.featureFlag.upsert({ where: { name }, create: { name, ...data }, update: data });
  }

  async remove(tx: PrismaTransaction, name: string): Promise<void> {
    await tx.featureFlag.delete({ where: { name } });
  }

  async record(tx: PrismaTransaction, change: { flag: string; action: string; details: Prisma.InputJsonObject }) {
    await tx.featureFlagChange.create({ data: { id: newId(), ...change } });
  }

  close(): Promise<void> {
    return this.client.$disconnect();
  }
}
