import type { Nightshift, Notification, NotificationFilterInput, NotificationType } from '@nightshift/client';
import type { Command } from 'commander';

import { usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { StopKeys } from '../follow/stop-keys.js';
import { showNotification } from '../view/show-notification.js';
import { enumWords, wholeNumber } from '../words.js';
import type { Perform } from './perform.js';
import { firstRows, noteMore } from './replies.js';

interface NotificationFlags {
  readonly unread?: boolean;
  readonly type?: string;
  readonly follow?: boolean;
  readonly limit: string;
}

export const notificationTypes = [
  'JOB_COMPLETED',
  'JOB_FAILED',
  'INPUT_NEEDED',
  'ENDPOINT_DISABLED',
] as const satisfies readonly NotificationType[];
/** Unread notifications that a subscription begins with. */
const watched = 100;

/** `notifications`: ends and requests of the user's jobs that no client was following. */
export function addNotifications(program: Command, perform: Perform): void {
  const notifications = program
    .command('notifications')
    .summary('notifications about jobs that no client followed')
    .description(
      'Lists your notifications, newest first: jobs that ended or need a decision while no client followed them, and disabled webhook endpoints. With --follow, prints the unread ones, then each new one.',
    )
    .option('-u, --unread', 'only unread ones')
    .option('-t, --type <words>', `only these: ${notificationTypes.map((type) => type.toLowerCase()).join(', ')}`)
    .option('-f, --follow', 'keep running and print each new one, until Ctrl-C')
    .option('-n, --limit <number>', 'how many at most; with --follow, of the unread ones', '20')
    .action((flags: NotificationFlags) => perform((context) => show(context, flags)));
  notifications
    .command('read')
    .description('Marks notifications as read.')
    .argument('[ids...]', 'their ids')
    .option('--all', 'all of them, in this workspace')
    .action((ids: string[], flags: { all?: boolean }) => perform((context) => read(context, ids, flags)));
}

async function show(context: Context, flags: NotificationFlags): Promise<ExitCode> {
  const { unread = false, type, follow = false } = flags;
  const filter: NotificationFilterInput = {
    ...(unread && { read: false }),
    ...(type !== undefined && { type: { in: enumWords(type, notificationTypes, '--type') } }),
  };
  const limit = wholeNumber(flags.limit, '--limit', 1);
  const client = await context.client();
  if (follow) return stay(context, { client, filter, limit });
  const { rows: found, hasMore } = await firstRows(limit, pagesOf(client, filter));
  for (const notification of found) printNotification(context, notification);
  if (found.length === 0 && !context.json)
    context.screen.note(unread ? 'No unread notifications.' : 'No notifications.');
  noteMore(context, limit, hasMore);
  return exitCodes.ok;
}

const pagesOf =
  (client: Nightshift, filter: NotificationFilterInput) =>
  async (page: { first: number; after: string | undefined }) => {
    const { nodes, hasNextPage, endCursor } = await client.notifications.list(filter, page);
    return { nodes, pageInfo: { hasNextPage, endCursor } };
  };

interface Stay {
  readonly client: Nightshift;
  readonly filter: NotificationFilterInput;
  /** Most to begin with. */
  readonly limit: number;
}

/** Runs until Ctrl-C. People see new notifications, oldest first; programs also see which were read. */
async function stay(context: Context, { client, filter, limit }: Stay): Promise<ExitCode> {
  const stop = new AbortController();
  const { signal } = stop;
  using keys = new StopKeys(() => {
    stop.abort();
  });
  try {
    // A watch begins with the same ones, in another order.
    const { rows: unread } = await firstRows(watched, pagesOf(client, { ...filter, read: false }));
    const first = new Set(unread.map(({ id }) => id));
    for (const notification of unread.slice(0, limit).toReversed()) printNotification(context, notification);
    for await (const notification of client.notifications.watch(filter, { signal })) {
      const { id, read: isRead } = notification;
      if (isRead ? context.json : !first.has(id)) printNotification(context, notification);
    }
  } catch (error) {
    if (!keys.pressed) throw error;
  }
  return exitCodes.interrupted;
}

function printNotification({ json, emit, screen, command }: Context, notification: Notification): void {
  if (json) emit(notification);
  else for (const line of showNotification(notification, { screen, command, now: Date.now() })) screen.line(line);
}

async function read(context: Context, ids: readonly string[], { all = false }: { all?: boolean }): Promise<ExitCode> {
  const { json, emit, screen, command } = context;
  if (all === ids.length > 0)
    throw usageError(
      'Name notifications, or --all.',
      (write) => `List the unread ones: ${write('notifications --unread')}`,
    );
  const { notifications } = await context.client();
  if (all) {
    const marked = await notifications.markAllRead();
    if (json) emit({ marked });
    else screen.line(`${marked} marked as read.`);
    return exitCodes.ok;
  }
  for (const id of ids) {
    const notification = await notifications.markRead(id);
    if (json) emit(notification);
    else screen.line(`read: ${showNotification(notification, { screen, command, now: Date.now() })[0]?.trim() ?? ''}`);
  }
  return exitCodes.ok;
}
