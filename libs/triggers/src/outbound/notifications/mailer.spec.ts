import { afterEach, describe, expect, it } from '@jest/globals';

import { Config, ManualClock } from '#platform';

import { MailServer } from '../../../../../test/harness/mail-server.js';
import { Mailer } from './mailer.js';

describe('Mailer', () => {
  let mails: MailServer | undefined;

  afterEach(async () => {
    await mails?.close();
  });

  const open = async (options: Parameters<typeof MailServer.listen>[0] = {}) => {
    mails = await MailServer.listen(options);
    return { mails, mailer: new Mailer(Config.from({ NODE_ENV: 'test', ...mails.env })) };
  };
  const mail = { to: 'ada@example.com', id: 'one', unsubscribe: null, subject: 'A', text: 'B', html: '<p>B</p>' };

  it('pauses for 30 s after a server that does not respond', async () => {
    const { mails, mailer } = await open();
    const clock = new ManualClock();
    mailer.clock = clock;
    await mails.close();
    expect(mailer.waitMs()).toBe(0);
    await expect(mailer.send(mail)).rejects.toMatchObject({ code: 'smtp_unreachable' });
    expect(mailer.waitMs()).toBe(30_000);
    clock.advance(30_000);
    expect(mailer.waitMs()).toBe(0);
  });

  it('sends four e-mails at once, and lets further ones wait', async () => {
    const { mailer } = await open();
    const sends = Array.from({ length: 4 }, () => mailer.send(mail));
    expect(mailer.waitMs()).toBe(1_000);
    await Promise.all(sends);
    expect(mailer.waitMs()).toBe(0);
  });

  it('logs in with the name and the decoded password of SMTP_URL', async () => {
    const { mails, mailer } = await open();
    expect(await mailer.send(mail)).toMatchObject({ status: 250 });
    expect(mails.received).toMatchObject([{ to: [mail.to] }]);
  });

  it('reports a wrong password as an error that may be retried, without the password', async () => {
    const { mails, mailer } = await open();
    mails.password = 'another';
    const error: unknown = await mailer.send(mail).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'smtp_535', isFinal: false, retryable: true, result: { status: 535 } });
    expect(JSON.stringify(error)).not.toContain('mail password');
    expect(mails.received).toEqual([]);
  });

  it('sends neither login nor e-mail to a server beyond this machine that offers no STARTTLS', async () => {
    const { mails, mailer } = await open({ host: '127.0.0.2' }); // not one of the names of loopback
    await expect(mailer.send(mail)).rejects.toMatchObject({ isFinal: false });
    expect(mails.received).toEqual([]);
  });

  it('sends nothing over TLS to a server whose certificate is not trusted', async () => {
    const { mails, mailer } = await open({ secure: true });
    await expect(mailer.send(mail)).rejects.toMatchObject({ code: 'smtp_unreachable', isFinal: false });
    expect(mails.received).toEqual([]);
  });
});
