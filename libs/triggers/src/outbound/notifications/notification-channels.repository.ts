import { Injectable } from '@nestjs/common';

import type { NotificationType } from '#jobs';
import {
  isId,
  type NotificationChannelRow,
  Prisma,
  PrismaService,
  type PrismaTransaction,
  type Scope,
} from '#platform';

import type { ChannelKind, NotificationChannel } from './notification-channel.js';

/** What a save writes. */
export interface ChannelTerms {
  readonly address: string;
  readonly events: readonly NotificationType[];
  readonly enabled: boolean;
  readonly includeTitle: boolean;
  /** Null: not confirmed. */
  readonly confirmedAt: Date | null;
  readonly activeSince: Date;
}

/** A channel with the state that dispatching needs. */
export interface ActiveChannel extends NotificationChannel {
  readonly activeSince: number;
}

/** A channel with the secrets that sending needs. */
export interface SendingChannel extends NotificationChannel {
  readonly secretCipher: Uint8Array | null;
}

/** The result of a delivery. */
export interface ChannelOutcome {
  readonly workspaceId: string;
  readonly id: string;
  /** Null: it was sent. */
  readonly error: string | null;
  readonly isDead: boolean;
  /** The address no longer exists. */
  readonly isGone: boolean;
  readonly now: number;
}

interface Key {
  readonly workspaceId: string;
  readonly id: string;
}

/** A channel is disabled after this many consecutive dead letters. */
const maxFailures = 10;

