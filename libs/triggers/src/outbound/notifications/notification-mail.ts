import type { NotificationBody } from './notification-body.js';
import { testType } from './notification-channel.js';

/** The parts of an e-mail that people read. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const headlines: Readonly<Record<string, string>> = {
  'notification.job_completed': 'A job finished',
  'notification.job_failed': 'A job failed',
  'notification.input_needed': 'A job waits for you',
  'notification.endpoint_disabled': 'A webhook endpoint was disabled',
  [testType]: 'Test of your notification channel',
};

/** The e-mail of a notification or test. `unsubscribe`: the page that ends the channel; null: there is none. */
export function notificationMail({ type, data }: NotificationBody, unsubscribe: string | null): MailText {
  const headline = headlines[type] ?? 'Notification';
  const subject = data.title === undefined ? headline : `${headline}: ${oneLine(data.title)}`;
  return compose(subject, [
    `${subject}.`,
    ...(data.url === undefined ? [] : [{ label: 'Open it', url: data.url }]),
    ...(type === testType ? ['Notifications will arrive at this address.'] : [commandOf(data)]),
    ...(data.dropped === undefined ? [] : [droppedText(data.dropped)]),
    'This address receives the notifications of a Nightshift workspace.',
    ...(unsubscribe === null ? [] : [{ label: 'Stop these e-mails', url: unsubscribe }]),
  ]);
}

/** The e-mail with the code that confirms an address. */
export function codeMail(code: string): MailText {
  return compose('Confirm your address', [
    `Your code is ${code}. It is valid for one hour.`,
    'A user of Nightshift wants to receive notifications at this address. If that is not you, ignore this e-mail.',
  ]);
}

type Paragraph = string | { readonly label: string; readonly url: string };

function commandOf({ requestId, rootJobId, endpointId }: NotificationBody['data']): string {
  const command =
    requestId !== undefined
      ? `nightshift approve ${requestId}`
      : rootJobId !== undefined
        ? `nightshift attach ${rootJobId}`
        : endpointId !== undefined
          ? 'nightshift webhooks list'
          : 'nightshift notifications';
  return `In a terminal: ${command}`;
}

function droppedText(count: number): string {
  const what = count === 1 ? '1 earlier notification was' : `${count} earlier notifications were`;
  return `${what} not sent by e-mail, because the hourly limit was reached. In a terminal: nightshift notifications`;
}

function compose(subject: string, paragraphs: readonly Paragraph[]): MailText {
  const text = paragraphs.map((part) => (typeof part === 'string' ? part : `${part.label}: ${part.url}`));
  const html = paragraphs.map((part) =>
    typeof part === 'string'
      ? `<p>${escapeHtml(part)}</p>`
      : `<p><a href="${escapeHtml(part.url)}">${escapeHtml(part.label)}</a></p>`,
  );
  return {
    subject,
    text: `${text.join('\n\n')}\n`,
    html: `<!doctype html><html lang="en"><body>${html.join('')}</body></html>`,
  };
}

/** A header has one line; a title is a text of users. */
function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, 120);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
