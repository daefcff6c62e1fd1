import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { type KeysetPage, type Notification, type NotificationFilter, notificationTypes } from '#jobs';

import { invalidParameter } from '../errors/http.errors.js';
import { idOfCursor, toCursor } from '../graphql/connections/cursor.js';
import { OwnNotifications } from './own-notifications.js';

/** A notification as REST shows it. What it is not about is left out. */
export interface NotificationReply {
  readonly id: string;
  readonly type: Notification['type'];
  readonly jobId: string;
  readonly rootJobId: string;
  /** As the starter of the job names it. */
  readonly threadId: string | null;
  readonly interruptId?: string;
  readonly title: string;
  /** Ms since the epoch. */
  readonly at: number;
  readonly read: boolean;
}

/** A page of them, newest first. `nextCursor` goes into `?after`; null: that was all. */
export interface NotificationPage {
  readonly notifications: readonly NotificationReply[];
  readonly nextCursor: string | null;
}

type Query = Readonly<Record<string, unknown>>;

const defaultLimit = 20;
const mostAtOnce = 100;
const booleans = ['true', 'false'] as const;

/** Notifications for the REST door. */
@Injectable()
export class NotificationInbox {
  constructor(private readonly notifications: OwnNotifications) {}

  /** Throws `bad_request`, `invalid_cursor`. */
  async list(member: MemberPrincipal, query: Query): Promise<NotificationPage> {
    const page = toPage(query);
    const found = await this.notifications.list(member, toFilter(query), page);
    const shown = found.slice(0, page.limit);
    const last = found.length > page.limit ? shown.at(-1) : undefined;
    return {
      notifications: shown.map(toReply),
      nextCursor: last === undefined ? null : toCursor('notifications', last.id),
    };
  }

  /** Throws `not_found`. */
  async markRead(member: MemberPrincipal, id: string): Promise<NotificationReply> {
    return toReply(await this.notifications.markRead(member, id));
  }
}

function toReply(notification: Notification): NotificationReply {
  const { id, type, jobId, rootJobId, threadName, interruptId, title, createdAt, readAt } = notification;
  return {
    ...{ id, type, jobId, rootJobId, threadId: threadName },
    ...(interruptId === null ? {} : { interruptId }),
    ...{ title, at: Math.round(createdAt), read: readAt !== null },
  };
}

function toFilter(query: Query): NotificationFilter {
  const read = oneOf(query, 'read', booleans);
  const type = oneOf(query, 'type', notificationTypes);
  return { ...(read === undefined ? {} : { read: read === 'true' }), ...(type === undefined ? {} : { types: [type] }) };
}

function toPage(query: Query): KeysetPage {
  const limit = text(query, 'limit') ?? String(defaultLimit);
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > mostAtOnce) throw invalidParameter('limit');
  const after = text(query, 'after');
  return {
    limit: Number(limit),
    ...(after === undefined ? {} : { after: idOfCursor(after, 'notifications', 'after') }),
  };
}

function oneOf<T extends string>(query: Query, name: string, words: readonly T[]): T | undefined {
  const given = text(query, name);
  if (given === undefined) return undefined;
  const word = words.find((known) => known === given);
  if (word === undefined) throw invalidParameter(name);
  return word;
}

/** A parameter that is there once, or not at all. */
function text(query: Query, name: string): string | undefined {
  const given = query[name];
  if (given === undefined || given === '') return undefined;
  if (typeof given !== 'string') throw invalidParameter(name);
  return given;
}
