import type { AddressInfo } from 'node:net';

import { SMTPServer } from 'smtp-server';

/** An e-mail that arrived. */
export interface ReceivedMail {
  readonly to: readonly string[];
  /** By name in lower case, unfolded; of a repeated header the last. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers and body as they were sent, with quoted-printable decoded. */
  readonly source: string;
}

/** A mail server on loopback that keeps what it is sent, and requires a login. */
export class MailServer {
  readonly received: ReceivedMail[] = [];
  /** Of the user `nightshift`. */
  password = 'mail password';
  /** The reply to a recipient; null: it is accepted. */
  answer: (to: string) => { readonly code: number; readonly text: string } | null = () => null;

  private constructor(private readonly server: SMTPServer) {}

  /** `secure`: TLS from the first byte, with a certificate that no client trusts. */
  static async listen({ host = '127.0.0.1', secure = false } = {}): Promise<MailServer> {
    const server = new SMTPServer({
      ...{ secure, allowInsecureAuth: true, logger: false }, // else it warns about its certificate
      onAuth: ({ username, password }, _session, done) => {
        const isRight = username === 'nightshift' && password === mails.password;
        done(isRight ? null : Object.assign(new Error('wrong login'), { responseCode: 535 }), { user: username });
      },
      disabledCommands: ['STARTTLS'],
      disableReverseLookup: true,
      onRcptTo: ({ address }, _session, done) => {
        const refusal = mails.answer(address);
        done(refusal === null ? null : Object.assign(new Error(refusal.text), { responseCode: refusal.code }));
      },
      onData: (stream, session, done) => {
        const pieces: Buffer[] = [];
        stream.on('data', (piece: Buffer) => pieces.push(piece));
        stream.on('end', () => {
          const to = session.envelope.rcptTo.map(({ address }) => address);
          mails.received.push({ to, ...parse(Buffer.concat(pieces).toString()) });
          done(null);
        });
      },
    });
    const mails = new MailServer(server);
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    server.on('error', () => undefined); // a client that breaks off its handshake
    return mails;
  }

  /** The settings with which a server sends its e-mails here. */
  get env(): Readonly<Record<string, string>> {
    const { address, port } = this.server.server.address() as AddressInfo; // it listens on TCP
    const scheme = this.server.options.secure === true ? 'smtps' : 'smtp';
    return {
      SMTP_URL: `${scheme}://nightshift:mail%20password@${address}:${port}`,
      MAIL_FROM: 'Nightshift <nightshift@example.com>',
    };
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
    });
  }
}

function parse(raw: string): Pick<ReceivedMail, 'headers' | 'source'> {
  const [head = ''] = raw.split('\r\n\r\n', 1);
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const source = raw
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return { headers, source };
}