/** Channels of users and workspaces. */
@Injectable()
export class NotificationChannelsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Those that the scope may read, oldest first. */
  async list(tx: PrismaTransaction, scope: Scope): Promise<NotificationChannel[]> {
    return (await tx.notificationChannel.findMany({ where: readable(scope), orderBy: { id: 'asc' } })).map(toChannel);
  }

  /** Null: absent, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<NotificationChannel | null> {
    if (!isId(id)) return null;
    const row = await tx.notificationChannel.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toChannel(row);
  }

  count(tx: PrismaTransaction, workspaceId: string, userId: string | null): Promise<number> {
    return tx.notificationChannel.count({ where: { workspaceId, userId } });
  }

  async create(
    tx: PrismaTransaction,
    { workspaceId, principal }: Scope,
    channel: ChannelTerms & {
      readonly id: string;
      readonly userId: string | null;
      readonly kind: ChannelKind;
      readonly secretCipher: Uint8Array | null;
    },
  ): Promise<NotificationChannel> {
    const { events, secretCipher, ...terms } = channel;
    const sealed = secretCipher === null ? null : Uint8Array.from(secretCipher);
    const data = { ...terms, events: [...events], secretCipher: sealed, workspaceId, createdBy: principal };
    return toChannel(await tx.notificationChannel.create({ data }));
  }

  /** Enabling a channel resets its failures. */
  async change(tx: PrismaTransaction, key: Key, { events, ...terms }: ChannelTerms): Promise<NotificationChannel> {
    const healthy = terms.enabled ? { disabledBecause: null, failures: 0, lastError: null } : {};
    const noCode = { codeCipher: null, codeUntil: null, codeTries: 0 };
    const data = { ...terms, ...healthy, ...noCode, events: [...events], updatedAt: new Date() };
    return toChannel(await tx.notificationChannel.update({ where: { workspaceId_id: key }, data }));
  }

  async remove(tx: PrismaTransaction, key: Key): Promise<void> {
    await tx.notificationChannel.delete({ where: { workspaceId_id: key } });
  }

  /** Replaces the code that confirms `address`. False: the channel was removed or confirmed, or has another address now. */
  async setCode(
    { workspaceId, id, address }: Key & { readonly address: string },
    { cipher, until }: { readonly cipher: Uint8Array; readonly until: Date },
  ): Promise<boolean> {
    const data = { codeCipher: Uint8Array.from(cipher), codeUntil: until, codeTries: 0 };
    const where = { workspaceId, id, address, confirmedAt: null };
    const { count } = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.notificationChannel.updateMany({ where, data }),
    );
    return count > 0;
  }

  /** Counts a try and returns the code, under a lock of the channel. Null: the channel has no code, or the code has expired or was tried too often. */
  async tryCode(
    tx: PrismaTransaction,
    { workspaceId, id }: Key,
    { now, max }: { readonly now: Date; readonly max: number },
  ): Promise<Uint8Array | null> {
    const [row] = await tx.$queryRaw<{ code: Uint8Array }[]>`
      UPDATE notification_channel SET code_tries = code_tries + 1
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND code_until > ${now} AND code_tries < ${max}::int
      RETURNING code_cipher AS code`;
    return row?.code ?? null;
  }

  /** Confirms the address of a channel: notifications are sent from now on. */
  async confirm(tx: PrismaTransaction, key: Key, now: Date): Promise<NotificationChannel> {
    const noCode = { codeCipher: null, codeUntil: null, codeTries: 0 };
    const data = { ...noCode, confirmedAt: now, activeSince: now, updatedAt: now };
    return toChannel(await tx.notificationChannel.update({ where: { workspaceId_id: key }, data }));
  }

  /** Disables it for its receiver. Returns whether it exists. */
  async unsubscribe({ workspaceId, id }: Key): Promise<boolean> {
    const data = { enabled: false, disabledBecause: 'unsubscribed', updatedAt: new Date() };
    const { count } = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.notificationChannel.updateMany({ where: { workspaceId, id }, data }),
    );
    return count > 0;
  }

  /** Null: it was removed. */
  async findForSending({ workspaceId, id }: Key): Promise<SendingChannel | null> {
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.notificationChannel.findUnique({ where: { workspaceId_id: { workspaceId, id } } }),
    );
    return row === null ? null : { ...toChannel(row), secretCipher: row.secretCipher };
  }

  /** Stores the result of an attempt, and disables a channel after too many consecutive failures. */
  async settle(tx: PrismaTransaction, outcome: ChannelOutcome): Promise<void> {
    const { workspaceId, id, error, isDead, isGone, now } = outcome;
    if (error === null) {
      const data = { failures: 0, lastError: null, lastSentAt: new Date(now) };
      await tx.notificationChannel.updateMany({ where: { workspaceId, id }, data });
      return;
    }
    const disables = Prisma.sql`(${isGone} OR (${isDead} AND failures + 1 >= ${maxFailures}::int)) AND enabled`;
    await tx.$executeRaw`
      UPDATE notification_channel SET last_error = ${error}, failures = failures + ${isDead ? 1 : 0}::int,
             enabled = enabled AND NOT (${disables}),
             disabled_because = CASE WHEN ${disables} THEN ${isGone ? 'gone' : 'failing'} ELSE disabled_because END
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid`;
  }

  /** Enabled and confirmed ones, oldest first. */
  async active(tx: PrismaTransaction, workspaceId: string): Promise<ActiveChannel[]> {
    const where = { workspaceId, enabled: true, confirmedAt: { not: null } };
    const rows = await tx.notificationChannel.findMany({ where, orderBy: { id: 'asc' } });
    return rows.map((row) => ({ ...toChannel(row), activeSince: row.activeSince.getTime() }));
  }

  /** Workspaces that have an active channel, without those in `without`. */
  async workspaces(limit: number, without: readonly string[]): Promise<string[]> {
    const rows = await this.prisma.asWorker(
      (client) => client.$queryRaw<{ workspaceId: string }[]>`
        SELECT DISTINCT workspace_id AS "workspaceId" FROM notification_channel
         WHERE enabled AND confirmed_at IS NOT NULL AND workspace_id <> ALL(${[...without]}::uuid[]) LIMIT ${limit}`,
    );
    return rows.map(({ workspaceId }) => workspaceId);
  }

  /** Locks the cursor of a workspace until the transaction ends. The first call creates the cursor, which starts with notifications that are written later. */
  async lockCursor(tx: PrismaTransaction, workspaceId: string): Promise<string> {
    const lock = () => tx.$queryRaw<{ position: string }[]>`
      SELECT position::text FROM notification_cursor WHERE workspace_id = ${workspaceId}::uuid FOR UPDATE`;
    let [row] = await lock();
    if (row === undefined) {
      await tx.$executeRaw`INSERT INTO notification_cursor (workspace_id) VALUES (${workspaceId}::uuid) ON CONFLICT DO NOTHING`;
      [row] = await lock();
    }
    if (row === undefined) throw new Error('the cursor of a workspace is only deleted with the workspace');
    return row.position;
  }

  async moveCursor(tx: PrismaTransaction, workspaceId: string, position: string): Promise<void> {
    await tx.$executeRaw`UPDATE notification_cursor SET position = ${position}::text::xid8
      WHERE workspace_id = ${workspaceId}::uuid AND position <> ${position}::text::xid8`;
  }

  /** Adds to `dropped` of a channel, or resets it to 0 after an e-mail stated the number. */
  async setDropped(tx: PrismaTransaction, { workspaceId, id }: Key, dropped: number): Promise<void> {
    await tx.notificationChannel.updateMany({ where: { workspaceId, id }, data: { dropped } });
  }
}

function readable(scope: Scope): Prisma.NotificationChannelWhereInput {
  return { AND: [scope.where('NotificationChannel'), { workspaceId: scope.workspaceId }] };
}

/** Written from `ChannelTerms` and checked by the table, so the casts hold. */
function toChannel(row: NotificationChannelRow): NotificationChannel {
  const { id, userId, address, enabled, includeTitle, dropped, lastError } = row;
  return {
    ...{ id, userId, address, enabled, includeTitle, dropped, lastError },
    kind: row.kind as ChannelKind,
    events: row.events as NotificationType[],
    disabledBecause: row.disabledBecause as NotificationChannel['disabledBecause'],
    confirmedAt: row.confirmedAt?.getTime() ?? null,
    lastSentAt: row.lastSentAt?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
  };
}
