import type { Notification } from '@nightshift/client';

import type { CommandLine } from '../command-line.js';
import { formatAge } from '../format/duration.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Screen, Style } from '../terminal/screen.js';

const words: Readonly<Record<string, readonly [string, Style]>> = {
  JOB_COMPLETED: ['completed', 'green'],
  JOB_FAILED: ['failed', 'red'],
  INPUT_NEEDED: ['needs you', 'yellow'],
  ENDPOINT_DISABLED: ['disabled', 'red'],
};
const WORD_WIDTH = 9;

interface Showing {
  readonly screen: Screen;
  readonly command: CommandLine;
  readonly now: number;
}

/** A notification for people: what happened, and the command that continues from there. An unread one starts with a dot. */
export function showNotification(notification: Notification, { screen, command, now }: Showing): string[] {
  const { id, type, title, at, read, jobId, interruptId } = notification;
  const [word, style] = words[type] ?? [type.toLowerCase().replaceAll('_', ' '), 'bold'];
  const about = oneLine(title);
  const when = screen.ink('dim', `${formatAge(new Date(at), now)} · ${id}`);
  const next =
    interruptId !== null ? `approve ${interruptId}` : jobId !== null ? `attach ${jobId}` : 'webhooks log --status dead';
  return [
    `${read ? ' ' : '●'} ${screen.ink(style, word.padEnd(WORD_WIDTH))} ${about === '' ? '' : `${about} · `}${when}`,
    `    ${screen.ink('dim', '$')} ${command(next)}`,
  ];
}
