import { Injectable } from '@nestjs/common';
import { createTransport } from 'nodemailer';

import { AppError, type Clock, Config, systemClock } from '#platform';

import type { MailText } from './notification-mail.js';

/** An e-mail to one address. */
export interface Mail extends MailText {
  readonly to: string;
  /** A uuid; the Message-ID of each attempt. */
  readonly id: string;
  /** URL that ends the e-mails by a POST request (RFC 8058); null: there is none. */
  readonly unsubscribe: string | null;
}

/** What the mail server responded. */
export interface MailResult {
  /** Reply code (RFC 5321, 4.2); null: no response. */
  readonly status: number | null;
  readonly response: string;
}

type SmtpTransport = ReturnType<typeof smtpTransport>;
const smtpTransport = (url: URL) => createTransport(transportOptions(url));

const [connectMs, idleMs] = [10_000, 15_000];
/** Mails that a process sends at once: webhooks share the slots of the worker. */
const sendsAtOnce = 4;
/** Pause after the server did not respond, so that mails do not occupy the slots of the worker. */
const unreachablePauseMs = 30_000;
const busyPauseMs = 1_000;
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Sends e-mails by the mail server of the operator. Its host is a setting, never a value of a tenant. */
@Injectable()
export class Mailer {
  private readonly transport: SmtpTransport | null;
  private readonly from: string;
  private readonly domain: string;
  private sending = 0;
  private pausedUntil = 0;
  /** Tests replace it. */
  clock: Clock = systemClock;

  constructor({ values: { SMTP_URL, MAIL_FROM = '' } }: Config) {
    this.from = MAIL_FROM;
    this.domain = /@([\w.-]+)/.exec(MAIL_FROM)?.[1] ?? 'nightshift.invalid';
    this.transport = SMTP_URL === undefined ? null : smtpTransport(new URL(SMTP_URL));
  }

  /** Whether the operator has set a mail server. */
  get isConfigured(): boolean {
    return this.transport !== null;
  }

  /** Ms until the next e-mail may be sent; 0: now. */
  waitMs(): number {
    const pause = this.pausedUntil - this.clock.monotonic();
    return pause > 0 ? Math.ceil(pause) : this.sending >= sendsAtOnce ? busyPauseMs : 0;
  }

  /** Sends an e-mail. Throws `MailError`. */
  async send({ to, id, unsubscribe, subject, text, html }: Mail): Promise<MailResult> {
    if (this.transport === null) throw new MailError('smtp_not_configured', { status: null, response: '' }, false);
    const headers = {
      'Auto-Submitted': 'auto-generated', // RFC 3834: no automatic replies
      ...(unsubscribe !== null && {
        'List-Unsubscribe': `<${unsubscribe}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    };
    this.sending += 1;
    try {
      const { response } = await this.transport.sendMail({
        ...{ from: this.from, to: { name: '', address: to }, subject, text, html, headers },
        messageId: `<${id}@${this.domain}>`,
        ...{ disableFileAccess: true, disableUrlAccess: true },
      });
      return { status: statusOf(response), response };
    } catch (error) {
      const failure = toMailError(error);
      if (failure.result.status === null) this.pausedUntil = this.clock.monotonic() + unreachablePauseMs;
      throw failure;
    } finally {
      this.sending -= 1;
    }
  }
}

/** The mail server did not accept an e-mail. `isFinal`: another attempt would not help. */
export class MailError extends AppError {
  constructor(
    code: string,
    readonly result: MailResult,
    readonly isFinal: boolean,
  ) {
    super({ code, message: 'The mail server did not accept the e-mail.', retryable: !isFinal });
  }
}

/** Options are not taken from the query of the URL. */
function transportOptions({ protocol, hostname, port, username, password }: URL) {
  const secure = protocol === 'smtps:';
  return {
    ...{ host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? (secure ? 465 : 587) : Number(port), secure },
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    ...(loopback.has(hostname) ? { ignoreTLS: true } : { requireTLS: !secure }),
    ...{ connectionTimeout: connectMs, greetingTimeout: connectMs, dnsTimeout: connectMs, socketTimeout: idleMs },
  };
}

/** A permanent response about the sender, the recipient or the contents ends the delivery; a failed login is up to the operator. */
function toMailError(error: unknown): MailError {
  const { responseCode, response, code } = error as {
    readonly responseCode?: number;
    readonly response?: string;
    readonly code?: string;
  }; // nodemailer's errors; every member may be missing
  const result = { status: responseCode ?? null, response: response ?? '' };
  const isFinal = responseCode !== undefined && responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE');
  return new MailError(responseCode === undefined ? 'smtp_unreachable' : `smtp_${responseCode}`, result, isFinal);
}

function statusOf(response: string): number | null {
  const status = Number(response.slice(0, 3));
  return Number.isInteger(status) ? status : null;
}
